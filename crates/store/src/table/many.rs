//! Looking up many keys at once.

use fyris_sync::reclaim::Pin;
use fyris_term::Term;
use fyris_term::key::KeyBuf;

use super::Table;
use crate::body::with_body;
use crate::error::Result;
use crate::ids::Right;
use crate::keys::AsKey;
use crate::record::{Object, newest};

/// Keys that are on their way from memory at a time.
const GROUP: usize = 16;

impl Table {
    /// The objects with each of the keys, as [`Table::lookup`] for one: in the order of the keys, an empty list
    /// where there is none. Works on every type of table.
    ///
    /// # Consistency
    ///
    /// Each key is looked up at a moment of its own.
    ///
    /// # Errors
    ///
    /// [`crate::Error::NoSuchTable`], [`crate::Error::NoAccess`].
    pub fn lookup_many(&self, keys: &[Term]) -> Result<Vec<Vec<Term>>> {
        self.read(|body, pin| {
            let mut all = Vec::with_capacity(keys.len());
            for group in keys.chunks(GROUP) {
                let bufs: Vec<_> = group.iter().map(KeyBuf::encode).collect();
                with_body!(body, b => b.expect(&bufs, pin));
                let found = group
                    .iter()
                    .zip(&bufs)
                    .map(|(key, buf)| body.lookup(buf, Some(key), pin));
                all.extend(found);
            }
            Ok(all)
        })
    }

    /// As [`Table::get`] for each of the keys, appended in their order, with their memory asked for beforehand.
    /// In the bags the newest object of each key.
    ///
    /// # Errors
    ///
    /// As [`Table::lookup_many`].
    pub fn get_many<'g>(
        &self,
        keys: &[impl AsKey],
        pin: &'g impl Pin,
        out: &mut Vec<Option<Object<'g>>>,
    ) -> Result<()> {
        let body = self.core.body(self.caller, Right::Read, pin)?;
        let already = out.len();
        for group in keys.chunks(GROUP) {
            let bufs: Vec<_> = group.iter().map(|key| key.with(KeyBuf::clone)).collect();
            with_body!(body, b => b.expect(&bufs, pin));
            let found = bufs.iter().map(|buf| body.look_up(buf, pin));
            out.extend(found.map(|c| c.map(|c| newest(c, self.keypos()))));
        }
        self.check_name().inspect_err(|_| out.truncate(already))
    }
}
