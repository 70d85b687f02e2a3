//! Key arguments of maps.

/// A form in which a map with keys `K` can be asked for one of them.
///
/// As with the standard library's maps that is any `Q` with `K: Borrow<Q>`: a map of `String` can be asked with a
/// `str`. A map of byte strings ([`BytesMap`](crate::BytesMap), [`BytesTree`](crate::BytesTree)) can be asked with
/// whatever is bytes: `str`, `String`, `Vec<u8>`, `[u8; N]`, `[u8]`.
///
/// Implemented for all of these, and not meant to be implemented elsewhere.
#[diagnostic::on_unimplemented(
    message = "a map with keys `{K}` cannot be asked with `&{Self}`",
    note = "a map of `K` is asked with `&Q` where `K: Borrow<Q>`, a map of byte strings with `&Q` where `Q: AsRef<[u8]>`"
)]
pub trait AsKey<K: ?Sized> {
    /// The type that is hashed and compared.
    type Key: ?Sized;

    /// Returns the key to look for.
    fn as_key(&self) -> &Self::Key;
}

impl<K: std::borrow::Borrow<Q>, Q: ?Sized> AsKey<K> for Q {
    type Key = Q;

    #[inline]
    fn as_key(&self) -> &Q {
        self
    }
}

impl<Q: AsRef<[u8]> + ?Sized> AsKey<[u8]> for Q {
    type Key = [u8];

    #[inline]
    fn as_key(&self) -> &[u8] {
        self.as_ref()
    }
}
