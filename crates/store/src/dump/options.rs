//! The options of saving and loading, as Rust values and as the lists of `ets:tab2file/3` and
//! `ets:file2tab/2`.

use fyris_term::{Atom, Term};

use super::DumpError;

/// The largest object that is read unless asked otherwise, in bytes of the dump.
pub const MAX_OBJECT: u32 = 512 << 20;

/// The most bytes of memory that compressed objects may take unless asked otherwise: see [`LoadOptions::max_inflated`].
pub const MAX_INFLATED: u64 = 64 << 20;

/// Options for writing a dump. The default has no extended information, as that of `ets:tab2file/2`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaveOptions {
    /// Write the number of objects at the end.
    pub object_count: bool,
    /// Write an MD5 of everything at the end.
    pub md5sum: bool,
    /// Make sure that the dump is on the disk before it takes its name.
    pub sync: bool,
    /// What the writer wants to be known of the elements of the objects, such as their names: a term of its own, which
    /// [`Loaded::columns`](super::Loaded) gives back. OTP and Fyris pass over it.
    pub columns: Option<Term>,
}

impl SaveOptions {
    /// Reads `[{extended_info, [object_count | md5sum]} | {sync, boolean()}]`.
    ///
    /// ```
    /// use fyris::dump::SaveOptions;
    /// use fyris::term;
    ///
    /// let options = SaveOptions::from_term(&term!([{:extended_info, [:md5sum]}, {:sync, true}]))?;
    /// assert!(options.md5sum && options.sync && !options.object_count);
    /// # Ok::<(), fyris::dump::DumpError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DumpError::UnknownOption`], [`DumpError::MalformedOption`].
    pub fn from_term(options: &Term) -> Result<SaveOptions, DumpError> {
        let mut result = SaveOptions::default();
        let mut extended = false;
        for option in list(options)? {
            match named(option) {
                // As in OTP, a later `false` does not undo an earlier `true`.
                Some(("sync", Term::Atom(on))) if on.as_str() == "true" => result.sync = true,
                Some(("sync", Term::Atom(off))) if off.as_str() == "false" => {}
                Some(("extended_info", infos)) if !extended => {
                    extended = true;
                    result.extend(infos)?;
                }
                _ => return Err(DumpError::UnknownOption(option.clone())),
            }
        }
        Ok(result)
    }

    fn extend(&mut self, infos: &Term) -> Result<(), DumpError> {
        for info in list(infos)? {
            match info {
                Term::Atom(name) if name.as_str() == "object_count" => self.object_count = true,
                Term::Atom(name) if name.as_str() == "md5sum" => self.md5sum = true,
                other => {
                    let inner = Term::list(vec![other.clone()]);
                    let option = Term::tuple(vec![Term::atom("extended_info"), inner]);
                    return Err(DumpError::UnknownOption(Term::list(vec![option])));
                }
            }
        }
        Ok(())
    }

    /// Returns the list under `extended_info` in a dump.
    pub(super) fn extended_info(&self) -> Term {
        let count = self.object_count.then(|| Term::atom("object_count"));
        let sum = self.md5sum.then(|| Term::atom("md5sum"));
        Term::List(count.into_iter().chain(sum).collect())
    }
}

/// Options for reading a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// Refuse the dump unless every byte of it is as it was written, as far as the dump allows to tell:
    /// no damage, the number of objects, the MD5. Without it as much is loaded as can be read, and
    /// [`Loaded::damage`](super::Loaded) tells what could not.
    pub verify: bool,
    /// The largest object accepted, in bytes of the dump ([`MAX_OBJECT`]); it bounds the memory that
    /// reading takes.
    pub max_object: u32,
    /// Sets the number of bytes of memory that all compressed objects together may take, beyond 32 for each byte of the
    /// dump ([`MAX_INFLATED`]): what they inflate to, and their elements as terms. An object for which there is no room
    /// any more is damage. OTP and Fyris write no compressed objects.
    pub max_inflated: u64,
    /// The name of the table, in place of the one in the dump.
    pub name: Option<Atom>,
}

impl Default for LoadOptions {
    fn default() -> LoadOptions {
        LoadOptions {
            verify: false,
            max_object: MAX_OBJECT,
            max_inflated: MAX_INFLATED,
            name: None,
        }
    }
}

impl LoadOptions {
    /// Returns the default, but verifying.
    ///
    /// ```
    /// assert!(fyris::dump::LoadOptions::verified().verify);
    /// ```
    pub fn verified() -> LoadOptions {
        LoadOptions {
            verify: true,
            ..LoadOptions::default()
        }
    }

    /// Reads `[{verify, boolean()}]`.
    ///
    /// ```
    /// use fyris::dump::LoadOptions;
    /// use fyris::term;
    ///
    /// assert_eq!(LoadOptions::from_term(&term!([{:verify, true}]))?, LoadOptions::verified());
    /// assert!(LoadOptions::from_term(&term!([{:verify, :maybe}])).is_err());
    /// # Ok::<(), fyris::dump::DumpError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DumpError::UnknownOption`], [`DumpError::MalformedOption`].
    pub fn from_term(options: &Term) -> Result<LoadOptions, DumpError> {
        let mut result = LoadOptions::default();
        for option in list(options)? {
            match named(option) {
                // As in OTP, a later `false` does not undo an earlier `true`.
                Some(("verify", Term::Atom(on))) if on.as_str() == "true" => result.verify = true,
                Some(("verify", Term::Atom(off))) if off.as_str() == "false" => {}
                _ => return Err(DumpError::UnknownOption(option.clone())),
            }
        }
        Ok(result)
    }
}

fn list(term: &Term) -> Result<&[Term], DumpError> {
    match term {
        Term::List(items) => Ok(items),
        other => Err(DumpError::MalformedOption(other.clone())),
    }
}

/// Returns the name and value of a pair `{name, Value}`.
fn named(option: &Term) -> Option<(&'static str, &Term)> {
    match option {
        Term::Tuple(pair) => match &pair[..] {
            [Term::Atom(name), value] => Some((name.as_str(), value)),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(name: &str, value: Term) -> Term {
        Term::tuple(vec![Term::atom(name), value])
    }

    #[test]
    fn lists_of_options() {
        let infos = Term::list(vec![Term::atom("md5sum"), Term::atom("object_count")]);
        let on = option("sync", Term::atom("true"));
        let off = option("sync", Term::atom("false"));
        let all = Term::list(vec![option("extended_info", infos), on, off]);
        let options = SaveOptions::from_term(&all).unwrap();
        assert_eq!(
            options,
            SaveOptions {
                object_count: true,
                md5sum: true,
                sync: true,
                columns: None
            }
        );
        let verify = Term::list(vec![option("verify", Term::atom("true"))]);
        assert_eq!(
            LoadOptions::from_term(&verify).unwrap(),
            LoadOptions::verified()
        );
    }

    #[test]
    fn bad_options_are_named() {
        let sync = option("sync", Term::Int(1));
        let bad = SaveOptions::from_term(&Term::list(vec![sync.clone()])).unwrap_err();
        assert_eq!(
            bad.reason(),
            Term::tuple(vec![Term::atom("unknown_option"), sync])
        );
        let tail = LoadOptions::from_term(&Term::atom("verify")).unwrap_err();
        assert!(matches!(tail, DumpError::MalformedOption(_)));
    }
}
