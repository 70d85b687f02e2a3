use proptest::prelude::*;

use super::*;

#[repr(align(64))]
#[derive(Debug, Clone)]
struct Page([u64; WORDS]);

impl Page {
    fn ptr(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }

    fn mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

fn pages() -> impl Strategy<Value = (Page, Page)> {
    let edits = prop::collection::vec((0..WORDS, any::<u64>()), 0..40);
    (any::<u64>(), edits).prop_map(|(fill, edits)| {
        let base = Page([fill; WORDS]);
        let mut local = base.clone();
        edits.into_iter().for_each(|(at, v)| local.0[at] = v);
        (local, base)
    })
}

proptest! {
    #[test]
    fn every_kind_of_register_finds_the_same((local, base) in pages()) {
        let mut out = Page([7; WORDS]);
        let mut plain = Page([9; WORDS]);
        // SAFETY: whole aligned pages of this test's own.
        let (fast, slow, only) = unsafe {
            (
                diff_copy(local.ptr(), base.ptr(), out.mut_ptr(), [std::ptr::null(); 2]),
                scalar::diff_copy(local.ptr(), base.ptr(), plain.mut_ptr(), [std::ptr::null(); 2]),
                diff(local.ptr(), base.ptr()),
            )
        };
        prop_assert_eq!(fast, slow);
        prop_assert_eq!(only, slow);
        prop_assert_eq!(fast.count(), scalar::count(&slow));
        prop_assert_eq!(out.0, local.0);
        prop_assert_eq!(plain.0, local.0);
        let set: Vec<usize> = (0..WORDS).filter(|&w| local.0[w] != base.0[w]).collect();
        prop_assert_eq!(fast.iter().collect::<Vec<_>>(), set);
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above, and the processor has AVX2.
            unsafe {
                prop_assert_eq!(simd::diff_copy_256(local.ptr(), base.ptr(), out.mut_ptr(), [base.ptr(); 2]), slow);
                prop_assert_eq!(simd::diff_256(local.ptr(), base.ptr()), slow);
                simd::copy_256(base.ptr(), out.mut_ptr(), [local.ptr(); 2]);
            }
            prop_assert_eq!(out.0, base.0);
        }
    }

    #[test]
    fn every_kind_of_register_merges_the_same((local, base) in pages(), edits in prop::collection::vec((0..WORDS, 0..3u64), 0..300)) {
        let mut incoming = base.clone();
        edits.into_iter().for_each(|(at, value)| incoming.0[at] = value);
        let (mut fast, mut slow) = (Page([0; WORDS]), Page([1; WORDS]));
        // SAFETY: whole aligned pages of this test's own.
        let conflicts = unsafe {
            let (l, b, i) = (local.ptr(), base.ptr(), incoming.ptr());
            (merge(l, b, i, fast.mut_ptr()), scalar::merge(l, b, i, slow.mut_ptr()))
        };
        prop_assert_eq!(conflicts.0, conflicts.1);
        prop_assert_eq!(fast.0, slow.0);
        for at in 0..WORDS {
            let want = if local.0[at] == base.0[at] { incoming.0[at] } else { local.0[at] };
            prop_assert_eq!(fast.0[at], want);
        }
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above, and the processor has AVX2.
            let again = unsafe { simd::merge_256(local.ptr(), base.ptr(), incoming.ptr(), slow.mut_ptr()) };
            prop_assert_eq!((again, slow.0), (conflicts.0, fast.0));
        }
    }

    #[test]
    fn a_unit_is_spread_to_its_bytes(difference: u64, power in 0u32..3) {
        let bytes = 1usize << power;
        let spread = Unit::new(bytes as u64).unwrap().spread(difference).to_le_bytes();
        for (got, chunk) in spread.chunks(bytes).zip(difference.to_le_bytes().chunks(bytes)) {
            let want = if chunk.iter().any(|&b| b != 0) { 0xff } else { 0 };
            prop_assert!(got.iter().all(|&b| b == want));
        }
    }
}

#[test]
fn wide_units_are_whole() {
    let mut mask = Mask::default();
    mask.set(9);
    let wide = Unit::new(64).unwrap().widen(&mask);
    assert_eq!(wide.iter().collect::<Vec<_>>(), (8..16).collect::<Vec<_>>());
    assert!(Unit::new(3).is_none() && Unit::new(128).is_none() && Unit::new(0).is_none());
}
