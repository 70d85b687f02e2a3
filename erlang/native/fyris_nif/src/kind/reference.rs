//! References of this node, read and made where they are.
//!
//! | reference | words |
//! |---|---|
//! | to nothing | a header, half words: a mark, three numbers |
//! | to a resource | the same header, the address of the machine's block (a magic binary), which has the numbers |
//! | alias of a process | another header, half words: the mark, three numbers; the word of the process |
//!
//! (`ErtsORefThing`, `ErtsMRefThing` and `ErtsPRefThing` of the machine's `erl_term.h`.) In the block the numbers are
//! before the object of the library. Where references look otherwise they go by way of the external format; then
//! objects do not keep resources alive.

use std::ffi::c_void;
use std::sync::Arc;

use fyris_term::{Blob, Reference, Term as Owned};

use super::alias::{self, Alias};
use super::node::{self, NodeIds, here};
use crate::load::{self, Samples};
use crate::machine::{
    self, ARITY_SHIFT, Env, Learned, Room, SUBTAG, Term, halves, header, words_of, words_with,
};
use crate::term::{kept_reference, met_resource};

/// The numbers of a reference, as its external form has them.
#[derive(Clone, Copy)]
pub(crate) struct Ids {
    all: [u32; 5],
    len: usize,
}

impl Ids {
    #[inline]
    pub(crate) fn three([a, b, c]: [u32; 3]) -> Ids {
        Ids {
            all: [a, b, c, 0, 0],
            len: 3,
        }
    }

    /// Returns those of an alias: on some machines its process is part of them.
    #[inline]
    fn of_alias(([a, b, c], process): Alias) -> Ids {
        if !aliases_name_process() {
            return Ids::three([a, b, c]);
        }
        let [low, high] = halves(process.0);
        Ids {
            all: [a, b, c, low, high],
            len: 5,
        }
    }

    /// Returns the numbers, with zeros behind them, and how many there are.
    #[inline]
    pub(crate) fn parts(self) -> ([u32; 5], usize) {
        (self.all, self.len)
    }

    /// Returns the reference of this node with these numbers, as it is stored.
    pub(crate) fn reference(&self) -> Reference {
        Reference {
            node: here(),
            creation: 0,
            ids: self.all[..self.len].to_vec(),
        }
    }
}

/// The layout of references.
#[derive(Clone, Copy)]
struct ReferenceLayout {
    /// The header of references to nothing and to resources.
    header: usize,
    /// The half word behind it in those to nothing.
    plain: u32,
    numbers: Option<NumbersLayout>,
    alias: Option<AliasLayout>,
}

/// The layout of the numbers of references, if those in their words are those of their external format.
#[derive(Clone, Copy)]
struct NumbersLayout {
    /// The bits of the second number that tell other references from those to nothing, if they are known.
    marks: Option<Marks>,
    /// The offset of the numbers of references to resources in the machine's block, in bytes, if that is known.
    of_resources: Option<usize>,
}

/// The bit of references to resources, and that of aliases of processes.
#[derive(Clone, Copy)]
struct Marks {
    resource: u32,
    alias: u32,
}

#[derive(Clone, Copy)]
struct AliasLayout {
    header: usize,
    /// Whether the external form has the word of the process behind the three numbers: from OTP 27 on.
    names_process: bool,
}

static LAYOUT: Learned<ReferenceLayout> = Learned::new();

#[inline]
fn marks() -> Option<Marks> {
    LAYOUT.get()?.numbers?.marks
}

#[inline]
fn aliases_name_process() -> bool {
    let alias = LAYOUT.get().and_then(|layout| layout.alias);
    alias.is_some_and(|alias| alias.names_process)
}

/// Returns whether references to resources are told from others, whether it is known what the numbers of references
/// are, and which blocks those to resources have, and what aliases look like.
pub(crate) fn known() -> [bool; 4] {
    LAYOUT.get().map_or([false; 4], |layout| {
        let numbers = layout.numbers;
        [
            true,
            numbers.is_some_and(|numbers| numbers.marks.is_some()),
            numbers.is_some_and(|numbers| numbers.of_resources.is_some()),
            layout.alias.is_some(),
        ]
    })
}

impl ReferenceLayout {
    /// Returns the numbers of a reference to nothing; `None` for anything else.
    #[inline]
    fn plain(&self, term: Term) -> Option<[u32; 3]> {
        let [_, first, second] = words_with(term, self.header)?;
        let ([plain, a], [b, c]) = (halves(first), halves(second));
        (plain == self.plain).then_some([a, b, c])
    }

    /// Returns the address of the block of a reference to a resource; `None` for anything else.
    #[inline]
    fn block(&self, term: Term) -> Option<usize> {
        let [_, block] = words_with(term, self.header)?;
        (halves(block)[0] != self.plain).then_some(block)
    }

    /// Returns an alias behind this header; `None` for anything else.
    #[inline]
    fn alias(&self, term: Term, header: usize) -> Option<Alias> {
        let [_, first, second, process] = words_with(term, header)?;
        let ([plain, a], [b, c]) = (halves(first), halves(second));
        let is_alias = plain == self.plain && Term(process).local_pid().is_some();
        is_alias.then_some(([a, b, c], Term(process)))
    }
}

/// Returns whether it is a reference to a resource, of whatever library.
pub(crate) fn is_of_resource(term: Term) -> bool {
    LAYOUT
        .get()
        .is_some_and(|layout| layout.block(term).is_some())
}

/// Returns whether a term is a reference of this node, to a resource or not; `false` also where that is not known.
pub(crate) fn is_local(term: Term) -> bool {
    LAYOUT
        .get()
        .is_some_and(|layout| term.subtag() == Some(layout.header & SUBTAG))
}

/// Returns the numbers of a local reference to nothing or of an alias, read where they are; `None` as [`local_ids`].
#[inline]
pub(crate) fn plain_ids(term: Term) -> Option<Ids> {
    let layout = LAYOUT.get()?;
    let plain = layout.plain(term).filter(|_| layout.numbers.is_some());
    plain.map(Ids::three).or_else(|| alias_ids(term))
}

/// Returns the numbers of an alias, whose process is remembered unless it is one of them; `None` as [`local_ids`].
#[inline]
fn alias_ids(term: Term) -> Option<Ids> {
    let layout = LAYOUT.get()?;
    let alias = layout.alias(term, layout.alias?.header)?;
    if !aliases_name_process() {
        alias::remember(alias);
    }
    Some(Ids::of_alias(alias))
}

/// Returns the numbers of a local reference, read where they are, and notes a resource that it refers to; `None` for
/// anything else, and where references look otherwise than we know.
#[inline]
pub(crate) fn local_ids(term: Term) -> Option<Ids> {
    if let Some(ids) = plain_ids(term) {
        return Some(ids);
    }
    let layout = LAYOUT.get()?;
    let (offset, block) = (layout.numbers?.of_resources?, layout.block(term)?);
    // SAFETY: all such blocks begin alike, and at the offset that was learned they have the numbers.
    let numbers = unsafe { numbers_at(block, offset) };
    met_resource(term, numbers);
    Some(Ids::three(numbers))
}

/// Returns the three half words at an offset in a block.
///
/// # Safety
///
/// The block has as many bytes.
#[inline]
unsafe fn numbers_at(block: usize, offset: usize) -> [u32; 3] {
    let numbers = std::ptr::with_exposed_provenance::<[u32; 3]>(block + offset);
    // SAFETY: the caller's contract.
    unsafe { numbers.read() }
}

/// Returns a reference made from its stored form: in `room` if it is to nothing, or an alias whose process is known; a
/// copy of what an object with these blobs keeps; or that of another node that was met. `None` for any other.
#[inline]
pub(crate) fn make(
    env: Env,
    room: &mut Room,
    node: NodeIds,
    ids: &[u32],
    blobs: &[Blob],
) -> Option<Term> {
    let is_local = node == (here().id(), 0);
    match *ids {
        [a, b, c] if is_local => make_local(env, room, [a, b, c], blobs),
        [a, b, c] => node::make_reference(env, node, [a, b, c]),
        [a, b, c, low, high] if is_local => {
            let process = Term(machine::word_of(low, high));
            let marks = marks()?;
            let is_alias = aliases_name_process()
                && b & (marks.resource | marks.alias) == marks.alias
                && process.local_pid().is_some();
            is_alias.then(|| room.alias(([a, b, c], process)))?
        }
        _ => None,
    }
}

#[inline]
fn make_local(env: Env, room: &mut Room, ids: [u32; 3], blobs: &[Blob]) -> Option<Term> {
    let marks = marks()?;
    match ids[1] & (marks.resource | marks.alias) {
        0 => room.reference(ids),
        _ if cfg!(fyris_mutant = "nif_mark_ignored") => room.reference(ids),
        mark if mark == marks.alias => room.alias((ids, alias::process_of(ids)?)),
        _ => kept_reference(env, ids, blobs),
    }
}

/// Returns a local reference by way of the external format: the bytes of another one, with its numbers at their end.
pub(crate) fn make_by_external(env: Env, reference: &Reference) -> Option<Term> {
    /// The version of the format, and how references begin.
    const BEGIN: [u8; 2] = [131, 90];
    if reference.node != here() || reference.creation != 0 {
        return None;
    }
    let mut external = env.write_external(env.make_ref())?;
    let count = u16::try_from(reference.ids.len()).ok()?.to_be_bytes();
    if !external.starts_with(&[BEGIN, count].concat()) {
        return None;
    }
    let from = external.len().checked_sub(4 * reference.ids.len())?;
    let numbers = external[from..].chunks_exact_mut(4);
    for (to, number) in numbers.zip(&reference.ids) {
        to.copy_from_slice(&number.to_be_bytes());
    }
    let term = env.read_external(&external)?;
    // The machine has found the process of an alias.
    alias_ids(term);
    Some(term)
}

impl Room {
    /// Returns a local reference to nothing, with these numbers; `None` where such look otherwise than we know.
    #[inline]
    fn reference(&mut self, [a, b, c]: [u32; 3]) -> Option<Term> {
        let layout = LAYOUT.get()?;
        let first = machine::word_of(layout.plain, a);
        // SAFETY: the header says that the three words are one whole reference (WHOLE).
        unsafe { self.boxed([layout.header, first, machine::word_of(b, c)]) }
    }

    /// Returns an alias; `None` where such look otherwise than we know.
    #[inline]
    fn alias(&mut self, ([a, b, c], process): Alias) -> Option<Term> {
        let layout = LAYOUT.get()?;
        let (header, first) = (layout.alias?.header, machine::word_of(layout.plain, a));
        // SAFETY: the header says that the four words are one whole reference (WHOLE).
        unsafe { self.boxed([header, first, machine::word_of(b, c), process.0]) }
    }
}

/// Learns what references look like. To be called when the kinds of resources are known.
pub(super) fn learn(env: Env, samples: &Samples) {
    LAYOUT.learn(|| {
        let mut layout = learn_plain(env)?;
        layout.numbers = learn_numbers(env, &layout, samples);
        let marks = layout.numbers.and_then(|numbers| numbers.marks);
        layout.alias = marks.and_then(|_| learn_aliases(env, &layout, samples));
        Some(layout)
    });
}

/// Returns the term of a resource of ours, and the address of the object.
fn resource(env: Env) -> (Term, Option<*const c_void>) {
    let term = load::wrap(env, Arc::<[u8]>::from([]));
    let object = load::resource::<Arc<[u8]>>(env, term);
    (term, object.map(|object| std::ptr::from_ref(object).cast()))
}

/// Learns what tells references to nothing from those to resources.
fn learn_plain(env: Env) -> Option<ReferenceLayout> {
    let first = |term: Term| {
        let [header, first]: [usize; 2] = words_of(term)?;
        Some((header, halves(first)[0]))
    };
    let (header, half) = first(resource(env).0)?;
    let [one, other] = [env.make_ref(), env.make_ref()].map(first);
    let (_, plain) = one.filter(|&one| other == Some(one) && one.0 == header)?;
    (plain != half && header >> ARITY_SHIFT == 2).then_some(ReferenceLayout {
        header,
        plain,
        numbers: None,
        alias: None,
    })
}

/// Returns the numbers of any reference, as its external form has them. From OTP 27 on those of an alias are followed
/// by two of its process.
fn all_external_numbers(env: Env, term: Term) -> Option<Vec<u32>> {
    match env.decoded(term)? {
        Owned::Reference(reference) => Some(reference.ids),
        _ => None,
    }
}

fn learn_numbers(env: Env, layout: &ReferenceLayout, samples: &Samples) -> Option<NumbersLayout> {
    let external = |term: Term| -> Option<[u32; 3]> {
        let all = all_external_numbers(env, term)?;
        all.try_into().ok()
    };
    let mut plain = [[0; 3]; 3];
    for numbers in &mut plain {
        let term = env.make_ref();
        *numbers = external(term).filter(|ids| layout.plain(term) == Some(*ids))?;
    }
    let resources = [(); 2].map(|()| {
        let (term, object) = resource(env);
        let numbers = external(term);
        let offset = numbers
            .zip(object)
            .and_then(|(numbers, object)| offset_of_numbers(layout.block(term)?, object, numbers));
        (numbers, offset)
    });
    let aliases = samples.aliases.iter().map(|&alias| {
        let all = all_external_numbers(env, alias)?;
        all.first_chunk().copied()
    });
    let marks = learn_marks(&plain, resources.iter().map(|(ids, _)| *ids), aliases);
    let of_resources = resources[0].1.filter(|_| resources[0].1 == resources[1].1);
    Some(NumbersLayout {
        marks,
        // The machine finds a resource again by an external reference only if it has written that: what is read where
        // it is has to be told from others when it is made.
        of_resources: of_resources.filter(|_| marks.is_some()),
    })
}

/// Returns the offset in the block of an object of ours of the numbers of the reference to it, in bytes; `None` where
/// such look otherwise than we know.
fn offset_of_numbers(block: usize, object: *const c_void, numbers: [u32; 3]) -> Option<usize> {
    /// The most that is before an object in its block.
    const BEFORE: usize = 256;
    let before = object.addr().checked_sub(block)?;
    if before > BEFORE || !block.is_multiple_of(8) {
        return None;
    }
    let mut offsets = (0..(before + 1).saturating_sub(size_of_val(&numbers))).step_by(4);
    // SAFETY: a pointer from a reference to shortly before the object is to the block that holds it, so all that is
    // before the object is there.
    offsets.find(|&offset| unsafe { numbers_at(block, offset) } == numbers)
}

/// Returns the bit that all references to resources have and those to nothing do not, and the one below it, which only
/// aliases have. Beside these the second number says which scheduler made a reference: aliases may come from another
/// one.
fn learn_marks(
    plain: &[[u32; 3]],
    resources: impl Iterator<Item = Option<[u32; 3]>>,
    mut aliases: impl Iterator<Item = Option<[u32; 3]>>,
) -> Option<Marks> {
    let second = |ids: Option<[u32; 3]>| ids.map_or(0, |ids| ids[1]);
    let some_have = plain.iter().fold(0, |bits, ids| bits | ids[1]);
    let all_have = resources.fold(u32::MAX, |bits, ids| bits & second(ids));
    let resource = all_have & !some_have;
    let (alias, both) = (resource >> 1, resource | resource >> 1);
    let is_known = resource.is_power_of_two()
        && some_have & alias == 0
        && aliases.all(|ids| second(ids) & both == alias);
    is_known.then_some(Marks { resource, alias })
}

/// Learns what aliases look like, from some of a process that is known.
fn learn_aliases(env: Env, layout: &ReferenceLayout, samples: &Samples) -> Option<AliasLayout> {
    let (&first, process) = (samples.aliases.first()?, samples.process);
    let header = header(first)?;
    let more = match all_external_numbers(env, first)?.len() {
        3 => &[][..],
        _ => &halves(process.0),
    };
    let is_so = |&term: &Term| {
        let numbers = all_external_numbers(env, term);
        numbers.is_some_and(|numbers| {
            numbers
                .split_first_chunk()
                .is_some_and(|(numbers, behind)| {
                    layout.alias(term, header) == Some((*numbers, process)) && behind == more
                })
        })
    };
    let known = header >> ARITY_SHIFT == 3
        && header & SUBTAG == layout.header & SUBTAG
        && samples.aliases.len() > 1
        && samples.aliases.iter().all(is_so);
    known.then_some(AliasLayout {
        header,
        names_process: !more.is_empty(),
    })
}
