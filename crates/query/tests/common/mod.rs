//! Objects in stored form.

use fyris_query::ObjectView;
use fyris_term::key::KeyBuf;
use fyris_term::{Blob, Term, value};

/// A stored object that owns its bytes.
pub(crate) struct Stored {
    arity: usize,
    keypos: usize,
    key: KeyBuf,
    values: Vec<u8>,
    blobs: Vec<Blob>,
}

impl Stored {
    /// Encodes a tuple.
    pub(crate) fn new(object: &Term, keypos: usize) -> Stored {
        let elements = object.as_tuple().expect("a tuple");
        let (mut values, mut blobs) = (Vec::new(), Vec::new());
        for (i, element) in elements.iter().enumerate() {
            if i + 1 != keypos {
                value::encode(element, &mut values, &mut blobs);
            }
        }
        Stored {
            arity: elements.len(),
            keypos,
            key: KeyBuf::encode(&elements[keypos - 1]),
            values,
            blobs,
        }
    }

    /// Returns the view that the query engine reads.
    pub(crate) fn view(&self) -> ObjectView<'_> {
        ObjectView {
            arity: self.arity,
            keypos: self.keypos,
            key_order: self.key.order(),
            key_tail: &self.key.stored()[self.key.order_len()..],
            values: &self.values,
            blobs: &self.blobs,
        }
    }

    /// Returns the key.
    #[allow(dead_code, reason = "not every test looks at keys")]
    pub(crate) fn key(&self) -> &KeyBuf {
        &self.key
    }
}
