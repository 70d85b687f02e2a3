//! The items of a dump in the light of its description: objects, the end mark, damage.
//!
//! # Verifying and salvaging
//!
//! A verifying reader stops at the first thing that is not as it was written. A salvaging one passes
//! over it, goes on at the next item that can be found, and keeps account ([`Salvage`]). OTP's own
//! reader without `{verify, true}` does the same in principle, but stops in silence after a hundred
//! damaged bytes in a row or a size beyond the end of the file; this one goes on to the end of the file.
//!
//! # The end mark
//!
//! With extended information the last item is `['$end_of_table', [{count, N}, {md5, Sum}]]`, with
//! those of the two pairs that the description promises. The sum is the MD5 of the payloads of all
//! items before it, the description included. An object is a tuple, so that no object can be taken
//! for an end mark.

use std::io::Read;
use std::path::Path;

use fyris_files::Inflated;
use fyris_files::disk_log::{Item, LogError, LogReader};
use fyris_term::Term;
use fyris_term::etf::{self, DecodeError, InflateBudget, VERSION};
use md5::{Digest, Md5};

use super::header::{Header, named, other_log};
use super::{Damage, DumpError, LoadOptions};
use crate::Error;
use crate::record::brief;

/// Tag of a list in the external format.
const LIST_TAG: u8 = 108;
/// Tag of a compressed term in the external format.
const COMPRESSED_TAG: u8 = 80;

/// Bytes of memory that a compressed end mark may take, which holds two numbers.
const END_MARK: u64 = 64 << 10;

/// The parts that a salvaging reader had to leave out.
#[derive(Debug, Default)]
pub struct Salvage {
    /// Bytes that belong to no item that could be read.
    pub bytes: u64,
    /// Objects that could not be decoded, or that the table did not take.
    pub objects: u64,
    /// The first damage met.
    pub first: Option<Damage>,
    /// Does the dump lack the end it should have (by its end mark, or its number of objects)?
    pub incomplete: bool,
}

impl Salvage {
    /// Was everything there?
    pub fn is_empty(&self) -> bool {
        self.first.is_none() && !self.incomplete
    }

    fn note(&mut self, damage: Damage) {
        self.first.get_or_insert(damage);
    }
}

/// The content of the end mark.
struct Footer {
    offset: u64,
    info: Vec<Term>,
    /// It is an end mark, but what should say something is no list. `ets:file2tab` raises `badarg` for it.
    spoilt: bool,
}

/// Reads the objects of a dump, as bytes, in order.
pub(super) struct Objects<'p, R> {
    log: LogReader<R>,
    path: &'p Path,
    header: Header,
    verify: bool,
    sum: Option<Md5>,
    count: u64,
    footer: Option<Footer>,
    inflated: Inflated,
    /// The first object that does not decode, in a dump with an MD5.
    spoilt: Option<Damage>,
    salvage: Salvage,
}

impl<'p, R: Read> Objects<'p, R> {
    /// Reads as far as the description of the table. `path` is for messages, `length` that of the input
    /// in bytes, where known.
    pub(super) fn new(
        input: R,
        length: Option<u64>,
        path: &'p Path,
        options: &LoadOptions,
    ) -> Result<Self, DumpError> {
        let wrap = |error| DumpError::reading(path, error);
        let mut log = LogReader::new(input, length, options.max_object).map_err(wrap)?;
        if !log.advance().map_err(wrap)? {
            let why = "the file has no content".into();
            return Err(Damage::Header {
                offset: log.offset(),
                why,
            }
            .into());
        }
        let item = log.item();
        let mut inflated = Inflated::new(options.max_inflated);
        let decoded = inflated.decode(item.bytes, log.offset());
        let (term, _) = decoded.map_err(|source| Damage::Term {
            offset: item.offset,
            source,
            summed: false,
        })?;
        if let Some(what) = other_log(&term) {
            return Err(DumpError::OtherLog {
                path: path.to_path_buf(),
                what,
                offset: item.offset,
            });
        }
        let header = Header::new(term, item.offset)?;
        let sums = options.verify && header.promises("md5sum");
        let sum = sums.then(|| Md5::new_with_prefix(item.bytes));
        Ok(Objects {
            log,
            path,
            header,
            verify: options.verify,
            sum,
            count: 0,
            footer: None,
            inflated,
            spoilt: None,
            salvage: Salvage::default(),
        })
    }

    /// Returns the description of the table.
    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the number of bytes of the file consumed so far.
    pub(super) fn offset(&self) -> u64 {
        self.log.offset()
    }

    /// Returns the length of the file in bytes, where known.
    pub(super) fn length(&self) -> Option<u64> {
        self.log.length()
    }

    /// Returns the number of objects met so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Moves to the next object, which [`Objects::object`] then shows; false at the end of the dump.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<bool, DumpError> {
        loop {
            match self.log.advance() {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) => {
                    self.damaged_log(error)?;
                    continue;
                }
            }
            if may_be_footer(self.log.item().bytes) && self.at_footer() {
                self.end()?;
                return Ok(false);
            }
            if let Some(sum) = &mut self.sum {
                // The seeded bug sums up the description only.
                if cfg!(not(fyris_mutant = "dump_sum_skips_objects")) {
                    sum.update(self.log.item().bytes);
                }
            }
            self.count += 1;
            return Ok(true);
        }
    }

    /// Returns the object that [`Objects::advance`] moved to.
    #[inline]
    pub(super) fn object(&self) -> Item<'_> {
        self.log.item()
    }

    /// Returns the object as a term.
    #[cold]
    pub(super) fn decode(&mut self) -> Result<Term, DecodeError> {
        let decoded = self
            .inflated
            .decode(self.log.item().bytes, self.log.offset());
        decoded.map(|(object, _)| object)
    }

    /// Returns the error of a present object that does not decode, or notes it when salvaging. In a dump with an MD5
    /// the error has to wait for the end: only if there is an end mark it is a matter of the sum.
    #[cold]
    pub(super) fn undecodable(&mut self, source: DecodeError) -> Result<(), DumpError> {
        let damage = Damage::Term {
            offset: self.log.item().offset,
            source,
            summed: false,
        };
        if self.sum.is_some() {
            self.spoilt.get_or_insert(damage);
            return Ok(());
        }
        if self.verify {
            return Err(damage.into());
        }
        self.salvage.objects += 1;
        self.salvage.note(damage);
        Ok(())
    }

    /// Returns the error of a present object that the table does not take, or notes it when salvaging.
    #[cold]
    pub(super) fn unacceptable(&mut self, error: Error) -> Result<(), DumpError> {
        let offset = self.log.item().offset;
        match error {
            Error::NoSuchTable(_) | Error::NoAccess { .. } => Err(error.into()),
            error if self.verify => Err(DumpError::BadObject {
                offset,
                source: Box::new(error),
            }),
            error => {
                self.salvage.objects += 1;
                self.salvage.note(Damage::Object {
                    offset,
                    why: Box::new(error),
                });
                Ok(())
            }
        }
    }

    /// Checks the dump's end mark after all objects are read; returns what was left out.
    pub(super) fn finish(mut self) -> Result<Salvage, DumpError> {
        if let Some(Footer {
            offset,
            spoilt: true,
            ..
        }) = self.footer
        {
            let why = "the end mark has no list of what it says";
            let damage = Damage::Footer { offset, why };
            if self.verify {
                return Err(damage.into());
            }
            self.salvage.note(damage);
        }
        match self.verify {
            true => self.verify_end()?,
            false => {
                let promised = ["object_count", "md5sum"]
                    .iter()
                    .any(|i| self.header.promises(i));
                let counted = self.header.get("size") == Some(&count_term(self.count));
                self.salvage.incomplete = match &self.footer {
                    Some(footer) => footer
                        .get("count")
                        .is_some_and(|n| *n != count_term(self.count)),
                    None => promised || !counted,
                };
            }
        }
        Ok(self.salvage)
    }

    fn verify_end(&mut self) -> Result<(), DumpError> {
        let counts = self.header.promises("object_count");
        let sum = self.sum.take();
        if (counts || sum.is_some()) && self.footer.is_none() {
            let offset = self.offset();
            let why = "the end mark that the dump promises is missing";
            return Err(self
                .spoilt
                .take()
                .unwrap_or(Damage::Footer { offset, why })
                .into());
        }
        let spoilt = self.spoilt.take();
        let offset = self.footer.as_ref().map_or(self.offset(), |f| f.offset);
        let said = |name| self.footer.as_ref().and_then(|f| f.get(name));
        let no_sum = sum.is_none();
        if let Some(sum) = sum {
            let found: [u8; 16] = sum.finalize().into();
            let expected = said("md5");
            if let Some(damage) = spoilt {
                return Err(damage.summed().into());
            }
            if !matches!(expected, Some(Term::Binary(bytes)) if **bytes == found) {
                return Err(DumpError::Checksum {
                    expected: show(expected),
                    found,
                    offset,
                });
            }
        }
        self.check_promises(offset)?;
        let expected = match counts {
            true => said("count"),
            // As in OTP, an MD5 alone makes the number in the description irrelevant: it was true when
            // the dump began, and the table may have changed meanwhile.
            false if no_sum => self.header.get("size"),
            false => return Ok(()),
        };
        if expected != Some(&count_term(self.count)) {
            let (expected, found) = (show(expected), self.count);
            return Err(DumpError::ObjectCount {
                expected,
                found,
                offset,
            });
        }
        Ok(())
    }

    /// Refuses an end mark that says more than the description has promised: the promise was damaged.
    fn check_promises(&self, offset: u64) -> Result<(), DumpError> {
        let Some(footer) = &self.footer else {
            return Ok(());
        };
        for (item, promise) in [("count", "object_count"), ("md5", "md5sum")] {
            if footer.get(item).is_some() && !self.header.promises(promise) {
                let why = "the end mark says what the description does not promise";
                return Err(Damage::Footer { offset, why }.into());
            }
        }
        Ok(())
    }

    /// Returns the error of a log that is damaged here; when salvaging, notes it and moves on to the next item.
    #[cold]
    fn damaged_log(&mut self, error: LogError) -> Result<(), DumpError> {
        if self.verify || !error.is_damage() {
            return Err(DumpError::reading(self.path, error));
        }
        self.salvage.note(Damage::Log(error));
        self.salvage.bytes += self.resync()?;
        Ok(())
    }

    fn resync(&mut self) -> Result<u64, DumpError> {
        self.log
            .resync()
            .map_err(|error| DumpError::reading(self.path, error))
    }

    /// Returns whether the present item is the end mark; if so, keeps it.
    #[cold]
    fn at_footer(&mut self) -> bool {
        let item = self.log.item();
        // An item that is no end mark is decoded again, and counted then.
        let mut budget = InflateBudget::new(END_MARK);
        let mark = etf::decode_prefix_within(item.bytes, &mut budget);
        let Ok((Term::List(mut mark), _)) = mark else {
            return false;
        };
        let is_mark = matches!(&mark[..], [Term::Atom(tag), _] if tag.as_str() == "$end_of_table");
        if is_mark {
            let (info, spoilt) = match mark.pop() {
                Some(Term::List(info)) => (info.into_vec(), false),
                _ => (Vec::new(), true),
            };
            self.footer = Some(Footer {
                offset: item.offset,
                info,
                spoilt,
            });
        }
        is_mark
    }

    /// Refuses, or notes when salvaging, anything that follows the end mark.
    fn end(&mut self) -> Result<(), DumpError> {
        let offset = self.offset();
        let more = match self.log.advance() {
            Ok(more) => more,
            Err(error) if error.is_damage() => true,
            Err(error) => return Err(DumpError::reading(self.path, error)),
        };
        match more {
            true if self.verify => Err(Damage::Trailing { offset }.into()),
            true => {
                self.salvage.note(Damage::Trailing { offset });
                Ok(())
            }
            false => Ok(()),
        }
    }
}

impl Footer {
    fn get(&self, name: &str) -> Option<&Term> {
        self.info.iter().find_map(|pair| named(pair, name))
    }
}

/// Returns whether the term begins as an end mark may: as a list or as a compressed term.
#[inline]
fn may_be_footer(bytes: &[u8]) -> bool {
    matches!(bytes, [VERSION, LIST_TAG | COMPRESSED_TAG, ..])
}

fn count_term(count: u64) -> Term {
    Term::integer(count)
}

fn show(term: Option<&Term>) -> String {
    term.map_or_else(|| "nothing".to_owned(), brief)
}
