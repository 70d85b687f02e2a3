//! Images of maps of many keys: their words, to be copied and given other values.

use std::sync::OnceLock;

use super::tree::{NODE, ROOT, Sample, are_same, inner, leaf, leaves, nodes, root};
use crate::kind::binary_of;
use crate::machine::{
    BOXED, Env, FILLER, Known, LIST, PRIMARY, Room, SHORT, Term, address, layouts, words,
    write_short,
};

/// The words of a map of many keys, with small integers as its values, to be copied.
pub(crate) struct Image {
    /// Pointers are offsets in bytes from the first word, and their tags.
    words: Box<[Term]>,
    /// The places of the pointers among the words.
    pointers: Box<[u32]>,
    /// The places of the values, in the order of the leaves.
    values: Box<[u32]>,
}

impl Image {
    /// Returns the place of the value of a leaf, for [`Room::image`].
    pub(crate) fn place_of(&self, leaf: usize) -> u32 {
        self.values[leaf]
    }

    /// Returns the image of a map of many keys, which are small integers, atoms and short binaries; `None` for other
    /// terms, and where copies of such are not known to be what the machine makes.
    pub(crate) fn of(env: Env, map: Term) -> Option<Image> {
        is_known().then(|| Image::unchecked(env, map))?
    }

    fn unchecked(env: Env, map: Term) -> Option<Image> {
        let known = layouts()?;
        let subtag = nodes()?;
        let (size, children) = root(subtag, map)?;
        let mut image = NewImage {
            env,
            known,
            subtag,
            words: Vec::new(),
            pointers: Vec::new(),
            values: Vec::with_capacity(size),
        };
        // SAFETY: the root of a map has two words before its children.
        let head: [usize; ROOT] = unsafe { words(map) };
        image.words.extend(head.map(Term));
        image.children(children)?;
        Some(Image {
            words: image.words.into(),
            pointers: image.pointers.into(),
            values: image.values.into(),
        })
    }
}

static KNOWN: OnceLock<bool> = OnceLock::new();

/// Returns whether copies of images are known to be what the machine makes.
pub(super) fn is_known() -> bool {
    KNOWN.get() == Some(&true)
}

/// Learns whether copies of images, given the values of the map, are what the machine makes.
pub(super) fn learn(env: Env, samples: &[Sample]) {
    KNOWN.get_or_init(|| {
        let copied = |sample: &Sample| Some((sample.map, copy(env, sample.map)?));
        let copied: Vec<(Term, Term)> = samples.iter().filter_map(copied).collect();
        let is_same = |&(map, copy): &(Term, Term)| are_same(env, map, copy);
        !copied.is_empty() && copied.iter().all(is_same)
    });
}

/// Returns a map that is made of the image of one and its values; `None` if there are no images of its keys.
fn copy(env: Env, map: Term) -> Option<Term> {
    let (image, pairs) = (Image::unchecked(env, map)?, leaves(map)?);
    let leaves = pairs.iter().enumerate();
    let values = leaves.map(|(leaf, pair)| (image.place_of(leaf), &pair.1));
    Some(Room::new(env, 0).image(&image, values))
}

/// An image under way.
struct NewImage {
    env: Env,
    known: &'static Known,
    subtag: usize,
    words: Vec<Term>,
    pointers: Vec<u32>,
    values: Vec<u32>,
}

impl NewImage {
    /// Appends children, each before what it points to.
    fn children(&mut self, children: &[Term]) -> Option<()> {
        let first = self.words.len();
        self.words.resize(first + children.len(), FILLER);
        for (place, &child) in (first..).zip(children) {
            if child.0 & PRIMARY == LIST {
                self.point(place, LIST);
                self.leaf(child)?;
            } else {
                self.point(place, BOXED);
                let children = inner(self.subtag, child)?;
                // SAFETY: an inner node begins with its header.
                let head: [usize; NODE] = unsafe { words(child) };
                self.words.extend(head.map(Term));
                self.children(children)?;
            }
        }
        Some(())
    }

    /// Appends a leaf, whose value becomes a small integer.
    fn leaf(&mut self, leaf_of_map: Term) -> Option<()> {
        let (key, _) = leaf(leaf_of_map);
        let place = self.words.len();
        self.words.extend([key, FILLER]);
        self.values.push(place as u32 + 1);
        if key.is_small_or_atom() {
            return Some(());
        }
        let bytes = binary_of(self.env, key).filter(|bytes| (1..=SHORT).contains(&bytes.len()))?;
        self.point(place, BOXED);
        let (header, size) = self.known.binaries[bytes.len()];
        let mut words = [[0; size_of::<usize>()]; SHORT / size_of::<usize>()];
        // SAFETY: there are words for the longest of such binaries.
        unsafe { write_short(words.as_mut_ptr(), bytes) };
        let words = words.map(|word| Term(usize::from_ne_bytes(word)));
        self.words.extend([Term(header), Term(size)]);
        let count = bytes.len().div_ceil(size_of::<usize>());
        self.words.extend_from_slice(&words[..count]);
        Some(())
    }

    /// Lets the word at a place point to what is appended next.
    fn point(&mut self, place: usize, tag: usize) {
        self.words[place] = Term((self.words.len() * size_of::<usize>()) | tag);
        self.pointers.push(place as u32);
    }
}

impl Room {
    /// Returns a map that looks like the image and has these values at their places: a tuple of its words, made by the
    /// machine, that then gets their pointers and the header of the map.
    pub(crate) fn image<'v>(
        &mut self,
        image: &Image,
        values: impl Iterator<Item = (u32, &'v Term)>,
    ) -> Term {
        let [header, behind @ ..] = &*image.words else {
            return FILLER;
        };
        let at = address(self.env.make_tuple(behind)).cast_mut();
        let base = at.expose_provenance();
        // SAFETY: the words are those of the image, made just now. With the offsets as addresses and the first header,
        // they are whole terms one behind another (WHOLE), as they were in the map that the image is of; the places of
        // values are among them.
        unsafe {
            for &place in &image.pointers {
                let word = at.add(place as usize);
                word.write(word.read() + base);
            }
            for (place, value) in values {
                at.add(place as usize).write(value.0);
            }
            at.write(header.0);
        }
        Term(base | BOXED)
    }
}
