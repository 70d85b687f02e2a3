//! Lookups.

use fyris_index::{Entry, Index};
use fyris_term::Term;
use fyris_term::key::KeyBuf;

use crate::chain;
use crate::key_kind::KeyKind;
use crate::record::{Object, RecordPtr, newest, object};
use crate::slot::{Content, Slot};
use crate::table_data::TableData;

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Returns a record as an object; the caller is pinned for as long as it uses it.
    #[inline]
    pub(crate) fn object<'g>(&self, record: RecordPtr) -> Object<'g> {
        object(record, self.keypos)
    }
}

/// Returns the objects found under a key as terms, in insertion order; the key is the caller's own term where it is the
/// same.
pub(crate) fn terms(
    content: Content,
    keypos: usize,
    key: &KeyBuf,
    term: Option<&Term>,
) -> Vec<Term> {
    let to_term = |object: Object<'_>| match term {
        // In an ordered set the stored key may be `1.0` where the caller asked for `1`.
        Some(term) if object.has_key_bytes(key.bytes()) => object.to_term_with(|| term.clone()),
        _ => object.to_term(),
    };
    if !content.is_chain() {
        return vec![to_term(newest(content, keypos))];
    }
    let records = chain::oldest_first(content).into_iter();
    records
        .map(|record| to_term(object(record, keypos)))
        .collect()
}
