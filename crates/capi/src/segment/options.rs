//! The options of a checkout, in Erlang's syntax.

use std::ffi::c_char;

use ::fyris_segment::{Options, Tracking};
use ::fyris_term::Term;

use crate::error::Outcome;
use crate::term;

/// What `with` takes.
const KNOWN: &str = "existing, exclusive, read_only, in_place, declared, foreign_writes, one_writer, after_unlink, \
                     {unit,Bytes}, {max_size,Bytes}, {slots,Count}, {history,Bytes}, {lag,Pages}, {mode,Mode}, \
                     {group,Gid}, {tracking,userfault}, {tracking,signal}, {private,Start,End}, \
                     {place,Start,End,Address}, {replace,Start,End,Address}";

/// Reads the list of options.
///
/// # Safety
///
/// TEXT: the options, or null.
pub(crate) unsafe fn options_of(options: *const c_char) -> Outcome<Options> {
    if options.is_null() {
        return Ok(Options::new());
    }
    // SAFETY: TEXT: the options.
    let options = unsafe { term::options(options) }?;
    term::fold_options(options, KNOWN, Options::new(), with)
}

fn with(options: Options, option: &Term) -> Option<Options> {
    match option {
        Term::Atom(word) => with_word(options, word.as_str()),
        Term::Tuple(parts) => match &parts[..] {
            [Term::Atom(word), value] => with_pair(options, word.as_str(), value),
            [Term::Atom(word), from, to] if word.as_str() == "private" => {
                Some(options.private(number(from)?..number(to)?))
            }
            [Term::Atom(word), from, to, address] if word.as_str() == "place" => {
                Some(options.place(number(from)?..number(to)?, number(address)?))
            }
            [Term::Atom(word), from, to, address] if word.as_str() == "replace" => {
                let (range, address) = (number(from)?..number(to)?, number(address)?);
                // SAFETY: REPLACE: the caller knows that nothing there is needed.
                Some(unsafe { options.replace(range, address) })
            }
            _ => None,
        },
        _ => None,
    }
}

fn with_word(options: Options, word: &str) -> Option<Options> {
    Some(match word {
        "read_only" => options.read_only(true),
        "in_place" => options.in_place(true),
        "exclusive" => options.exclusive(true),
        "existing" => options.create(false),
        "declared" => options.declared(),
        "foreign_writes" => options.foreign_writes(true),
        "one_writer" => options.one_writer(true),
        "after_unlink" => options.after_unlink(true),
        _ => return None,
    })
}

fn with_pair(options: Options, word: &str, value: &Term) -> Option<Options> {
    Some(match word {
        "unit" => options.unit(u32::try_from(number(value)?).ok()?),
        "max_size" => options.max_size(number(value)?),
        "slots" => options.slots(number(value)?),
        "history" => options.history(number(value)?),
        "lag" => options.lag(number(value)?),
        "mode" => options.mode(u32::try_from(number(value)?).ok()?),
        "group" => options.group(u32::try_from(number(value)?).ok()?),
        "tracking" => match value {
            Term::Atom(way) => options.tracking(match way.as_str() {
                "auto" => Tracking::Auto,
                "userfault" => Tracking::Userfault,
                "signal" => Tracking::Signal,
                "declared" => Tracking::Declared,
                _ => return None,
            }),
            _ => return None,
        },
        _ => return None,
    })
}

fn number(term: &Term) -> Option<usize> {
    match term {
        Term::Int(number) => usize::try_from(*number).ok(),
        _ => None,
    }
}
