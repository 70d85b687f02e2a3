//! Equality of values without decoding them.

use crate::Blob;

use super::decode::decode;
use super::reader::ValueReader;
use super::skip::token;
use super::tag;

/// Returns whether two runs of values are `=:=` term by term. One comparison of bytes, and of what the blobs hold.
///
/// Each run was encoded with a blob list that was empty before it (or both with lists equally long). Only if the bytes
/// first differ inside a closure or a reference are terms looked at, since equality overlooks a part of these.
pub fn equal(a: &[u8], a_blobs: &[Blob], b: &[u8], b_blobs: &[Blob]) -> bool {
    if a == b {
        return same_blobs(a_blobs, b_blobs);
    }
    differ_in_identity(a, b) && equal_terms(a, a_blobs, b, b_blobs)
}

fn same_blobs(a: &[Blob], b: &[Blob]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Blob::ptr_eq(a, b) || a == b)
}

/// Returns whether the first difference lies in a closure's own bytes or in a reference. Up to there the bytes are
/// equal, and so are the terms (CANONICAL_VALUE); anywhere else it makes them different.
fn differ_in_identity(a: &[u8], b: &[u8]) -> bool {
    let first = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let mut reader = ValueReader { left: a };
    while let Some(&tag) = reader.left.first() {
        if token(&mut reader).is_err() {
            return false;
        }
        if a.len() - reader.left.len() > first {
            return matches!(tag, tag::FUN_LOCAL | tag::REFERENCE);
        }
    }
    false
}

/// Compares the decoded terms: slow, and always right.
#[cold]
fn equal_terms(a: &[u8], a_blobs: &[Blob], b: &[u8], b_blobs: &[Blob]) -> bool {
    let (mut a, mut b) = (a, b);
    while !a.is_empty() && !b.is_empty() {
        match (decode(&mut a, a_blobs), decode(&mut b, b_blobs)) {
            (Ok(x), Ok(y)) if x == y => {}
            _ => return false,
        }
    }
    a.is_empty() && b.is_empty()
}
