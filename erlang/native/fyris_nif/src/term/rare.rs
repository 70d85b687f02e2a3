//! Terms that come by way of the external format, and what is local in them.

use std::sync::{Arc, LazyLock, OnceLock};

use fyris::Error;
use fyris_term::etf::{self, DecodeErrorKind};
use fyris_term::text::OWN_NODE;
use fyris_term::{Atom, AtomError, Blob, Fun, Pid, Port, Reference, Term as Owned};

use super::pids::local_pid;
use super::{Result, aliases, keep, pids};
use crate::atoms;
use crate::externals::{self, Foreign};
use crate::funs::{self, FunKey};
use crate::load::{self, Samples};
use crate::references::{self, Alias};
use crate::sys::{self, Env, Term};
use crate::words::{self, Room};

/// Returns our atom for the machine's.
#[inline]
pub(super) fn atom(env: Env, term: Term) -> Result<Atom> {
    atoms::from_machine(env, term).ok_or_else(no_more)
}

#[cold]
pub(super) fn no_more() -> Error {
    Error::Atom(AtomError::TableFull)
}

/// Returns the node that local things are stored under.
pub(super) fn here() -> Atom {
    static HERE: LazyLock<Atom> = LazyLock::new(|| Atom::new(OWN_NODE).expect("a short name"));
    *HERE
}

/// Returns a term of a kind that has no form of its own here.
#[cold]
#[inline(never)]
pub(super) fn read(env: Env, term: Term) -> Result<Owned> {
    if let Some(ids) = local_ids(env, term) {
        return Ok(Owned::Reference(Box::new(local_reference(&ids))));
    }
    if let Some(large) = words::read_large(term) {
        return Ok(Owned::integer(large));
    }
    if let Some(port) = port(env, term) {
        return Ok(Owned::Port(Box::new(port)));
    }
    if let Some(owned) = externals::see(term).and_then(from_foreign) {
        return Ok(owned);
    }
    let owned = by_external(env, term)?;
    remember_node(env, term, &owned);
    if !names_no_node(&owned) {
        keep::met(env, term, &owned);
    }
    Ok(owned)
}

/// Returns a term of another node as we have it.
fn from_foreign(foreign: Foreign) -> Option<Owned> {
    Some(match foreign {
        Foreign::Pid(pid) => Owned::Pid(Box::new(pid)),
        Foreign::Reference((node, creation), ids) => Owned::Reference(Box::new(Reference {
            node: Atom::from_id(node)?,
            creation,
            ids: ids.to_vec(),
        })),
    })
}

/// Remembers the node of a pid or reference of another node.
fn remember_node(env: Env, term: Term, owned: &Owned) {
    let node = match owned {
        Owned::Pid(pid) => (pid.node, pid.creation),
        Owned::Reference(reference) => (reference.node, reference.creation),
        _ => return,
    };
    if is_of_another_node(owned) {
        externals::remember(env, term, node);
    }
}

/// Returns a term by way of the external format.
fn by_external(env: Env, term: Term) -> Result<Owned> {
    let external = env.write_external(term);
    let external = external.ok_or_else(|| Error::BadArgument("no room for a term".to_owned()))?;
    if atoms::is_known_only() {
        // Local terms bear the name of this node, and may be stored though it was never met.
        this_node(env);
    }
    let mut owned = decode(&external)?;
    if names(&owned, here()) {
        return Err(Error::BadArgument(format!(
            "a term of a node called {}",
            here().as_str()
        )));
    }
    match &mut owned {
        Owned::Reference(reference) if env.is_local_reference(term) => {
            (reference.node, reference.creation) = (here(), 0);
        }
        other if names_no_node(other) || is_foreign(other, term) => {}
        other => {
            if let Some(this) = this_node(env) {
                move_node(other, this, (here(), 0));
            }
        }
    }
    Ok(owned)
}

/// Returns whether a term, which is no local reference, is known to be of another node and to have no parts. Local pids
/// and ports are single words.
fn is_foreign(owned: &Owned, term: Term) -> bool {
    match owned {
        Owned::Pid(_) => term.is_boxed(),
        Owned::Port(_) => term.is_boxed() && PORTS.get() == Some(&true),
        Owned::Reference(_) => references::are_known(),
        _ => false,
    }
}

/// Returns a fun, read where it is; `None` for anything else, and where funs look otherwise than we know.
#[inline]
pub(super) fn fun<'t>(env: Env, term: Term) -> Option<funs::SeenFun<'t>> {
    funs::see(env, term, || by_external(env, term).ok())
}

/// Returns the fun without its captured values.
pub(super) fn bare_fun(env: Env, fun: &funs::SeenFun<'_>) -> Result<Fun> {
    match fun.code.key {
        FunKey::Local(code, _) => {
            let local = code.fun(creator(env, fun)?, Vec::new());
            local.map(Fun::Local).map_err(|_| no_more())
        }
        FunKey::External(module, function, arity) => Ok(Fun::External {
            module,
            function,
            arity,
        }),
    }
}

/// Returns the creator of a closure as it is stored: a process that there never is, on machines that do not keep it.
pub(super) fn creator(env: Env, fun: &funs::SeenFun<'_>) -> Result<Pid> {
    match fun.creator.map(|creator| (creator, creator.local_pid())) {
        None => Ok(local_pid(0)),
        Some((_, Some(id))) => Ok(local_pid(id)),
        Some((creator, None)) => match read(env, creator)? {
            Owned::Pid(pid) => Ok(*pid),
            _ => Err(Error::BadArgument("a fun without a creator".to_owned())),
        },
    }
}

/// The numbers of a reference, as its external form has them.
#[derive(Clone, Copy)]
pub(super) struct Ids {
    all: [u32; 5],
    len: usize,
}

impl Ids {
    #[inline]
    pub(super) fn three([a, b, c]: [u32; 3]) -> Ids {
        Ids {
            all: [a, b, c, 0, 0],
            len: 3,
        }
    }

    /// Returns those of an alias: on some machines its process is part of them.
    #[inline]
    fn of_alias(([a, b, c], process): Alias) -> Ids {
        if !references::aliases_name_process() {
            return Ids::three([a, b, c]);
        }
        let [low, high] = references::halves(process);
        Ids {
            all: [a, b, c, low, high],
            len: 5,
        }
    }

    /// Returns the numbers, with zeros behind them, and how many there are.
    #[inline]
    pub(super) fn parts(self) -> ([u32; 5], usize) {
        (self.all, self.len)
    }
}

/// Returns the numbers of a local reference to nothing or of an alias, read where they are; `None` as [`local_ids`].
#[inline]
pub(super) fn plain_ids(env: Env, term: Term) -> Option<Ids> {
    let plain = env.plain_reference(term).filter(|_| numbers().is_some());
    plain.map(Ids::three).or_else(|| alias_ids(env, term))
}

/// Returns the numbers of an alias, whose process is remembered unless it is one of them; `None` as [`local_ids`].
#[inline]
fn alias_ids(env: Env, term: Term) -> Option<Ids> {
    let alias = env.alias(term)?;
    if !references::aliases_name_process() {
        aliases::remember(alias);
    }
    Some(Ids::of_alias(alias))
}

/// Returns the numbers of a local reference, read where they are, and notes a resource that it refers to; `None` for
/// anything else, and where references look otherwise than we know.
#[inline]
pub(super) fn local_ids(env: Env, term: Term) -> Option<Ids> {
    if let Some(ids) = plain_ids(env, term) {
        return Some(ids);
    }
    // SAFETY: the offset that was learned.
    let numbers = unsafe { env.resource_numbers(term, numbers()?.of_resources?) }?;
    keep::met_resource(term, numbers);
    Some(Ids::three(numbers))
}

/// Returns whether a term is of a kind that is the same on every node.
fn names_no_node(owned: &Owned) -> bool {
    match owned {
        Owned::Big(_) | Owned::Bits(_) => true,
        Owned::Fun(fun) => matches!(**fun, Fun::External { .. }),
        _ => false,
    }
}

/// Low bits of the machine's word for a local port that are its number; above is its place in the port table.
const PORT_BITS: u32 = 28;

/// Returns a local port as it is stored: its number, which orders it among others, and one more than its place in the
/// port table, which only the machine needs; zero stands for a port that came by way of the external format.
fn local_port(id: u64) -> Port {
    Port {
        node: here(),
        id: id & ((1 << PORT_BITS) - 1),
        creation: (id >> PORT_BITS) as u32 + 1,
    }
}

/// Returns a local port; `None` for anything else, and where ports are otherwise than we know.
#[inline]
pub(super) fn port(env: Env, term: Term) -> Option<Port> {
    let id = term.local_port().filter(|_| ports_are_known(env, term))?;
    Some(local_port(id))
}

/// Whether the machine's words for ports are laid out as [`local_port`] expects, once a local port was seen.
static PORTS: OnceLock<bool> = OnceLock::new();

/// Returns whether ports are as expected; `term` is a local port.
fn ports_are_known(env: Env, term: Term) -> bool {
    *PORTS.get_or_init(|| {
        let external = env.write_external(term).and_then(|b| etf::decode(&b).ok());
        match (term.local_port(), external) {
            (Some(id), Some(Owned::Port(port))) => local_port(id).id == port.id,
            _ => false,
        }
    })
}

fn decode(external: &[u8]) -> Result<Owned> {
    let decoded = match atoms::is_known_only() {
        true => etf::decode_known(external),
        false => etf::decode(external),
    };
    decoded.map_err(|error| match error.kind() {
        DecodeErrorKind::UnknownAtom(_) => no_more(),
        DecodeErrorKind::Atom(error) => Error::Atom(error.clone()),
        _ => Error::BadArgument(error.to_string()),
    })
}

fn local_reference(ids: &Ids) -> Reference {
    Reference {
        node: here(),
        creation: 0,
        ids: ids.all[..ids.len].to_vec(),
    }
}

/// The layout of the numbers of references.
#[derive(Clone, Copy)]
struct NumbersLayout {
    /// The bits of the second number that tell other references from those to nothing, if they are known.
    marks: Option<Marks>,
    /// The offset of the numbers of references to resources ([`Env::offset_of_numbers`]), if that is known.
    of_resources: Option<usize>,
}

/// The bit of references to resources, and that of aliases of processes.
#[derive(Clone, Copy)]
struct Marks {
    resource: u32,
    alias: u32,
}

static NUMBERS: OnceLock<Option<NumbersLayout>> = OnceLock::new();

/// Returns the layout of the numbers of references; `None` if the numbers in their words are not those of their
/// external format.
#[inline]
fn numbers() -> Option<NumbersLayout> {
    NUMBERS.get().copied().flatten()
}

/// Learns what is in references and ports. To be called when the library is loaded, and references to resources and
/// words are known.
pub(crate) fn learn(env: Env, samples: &Samples) {
    if let Some((&serial, numbers)) = samples.pids.split_first() {
        pids::learn(serial, numbers);
    }
    NUMBERS.get_or_init(|| learn_numbers(env, samples));
    if numbers().is_some_and(|numbers| numbers.marks.is_some()) {
        let known = |&term: &Term| Some((term, all_external_numbers(env, term)?));
        let known: Option<Vec<_>> = samples.aliases.iter().map(known).collect();
        references::learn_aliases(&known.unwrap_or_default(), samples.process);
    }
    if let Some(&port) = samples.ports.first() {
        ports_are_known(env, port);
    }
}

/// Returns whether it is known what the numbers of references are, which blocks those to resources have, and what
/// aliases and ports look like.
pub(crate) fn known() -> [bool; 4] {
    let numbers = numbers();
    [
        numbers.is_some_and(|numbers| numbers.marks.is_some()),
        numbers.is_some_and(|numbers| numbers.of_resources.is_some()),
        references::alias_layout().is_some(),
        PORTS.get() == Some(&true),
    ]
}

/// Returns the numbers of a reference, as the external format has them.
fn external_numbers(env: Env, term: Term) -> Option<[u32; 3]> {
    all_external_numbers(env, term)?.try_into().ok()
}

/// Returns the numbers of any reference. From OTP 27 on those of an alias are followed by two of its process.
fn all_external_numbers(env: Env, term: Term) -> Option<Vec<u32>> {
    match etf::decode(&env.write_external(term)?).ok()? {
        Owned::Reference(reference) => Some(reference.ids),
        _ => None,
    }
}

#[cold]
fn learn_numbers(env: Env, samples: &Samples) -> Option<NumbersLayout> {
    let external = |term: Term| external_numbers(env, term);
    let mut plain = [[0; 3]; 3];
    for numbers in &mut plain {
        let term = env.make_ref();
        *numbers = external(term).filter(|ids| env.plain_reference(term) == Some(*ids))?;
    }
    let resources = [(); 2].map(|()| {
        let kind = load::types().blob;
        // SAFETY: the destroyer of the type drops an `Arc<[u8]>`, which its resources hold.
        let (term, object) = unsafe {
            let term = sys::wrap(env, kind, Arc::<[u8]>::from([]));
            (term, env.resource::<Arc<[u8]>>(term, kind))
        };
        let numbers = external(term);
        let object = object.map(std::ptr::from_ref);
        let offset = numbers
            .zip(object)
            .and_then(|(numbers, object)| env.offset_of_numbers(term, object.cast(), numbers));
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

/// Returns a local reference made from its stored form: in `room` if it is to nothing, or an alias whose process is
/// remembered, else from what an object with these blobs keeps; `None` for any other.
#[inline]
pub(super) fn local_term(
    env: Env,
    room: &mut Room,
    (node, creation): (u32, u32),
    ids: [u32; 3],
    blobs: &[Blob],
) -> Option<Term> {
    if creation != 0 || node != here().id() {
        return None;
    }
    let marks = numbers()?.marks?;
    match ids[1] & (marks.resource | marks.alias) {
        0 => room.reference(ids),
        _ if cfg!(fyris_mutant = "nif_mark_ignored") => room.reference(ids),
        mark if mark == marks.alias => room.alias((ids, aliases::process_of(ids)?)),
        _ => keep::kept_reference(env, ids, blobs),
    }
}

/// Returns an alias made from its stored form, where that has its process; `None` for any other reference.
#[inline]
pub(super) fn alias_term(
    room: &mut Room,
    (node, creation): (u32, u32),
    [a, b, c, low, high]: [u32; 5],
) -> Option<Term> {
    let process = Term((u64::from(low) | u64::from(high) << u32::BITS) as usize);
    let marks = numbers()?.marks?;
    let is_alias = references::aliases_name_process()
        && (node, creation) == (here().id(), 0)
        && b & (marks.resource | marks.alias) == marks.alias
        && process.local_pid().is_some();
    is_alias.then(|| room.alias(([a, b, c], process))).flatten()
}

/// Returns a local reference: the bytes of another one, with its numbers at their end.
fn make_local_reference(env: Env, reference: &Reference) -> Option<Term> {
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
    env.read_external(&external)
}

/// Returns the machine's term for one of those.
#[cold]
pub(super) fn make(env: Env, owned: &Owned) -> Term {
    let local = match owned {
        Owned::Reference(reference) => make_local_reference(env, reference),
        Owned::Port(port) => from_local_port(port.node.id(), port.creation, port.id),
        _ => None,
    };
    if let Some(term) = local {
        // The machine has found the process of an alias.
        alias_ids(env, term);
        return term;
    }
    let external = if names_no_node(owned) || is_of_another_node(owned) {
        etf::encode(owned)
    } else {
        let mut owned = owned.clone();
        if let Some(this) = this_node(env) {
            move_node(&mut owned, (here(), 0), this);
        }
        etf::encode(&owned)
    };
    let term = env.read_external(&external);
    let term = term.expect("a term that came from this machine");
    remember_node(env, term, owned);
    term
}

/// Returns whether a term is stored under the name of another node, and has no parts.
fn is_of_another_node(owned: &Owned) -> bool {
    match owned {
        Owned::Pid(pid) => pid.node != here(),
        Owned::Port(port) => port.node != here(),
        Owned::Reference(reference) => reference.node != here(),
        _ => false,
    }
}

/// Returns the machine's local port from its stored form; `None` for a foreign one, and for one that came by way of the
/// external format.
#[inline]
pub(super) fn from_local_port(node: u32, creation: u32, id: u64) -> Option<Term> {
    let place = u64::from(creation).checked_sub(1)?;
    (node == here().id()).then(|| Term::from_local_port(place << PORT_BITS | id))
}

/// The identity of a node: its name, and the number of its start.
pub(crate) type Node = (Atom, u32);

/// Returns this node, as it is called now. It is asked each time: the machine tells nobody that the node was renamed,
/// and a name that was kept would be that of another node. So it is asked only for terms that may have local parts.
pub(crate) fn this_node(env: Env) -> Option<Node> {
    // Some environments have no process; every one can make a reference.
    match etf::decode(&env.write_external(env.make_ref())?).ok()? {
        Owned::Reference(reference) => Some((reference.node, reference.creation)),
        _ => None,
    }
}

/// Returns the present name of this node.
pub(crate) fn node_name(env: Env) -> Option<Atom> {
    this_node(env).map(|(name, _)| name)
}

/// Returns whether a term has a part of a node with this name.
fn names(term: &Owned, name: Atom) -> bool {
    let mut found = false;
    term.each(|part| {
        found |= match part {
            Owned::Pid(pid) => pid.node == name,
            Owned::Port(port) => port.node == name,
            Owned::Reference(reference) => reference.node == name,
            Owned::Fun(fun) => match &**fun {
                Fun::Local(fun) => fun.creator.node == name,
                Fun::External { .. } => false,
            },
            _ => false,
        };
    });
    found
}

/// Gives what is of node `from` in a term to node `to`.
fn move_node(term: &mut Owned, from: Node, to: Node) {
    let turn = |node: &mut Atom, creation: &mut u32| {
        if (*node, *creation) == from {
            (*node, *creation) = to;
        }
    };
    *term = term.changed(|part| match part {
        // Local pids by themselves do not come this way; those in closures keep their numbers.
        Owned::Pid(pid) => turn(&mut pid.node, &mut pid.creation),
        Owned::Port(port) => turn(&mut port.node, &mut port.creation),
        Owned::Reference(reference) => turn(&mut reference.node, &mut reference.creation),
        Owned::Fun(fun) => {
            if let Fun::Local(fun) = &mut **fun {
                turn(&mut fun.creator.node, &mut fun.creator.creation);
            }
        }
        _ => {}
    });
}
