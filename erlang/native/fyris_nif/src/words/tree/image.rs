//! Images of maps of many keys: their words, to be copied and given other values.

use super::super::{
    FILLER, Known, LIST, Room, SHORT, address, binary, layouts, words, write_short,
};
use super::{NODE, ROOT, inner, leaf, root};
use crate::sys::{BOXED, Env, PRIMARY, Term};

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
    /// terms.
    pub(crate) fn of(env: Env, map: Term) -> Option<Image> {
        let known = layouts()?;
        let subtag = known.tree?;
        let (size, children) = root(subtag, map)?;
        let mut copy = Copy {
            env,
            known,
            subtag,
            words: Vec::new(),
            pointers: Vec::new(),
            values: Vec::with_capacity(size),
        };
        // SAFETY: the root of a map has two words before its children.
        let head: [usize; ROOT] = unsafe { words(map) };
        copy.words.extend(head.map(Term));
        copy.children(children)?;
        Some(Image {
            words: copy.words.into(),
            pointers: copy.pointers.into(),
            values: copy.values.into(),
        })
    }
}

/// An image under way.
struct Copy {
    env: Env,
    known: &'static Known,
    subtag: usize,
    words: Vec<Term>,
    pointers: Vec<u32>,
    values: Vec<u32>,
}

impl Copy {
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
        let bytes = binary(self.env, key).filter(|bytes| (1..=SHORT).contains(&bytes.len()))?;
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
