//! Types that fit into one machine word.

/// A value that is one 64-bit word: keys and values of an [`InlineMap`](super::InlineMap).
///
/// # Safety
///
/// `from_word(x.into_word())` is `x`, and equal keys give equal words and unequal keys unequal ones.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not one word, as the keys and values of an `InlineMap` are",
    label = "no `Word`",
    note = "an `InlineMap` keeps integers, `bool` and `char`, and `f64` and `()` as values: texts and byte strings as \
            keys go into a `BytesMap`, all else into a `ConcurrentMap`"
)]
pub unsafe trait Word: Copy + Send + Sync + 'static {
    /// Returns the value as a word.
    fn into_word(self) -> u64;

    /// Returns the value of a word of [`Word::into_word`].
    ///
    /// # Safety
    ///
    /// `word` comes from `into_word`.
    unsafe fn from_word(word: u64) -> Self;
}

macro_rules! integers {
    ($($int:ty),*) => {$(
        // SAFETY: at most 64 bits; widening and narrowing give the same number back.
        unsafe impl Word for $int {
            #[inline]
            fn into_word(self) -> u64 {
                self as u64
            }
            #[inline]
            unsafe fn from_word(word: u64) -> Self {
                word as $int
            }
        }
    )*};
}
integers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

// SAFETY: 0 and 1.
unsafe impl Word for bool {
    #[inline]
    fn into_word(self) -> u64 {
        u64::from(self)
    }
    #[inline]
    unsafe fn from_word(word: u64) -> Self {
        word != 0
    }
}

// SAFETY: the one value.
unsafe impl Word for () {
    #[inline]
    fn into_word(self) -> u64 {
        0
    }
    #[inline]
    unsafe fn from_word(_: u64) -> Self {}
}

// SAFETY: the code point there and back.
unsafe impl Word for char {
    #[inline]
    fn into_word(self) -> u64 {
        u64::from(u32::from(self))
    }
    #[inline]
    unsafe fn from_word(word: u64) -> Self {
        // SAFETY: by the caller's contract it is the code point of a `char`.
        unsafe { char::from_u32_unchecked(word as u32) }
    }
}

// SAFETY: the bits there and back. (A float is not `Eq`, so it can only be a value.)
unsafe impl Word for f64 {
    #[inline]
    fn into_word(self) -> u64 {
        self.to_bits()
    }
    #[inline]
    unsafe fn from_word(word: u64) -> Self {
        Self::from_bits(word)
    }
}
