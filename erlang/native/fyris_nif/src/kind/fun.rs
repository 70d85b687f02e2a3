//! Funs, read and made where they are.
//!
//! By way of the external format a closure takes a hundred times as long as another term of its size: it is written,
//! read, and its code is searched for by name. But all closures of one place in a program differ in their creator and
//! captured values only, and their first words, which tell the code, are the same. So for each code that was met there
//! is a [`Code`]: what is stored of it, and a *template*, a fun of this code with zeros for captured values. A fun is
//! made by copying the template and putting the captured values into it. An external fun is its code alone.
//!
//! A template holds a count of its code, if the machine counts such; so the words that tell it stay its own. Of a
//! module that is purged the code remains as it does for a fun in a table of `ets`: a name, which a later load of the
//! same code gives its meaning back.
//!
//! # Layout
//!
//! A boxed term (the machine's `erl_fun.h`): a header, a word that with the header tells the code, then in words that
//! are [learned](learn) when the library is loaded, on some machines the creator, and the captured values one behind
//! another. Where funs look otherwise they go by way of the external format.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread::LocalKey;

use fyris::Error;
use fyris_term::value::FunCode;
use fyris_term::{Atom, Fun, LocalFun, Pid, Term as Owned};

use super::atom::no_more;
use super::node::this_node;
use super::pid::local_pid;
use crate::machine::{Env, Learned, OwnTerm, Term, address, words};
use crate::term::{Result, by_external};

/// The most codes that are kept; of others, funs go by way of the external format.
const MAX_CODES: usize = 1 << 14;
/// The place of the first word that may be a captured value, and one more than that of the last.
const PLACES: std::ops::Range<usize> = 2..7;
/// Codes that a thread remembers.
const REMEMBERED: usize = 64;

/// The layout of funs.
#[derive(Clone, Copy)]
struct FunLayout {
    /// The kinds in the headers of closures and of external funs.
    kinds: [usize; 2],
    /// The place of the first captured value.
    captured: usize,
    /// The place of the creator; `None` on machines that do not keep it.
    creator: Option<usize>,
}

static LAYOUT: Learned<FunLayout> = Learned::new();

/// What tells the code of a fun from all others: its first two words.
type Id = [usize; 2];

/// The stored parts of a fun that all funs of its code share.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum FunKey {
    /// A closure, and the number of its captured values.
    Local(FunCode, usize),
    /// The module, the function and the arity.
    External(Atom, Atom, u8),
}

/// The code of funs.
pub(crate) struct Code {
    id: Id,
    pub(crate) key: FunKey,
    template: OwnTerm,
}

/// A fun, read where it is; valid during the call that the term belongs to (CALL).
pub(crate) struct SeenFun<'t> {
    pub(crate) code: &'static Code,
    /// The creator of a closure, if the machine keeps it.
    creator: Option<Term>,
    pub(crate) captured: &'t [Term],
}

/// The codes that were met, by what tells them from others. None is ever removed.
#[derive(Default)]
struct Codes {
    by_id: HashMap<Id, &'static Code>,
    by_key: HashMap<FunKey, &'static Code>,
}

static CODES: LazyLock<Mutex<Codes>> = LazyLock::new(Mutex::default);

fn codes() -> std::sync::MutexGuard<'static, Codes> {
    CODES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// By slots; empty at first.
type CodeMemory = RefCell<Vec<Option<&'static Code>>>;

thread_local! {
    static SEEN: CodeMemory = const { RefCell::new(Vec::new()) };
    static MADE: CodeMemory = const { RefCell::new(Vec::new()) };
}

/// Returns the code that the thread remembers in a slot, if it is the one; else what `find` finds, which it remembers.
#[inline]
fn remembered(
    memory: &'static LocalKey<CodeMemory>,
    slot: usize,
    is_it: impl FnOnce(&Code) -> bool,
    find: impl FnOnce() -> Option<&'static Code>,
) -> Option<&'static Code> {
    let slot = slot % REMEMBERED;
    let code = memory.with_borrow(|codes| codes.get(slot).copied().flatten());
    if code.is_some_and(|code| is_it(code) || cfg!(fyris_mutant = "nif_fun_any_code")) {
        return code;
    }
    let code = find()?;
    memory.with_borrow_mut(|codes| {
        codes.resize(REMEMBERED, None);
        codes[slot] = Some(code);
    });
    Some(code)
}

fn word(term: Term, place: usize) -> *mut usize {
    address(term).cast_mut().wrapping_add(place)
}

/// Returns the words that tell the code of a fun.
///
/// # Safety
///
/// It is one.
#[inline]
unsafe fn id(term: Term) -> Id {
    // SAFETY: every fun has as many words.
    unsafe { words(term) }
}

/// Returns a fun, read where it is. `None` for anything else, and if the fun is to go by way of the external format:
/// then all funs of its code do, for ever.
#[inline]
pub(crate) fn see<'t>(env: Env, term: Term) -> Option<SeenFun<'t>> {
    let layout = LAYOUT.get()?;
    if !layout.kinds.contains(&term.subtag()?) {
        return None;
    }
    // SAFETY: its kind says that it is a fun.
    let id = unsafe { id(term) };
    let is_it = |code: &Code| code.id == id;
    let code = remembered(&SEEN, id[1] >> 4, is_it, || find(env, id, term))?;
    let captured = match code.key {
        FunKey::Local(_, captured) => captured,
        FunKey::External(..) => 0,
    };
    // SAFETY: a closure of this code has as many captured values, and the creator where the layout says.
    let (creator, captured) = unsafe {
        let creator = layout
            .creator
            .filter(|_| matches!(code.key, FunKey::Local(..)));
        (
            creator.map(|place| Term(word(term, place).read())),
            std::slice::from_raw_parts(word(term, layout.captured).cast(), captured),
        )
    };
    Some(SeenFun {
        code,
        creator,
        captured,
    })
}

#[cold]
fn find(env: Env, id: Id, term: Term) -> Option<&'static Code> {
    let known = codes().by_id.get(&id).copied();
    if known.is_some() {
        return known;
    }
    let Ok(Owned::Fun(fun)) = by_external(env, term) else {
        return None;
    };
    let key = match *fun {
        Fun::External {
            module,
            function,
            arity,
        } => FunKey::External(module, function, arity),
        Fun::Local(fun) => FunKey::Local(FunCode::of(&fun), fun.free.len()),
    };
    // Should the words be others than those of the template, this is found again each time.
    add(env, key)
}

/// Returns the code with this key, new if it was not met before; `None` if there are too many.
fn add(env: Env, key: FunKey) -> Option<&'static Code> {
    let term = bare(env, key)?;
    // SAFETY: a fun, made just now.
    let id = unsafe { id(term) };
    let mut codes = codes();
    if let Some(code) = codes.by_key.get(&key) {
        return Some(code);
    }
    if codes.by_key.len() >= MAX_CODES {
        return None;
    }
    let template = OwnTerm::copy_of(term);
    let code: &'static Code = Box::leak(Box::new(Code { id, key, template }));
    codes.by_id.insert(id, code);
    codes.by_key.insert(key, code);
    Some(code)
}

/// Returns a fun of this code with some creator, and zeros for captured values.
fn bare(env: Env, key: FunKey) -> Option<Term> {
    let fun = match key {
        FunKey::External(module, function, arity) => Fun::External {
            module,
            function,
            arity,
        },
        FunKey::Local(code, captured) => {
            let (node, creation) = this_node(env)?;
            let creator = Pid {
                node,
                id: 0,
                serial: 0,
                creation,
            };
            Fun::Local(code.fun(creator, vec![Owned::Int(0); captured]).ok()?)
        }
    };
    env.encoded(&Owned::Fun(Box::new(fun)))
}

/// Returns the process that calls, as the machine tells it.
fn own_pid(env: Env) -> Option<Pid> {
    match env.decoded(env.self_pid()?)? {
        Owned::Pid(pid) => Some(*pid),
        _ => None,
    }
}

impl SeenFun<'_> {
    /// Returns the fun without its captured values, as it is stored.
    pub(crate) fn bare(&self, env: Env) -> Result<Fun> {
        match self.code.key {
            FunKey::Local(code, _) => {
                let local = code.fun(self.creator(env)?, Vec::new());
                local.map(Fun::Local).map_err(|_| no_more())
            }
            FunKey::External(module, function, arity) => Ok(Fun::External {
                module,
                function,
                arity,
            }),
        }
    }

    /// Returns the creator of a closure as it is stored: a process that there never is, on machines that do not keep
    /// it.
    pub(crate) fn creator(&self, env: Env) -> Result<Pid> {
        let Some(creator) = self.creator else {
            return Ok(local_pid(0));
        };
        match creator.local_pid() {
            Some(id) => Ok(local_pid(id)),
            None => match crate::term::read(env, creator)? {
                Owned::Pid(pid) => Ok(*pid),
                _ => Err(Error::BadArgument("a fun without a creator".to_owned())),
            },
        }
    }
}

impl FunKey {
    /// Returns a number that most other keys do not have.
    fn slot(&self) -> usize {
        match self {
            FunKey::Local(code, _) => code.number() as usize,
            FunKey::External(module, function, arity) => {
                module.id() as usize * 31 + function.id() as usize * 7 + usize::from(*arity)
            }
        }
    }
}

/// Returns a fun of this code; of a closure, with this creator where the machine keeps it, and zeros for captured
/// values, for [`put`]. `None` if it is to be made by way of the external format.
#[inline]
pub(crate) fn begin(env: Env, key: FunKey, creator: Option<Term>) -> Option<Term> {
    let layout = LAYOUT.get()?;
    let creator = match (key, layout.creator) {
        (FunKey::Local(..), Some(place)) => Some((place, creator?)),
        _ => None,
    };
    let is_it = |code: &Code| code.key == key;
    let code = remembered(&MADE, key.slot(), is_it, || add(env, key))?;
    let fun = code.template.copy_to(env);
    if let Some((place, creator)) = creator {
        // SAFETY: a closure, made just now by this call, has its creator there.
        unsafe { word(fun, place).write(creator.0) };
    }
    Some(fun)
}

/// Puts a captured value at its place, from 0, in a closure of [`begin`].
#[inline]
pub(crate) fn put(fun: Term, at: usize, value: Term) {
    let layout = LAYOUT.get().expect("known where a closure was begun");
    // SAFETY: the closure was made during this call, and has as many captured values as its code says.
    unsafe { word(fun, layout.captured + at).write(value.0) };
}

/// Learns what funs look like, when the library is loaded.
pub(super) fn learn(env: Env) {
    LAYOUT.learn(|| layout_of(env));
}

/// Returns whether funs are read and made where they are.
pub(crate) fn are_known() -> bool {
    LAYOUT.is_known()
}

/// Values that a closure captures, to be found in its words: with the header they are more than [`PLACES`] reach.
const CAPTURED: [i64; 8] = [1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008];

fn layout_of(env: Env) -> Option<FunLayout> {
    let (own, word_of_own) = (own_pid(env)?, env.self_pid()?);
    let mut other = own.clone();
    other.id += 1;
    let closure = |index: u32, creator: &Pid, captured: [i64; 8]| {
        let fun = LocalFun {
            module: Atom::new("fyris_nif").ok()?,
            arity: 1,
            uniq: [7; 16],
            index,
            old_index: index.into(),
            old_uniq: 7,
            creator: creator.clone(),
            free: captured.map(Owned::Int).to_vec().into(),
        };
        env.encoded(&Owned::Fun(Box::new(Fun::Local(fun))))
    };
    let external = |function: &str| {
        let fun = Fun::External {
            module: Atom::new("erlang").ok()?,
            function: Atom::new(function).ok()?,
            arity: 0,
        };
        env.encoded(&Owned::Fun(Box::new(fun)))
    };
    let (one, next) = (closure(0, &own, CAPTURED)?, closure(1, &own, CAPTURED)?);
    let empty = closure(0, &other, [0; 8])?;
    let (this, again, that) = (external("self")?, external("self")?, external("node")?);
    let funs = [one, next, empty, this, again, that];
    if !funs.iter().all(|fun| fun.is_boxed()) {
        return None;
    }
    // SAFETY: closures with eight captured values have more words than are read here; an external fun has two.
    unsafe {
        let at = |place: usize| word(one, place).read();
        let is_value = |place: usize, nth: usize| at(place) == env.make_int(CAPTURED[nth]).0;
        let captured = PLACES
            .into_iter()
            .find(|&place| (0..3).all(|nth| is_value(place + nth, nth)))?;
        let creator = (2..captured).find(|&place| at(place) == word_of_own.0);
        let told = id(one) == id(empty) && id(one) != id(next) && id(this) == id(again);
        if !told || id(this) == id(that) {
            return None;
        }
        let layout = FunLayout {
            kinds: [one.subtag()?, this.subtag()?],
            captured,
            creator,
        };
        // The machine tells the same of a closure that is made so, as of one that it makes.
        let made = OwnTerm::copy_of(empty).copy_to(env);
        for (nth, &value) in CAPTURED.iter().enumerate() {
            word(made, captured + nth).write(env.make_int(value).0);
        }
        if let Some(place) = creator {
            word(made, place).write(word_of_own.0);
        }
        (env.write_external(made)? == env.write_external(one)?).then_some(layout)
    }
}
