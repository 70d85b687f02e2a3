//! Calls from the machine: from C to Rust and back.
//!
//! A function of this crate takes the environment and the arguments and returns a term or a [`Fail`]. What
//! fails is raised as `{'$fyris_error', Class, Cause, Text}`, which `fyris.erl` turns into the error that `ets`
//! would have raised. A panic is raised too: it never crosses into C.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fyris::{Error, EtsClass};

use crate::kind::atom;
use crate::machine::{Env, ErlNifEnv, ErlNifTerm, Term};
use crate::term;

/// Why a call failed. Two words with a [`Reply`]: that is returned in registers, through all that a call goes through.
pub(crate) enum Fail {
    /// The store says so.
    Store(Box<Error>),
    /// `badarg`, with the word that `ets` has for the cause; mostly `none`.
    Cause(&'static &'static str),
}

/// An argument of the wrong form.
pub(crate) const BAD: Fail = Fail::Cause(&"none");

impl From<Error> for Fail {
    #[cold]
    fn from(error: Error) -> Fail {
        Fail::Store(Box::new(error))
    }
}

/// The result of a call.
pub(crate) type Reply = Result<Term, Fail>;

const _: () = assert!(size_of::<Reply>() == 2 * size_of::<Term>());

impl Fail {
    /// Returns what the store says.
    pub(crate) fn error(&self) -> Option<&Error> {
        match self {
            Fail::Store(error) => Some(error),
            Fail::Cause(_) => None,
        }
    }

    /// Returns the word that `ets` has for the cause.
    fn cause(&self) -> &'static str {
        let error = match self {
            Fail::Cause(cause) => return cause,
            Fail::Store(error) => error,
        };
        match &**error {
            Error::NoSuchTable(_) => "id",
            Error::NoAccess { .. } => "access",
            Error::NotOwner => "not_owner",
            Error::AlreadyOwner => "owner",
            Error::NameTaken(_) | Error::OtherTable { .. } => "already_exists",
            Error::KeyUpdate(_) => "keypos",
            Error::BadPosition { .. } => "position",
            Error::NoSuchKey => "badkey",
            Error::WrongType { .. } => "table_type",
            // Further words, which say what kind of argument is meant (`fyris_error:place/3`).
            Error::BadOption(_) | Error::RepeatedOption(_) | Error::BadIndex { .. } => "option",
            Error::LibraryIndex { .. } => "library",
            Error::BadMatchSpec(_) | Error::KeyChanges(_) => "match_spec",
            Error::NotATuple(_) | Error::BadKeyPosition { .. } => "object",
            Error::BadItem(_) => "item",
            Error::NoSecondaryIndex(_) | Error::SecondaryExists(_) => "secondary",
            Error::BadSlot { .. } => "slot",
            Error::BadArgument(_) => "argument",
            Error::InBatch { .. } => "batch",
            _ => "none",
        }
    }

    /// Returns what is raised: a class of `ets`, `{not_unique, Index, Value}`, or `{hold_expired, Milliseconds}`.
    fn class(&self, env: Env) -> Term {
        let mut error = self.error();
        while let Some(Error::InBatch { why, .. }) = error {
            error = Some(why);
        }
        if let Some(Error::NotUnique { index, value }) = error {
            let (word, index) = (
                env.make_atom(b"not_unique"),
                env.make_atom(index.as_bytes()),
            );
            return env.make_tuple(&[word, index, term::make(env, value)]);
        }
        if let Some(Error::HoldExpired(lasts)) = error {
            let lasts = i64::try_from(lasts.as_millis()).unwrap_or(i64::MAX);
            return env.make_tuple(&[env.make_atom(b"hold_expired"), env.make_int(lasts)]);
        }
        let class = error.map_or(EtsClass::Badarg, Error::ets_class);
        env.make_atom(class.as_str().as_bytes())
    }

    #[cold]
    fn raise(&self, env: Env) -> Term {
        let text = match self {
            Fail::Store(error) => error.to_string(),
            Fail::Cause(_) => String::new(),
        };
        let reason = [
            atom::failure(env),
            self.class(env),
            env.make_atom(self.cause().as_bytes()),
            env.make_binary(text.as_bytes()),
        ];
        env.raise(env.make_tuple(&reason))
    }
}

/// Runs a function of this crate for the machine.
///
/// # Safety
///
/// The machine has called, with these very arguments.
#[inline(always)]
pub(crate) unsafe fn run(
    env: *mut ErlNifEnv,
    argc: c_int,
    argv: *const ErlNifTerm,
    f: fn(Env, &[Term]) -> Reply,
) -> ErlNifTerm {
    // SAFETY: the environment and the terms are those of this call, on whose stack both stay (CALL); the machine passes
    // `argc` terms, which are transparent words.
    let (env, args) = unsafe {
        (
            Env::new(env),
            std::slice::from_raw_parts(argv.cast::<Term>(), argc as usize),
        )
    };
    let term = match catch_unwind(AssertUnwindSafe(|| f(env, args))) {
        Ok(Ok(term)) => term,
        Ok(Err(fail)) => fail.raise(env),
        Err(_) => env.raise(atom::nif_panicked(env)),
    };
    // SAFETY: both are one word, `repr(transparent)`.
    unsafe { std::mem::transmute::<usize, ErlNifTerm>(term.0) }
}

/// The C function that runs a function of this crate.
macro_rules! entry {
    ($function:path) => {{
        /// # Safety
        ///
        /// Called by the machine.
        unsafe extern "C" fn entry(
            env: *mut $crate::machine::ErlNifEnv,
            argc: std::ffi::c_int,
            argv: *const $crate::machine::ErlNifTerm,
        ) -> $crate::machine::ErlNifTerm {
            // SAFETY: forwarded.
            unsafe { $crate::call::run(env, argc, argv, $function) }
        }
        entry
    }};
}
pub(crate) use entry;
