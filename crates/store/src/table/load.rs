//! Loading many objects.

use fyris_term::key::KeyBuf;
use fyris_term::{Atom, Term, value};

use super::Table;
use crate::body::with_body;
use crate::error::{Error, Result};
use crate::record::Scratch;

/// Builds objects element by element and inserts them: the path for dumps and imports, which makes
/// no tuple of terms on the way.
///
/// Each object is inserted as [`Table::insert`] would, at [`Loader::end`].
///
/// ```
/// # use fyris::{Options, Store};
/// # let store = Store::new();
/// # let owner = store.owner();
/// # let table = owner.new_table("t", &Options::set())?;
/// let mut loader = table.loader();
/// for i in 0..100 {
///     loader.begin(2)?;
///     loader.int(i);
///     loader.binary(b"value");
///     loader.end()?;
/// }
/// assert_eq!(table.len(), 100);
/// # Ok::<(), fyris::Error>(())
/// ```
pub struct Loader<'t> {
    table: &'t Table,
    scratch: Scratch,
    arity: usize,
    /// The element that comes next, from 1.
    next: usize,
    /// Whether an element was nested too deep: said at the end.
    too_deep: bool,
}

impl Table {
    /// A loader for this table.
    pub fn loader(&self) -> Loader<'_> {
        Loader {
            table: self,
            scratch: Scratch::default(),
            arity: 0,
            next: 1,
            too_deep: false,
        }
    }
}

impl Loader<'_> {
    /// Begins an object of `arity` elements; one that was begun and not ended is forgotten.
    ///
    /// # Errors
    ///
    /// [`Error::BadKeyPosition`] if it is too short for the table.
    #[inline]
    pub fn begin(&mut self, arity: usize) -> Result<()> {
        let keypos = self.table.keypos();
        if arity < keypos {
            return Err(Error::BadKeyPosition { keypos, arity });
        }
        self.scratch.values.clear();
        self.scratch.blobs.clear();
        (self.arity, self.next, self.too_deep) = (arity, 1, false);
        Ok(())
    }

    /// The next element: an integer.
    #[inline]
    pub fn int(&mut self, element: i64) {
        if self.is_key() {
            self.scratch.key.set_int(element);
        } else {
            self.value(&Term::Int(element));
        }
    }

    /// The next element: an atom.
    pub fn atom(&mut self, element: Atom) {
        self.term(&Term::Atom(element));
    }

    /// The next element: a binary.
    pub fn binary(&mut self, element: &[u8]) {
        if self.is_key() {
            self.scratch.key.set_binary(element);
        } else {
            self.value(&Term::binary(element));
        }
    }

    /// The next element.
    pub fn term(&mut self, element: &Term) {
        if self.is_key() {
            KeyBuf::encode_into(element, &mut self.scratch.key);
        } else {
            self.value(element);
        }
    }

    #[inline]
    fn is_key(&mut self) -> bool {
        self.next += 1;
        self.next - 1 == self.table.keypos()
    }

    fn value(&mut self, element: &Term) {
        let Scratch { values, blobs, .. } = &mut self.scratch;
        self.too_deep |= value::encode(element, values, blobs).is_err();
    }

    /// Inserts the object.
    ///
    /// # Errors
    ///
    /// As [`Table::insert`]; [`Error::BadArgument`] if there were more or fewer elements than `begin` said.
    #[inline]
    pub fn end(&mut self) -> Result<()> {
        if self.next != self.arity + 1 {
            let (given, arity) = (self.next - 1, self.arity);
            return Err(Error::BadArgument(format!(
                "{given} elements for a tuple of {arity}"
            )));
        }
        if self.too_deep {
            return Err(Error::TooDeep);
        }
        self.table.write(|body, pin| {
            let new = self.scratch.finish(self.arity)?;
            with_body!(body, b => b.insert_one(new, pin));
            Ok(())
        })
    }
}
