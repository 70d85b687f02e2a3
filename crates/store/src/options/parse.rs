//! Options as terms.

use std::time::Duration;

use fyris_index::BucketLocks;
use fyris_term::Term;

use super::{Options, WriteConcurrency};
use crate::error::{Error, Result};
use crate::ids::{ProcessId, TableType};
use crate::record::brief;
use crate::secondary::SecondaryIndex;

impl Options {
    /// Reads the option list of `new/2`. `process` says which process a term stands for. O(list).
    ///
    /// # Locks
    ///
    /// For an index with locks the options mean what they mean in ETS (Table 1 of the 2013 paper on its scalability,
    /// section 5.2.1). `linear_hash` has one lock without `write_concurrency`, which has reader groups for
    /// `read_concurrency`; with `{write_concurrency, true}` that lock has reader groups, and there are 64 bucket locks,
    /// which have reader groups for `read_concurrency`; with `auto` as many bucket locks as contention asks for.
    /// `{bucket_locks, N | auto}` sets their number whatever `write_concurrency` is. `avl`, `treap`, `btree` and the
    /// Judy arrays have one lock, with reader groups for `read_concurrency`; `ca_avl` and `ca_treap` one for each base
    /// node, which readers share for `read_concurrency`, in reader groups, and take alone otherwise. `{reader_groups,
    /// N}` is the number of groups of each lock that has them. `{decentralized_counters, _}`, where it is given,
    /// chooses whether these indexes count objects in a place for each thread or in one word. An index passes over what
    /// it has no use for, as `hash` and `ordered` do; but a table is not made with `bucket_locks` or `reader_groups` on
    /// one that has none.
    ///
    /// ```
    /// use fyris::{Options, term};
    ///
    /// let options = Options::parse(&term!([:ordered_set, :public, {:keypos, 2}]), |_| None)?;
    /// assert_eq!(options, Options::ordered_set().public().keypos(2));
    /// let error = Options::parse(&term!([{:keypos, 0}]), |_| None).unwrap_err();
    /// assert!(error.to_string().contains("keypos"));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadOption`], which names the values that the option can have.
    pub fn parse(options: &Term, process: impl Fn(&Term) -> Option<ProcessId>) -> Result<Options> {
        let Term::List(list) = options else {
            return Err(Error::BadOption(format!(
                "list {}: options are a list, like [ordered_set, public]",
                brief(options)
            )));
        };
        let mut parsed = Options::default();
        for option in list {
            parsed = parsed
                .with(option, &process)
                .ok_or_else(|| Error::BadOption(refusal(option)))?;
        }
        Ok(parsed)
    }

    fn with(self, option: &Term, process: &impl Fn(&Term) -> Option<ProcessId>) -> Option<Options> {
        match option {
            Term::Atom(word) => self.with_word(word.as_str()),
            Term::Tuple(parts) => match &parts[..] {
                [Term::Atom(word), value] => self.with_pair(word.as_str(), value, process),
                [Term::Atom(word), heir, data] if word.as_str() == "heir" => {
                    Some(self.heir(process(heir)?, Some(data.clone())))
                }
                [Term::Atom(word), Term::Atom(name), value] if word.as_str() == "secondary" => {
                    let index = SecondaryIndex::new(name.as_str(), value.clone());
                    index.definition().is_ok().then(|| self.secondary(index))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn with_word(self, word: &str) -> Option<Options> {
        let kind = |kind| Options {
            kind,
            ..self.clone()
        };
        Some(match word {
            // Only the defaults: they undo nothing.
            "set" | "protected" => self,
            "ordered_set" => kind(TableType::OrderedSet),
            "bag" => kind(TableType::Bag),
            "duplicate_bag" => kind(TableType::DuplicateBag),
            "public" => self.public(),
            "private" => self.private(),
            "named_table" => self.named(),
            "compressed" => self.compressed(),
            _ => return None,
        })
    }

    fn with_pair(
        self,
        word: &str,
        value: &Term,
        process: &impl Fn(&Term) -> Option<ProcessId>,
    ) -> Option<Options> {
        let none = matches!(value, Term::Atom(a) if a.as_str() == "none");
        Some(match word {
            "keypos" => match value {
                Term::Int(n) if *n >= 1 => self.keypos(usize::try_from(*n).ok()?),
                _ => return None,
            },
            "heir" if none => Options { heir: None, ..self },
            "heir" => self.heir(process(value)?, None),
            "owner" if none => self.unowned(),
            "index" => match value {
                Term::Atom(name) => self.index(name.as_str()),
                #[cfg(feature = "indexes")]
                Term::Tuple(parts) => match &parts[..] {
                    [Term::Atom(word), path] if word.as_str() == "library" => {
                        self.library_index(&text(path)?)
                    }
                    _ => return None,
                },
                _ => return None,
            },
            "write_concurrency" => {
                let (concurrency, debug_locks) = concurrency(value)?;
                Options {
                    debug_locks,
                    ..self.write_concurrency(concurrency)
                }
            }
            "bucket_locks" => self.bucket_locks(bucket_locks(value)?),
            "reader_groups" => match value {
                Term::Int(groups @ 1..=64) => self.reader_groups(usize::try_from(*groups).ok()?),
                _ => return None,
            },
            "read_concurrency" => self.read_concurrency(boolean(value)?),
            "decentralized_counters" => self.decentralized_counters(boolean(value)?),
            "consistent" => self.consistent(boolean(value)?),
            "snapshot_ttl" => self.snapshot_ttl(age(value)?),
            _ => return None,
        })
    }
}

/// The options that are pairs, and their values.
const VALUES: [(&str, &str); 12] = [
    ("keypos", "a position from 1"),
    ("heir", "none, or a process and its data"),
    ("owner", "none"),
    ("index", "the name of an index, or {library, Path}"),
    ("write_concurrency", "true, false or auto"),
    ("read_concurrency", "true or false"),
    ("decentralized_counters", "true or false"),
    ("consistent", "true or false"),
    ("snapshot_ttl", "milliseconds from 1, or infinity"),
    ("bucket_locks", "a power of two from 1 to 32768, or auto"),
    ("reader_groups", "a number from 1 to 64"),
    (
        "secondary",
        "a name, and {element, Position}, {path, [Position, Step, ...]} or {body, Expressions}, those of a body of a \
         match specification, or {unique, one of these}",
    ),
];

/// Returns an option that is none, and what would be one in its place.
pub(super) fn refusal(option: &Term) -> String {
    let name = match option {
        Term::Tuple(parts) => match parts.first() {
            Some(Term::Atom(name)) => Some(name.as_str()),
            _ => None,
        },
        _ => None,
    };
    let known = VALUES.iter().find(|(known, _)| Some(*known) == name);
    let valid = match known {
        Some((name, values)) => format!("{name} is {values}"),
        None => {
            let pairs: Vec<_> = VALUES
                .iter()
                .map(|(name, _)| format!("{{{name},_}}"))
                .collect();
            format!(
                "options are set, ordered_set, bag, duplicate_bag, public, protected, private, named_table, \
                 compressed, {}",
                pairs.join(", ")
            )
        }
    };
    format!("{}: {valid}", brief(option))
}

/// Parses the value of `{bucket_locks, _}`.
fn bucket_locks(value: &Term) -> Option<BucketLocks> {
    match value {
        Term::Atom(word) if word.as_str() == "auto" => Some(BucketLocks::Auto),
        Term::Int(locks) => Some(BucketLocks::Fixed(usize::try_from(*locks).ok()?))
            .filter(|_| *locks <= BucketLocks::MOST as i64 && locks.count_ones() == 1),
        _ => None,
    }
}

/// Parses the value of `{write_concurrency, _}`, and the locks if it has their number.
fn concurrency(value: &Term) -> Option<(WriteConcurrency, Option<BucketLocks>)> {
    let (concurrency, locks) = match value {
        Term::Atom(word) => match word.as_str() {
            "false" => (WriteConcurrency::Off, None),
            "true" => (WriteConcurrency::On, None),
            "auto" => (WriteConcurrency::Auto, None),
            _ => return None,
        },
        Term::Tuple(parts) => match &parts[..] {
            [Term::Atom(word), Term::Int(locks @ 1..=32768)]
                if word.as_str() == "debug_hash_fixed_number_of_locks" =>
            {
                let locks = usize::try_from(*locks).ok()?.next_power_of_two();
                (WriteConcurrency::On, Some(BucketLocks::Fixed(locks)))
            }
            _ => return None,
        },
        _ => return None,
    };
    Some((concurrency, locks))
}

/// Returns the text that a list of characters or a binary of UTF-8 is.
#[cfg(feature = "indexes")]
fn text(value: &Term) -> Option<String> {
    match value {
        Term::List(list) => {
            let character = |term: &Term| match term {
                Term::Int(code) => char::from_u32(u32::try_from(*code).ok()?),
                _ => None,
            };
            list.iter().map(character).collect()
        }
        Term::Binary(bytes) => String::from_utf8(bytes.to_vec()).ok(),
        _ => None,
    }
}

/// Parses a number of milliseconds, or `infinity`.
fn age(value: &Term) -> Option<Option<Duration>> {
    match value {
        Term::Int(ms @ 1..) => Some(Some(Duration::from_millis(*ms as u64))),
        Term::Atom(word) if word.as_str() == "infinity" => Some(None),
        _ => None,
    }
}

fn boolean(value: &Term) -> Option<bool> {
    match value {
        Term::Atom(word) => match word.as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        },
        _ => None,
    }
}
