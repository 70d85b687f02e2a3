//! Atomic operations of the program itself: instructions in its own file that read and write memory in one step. Each
//! thread does them to its own copy, so who runs such a program is told beforehand.
//!
//! Which bytes are instructions is known for functions: the table by which exceptions find them says where they begin.
//! On x86-64 an exchange with memory needs no LOCK prefix, and does not count: compilers make it of plain stores too.
//! Nor does what is addressed by the stack pointer: so a fence is written.

use std::ops::Range;

use libc::{PF_X, PT_GNU_EH_FRAME, PT_LOAD};

use crate::system::image;

/// Returns the address of the program's first atomic operation. Looks at all of its code.
pub(crate) fn first() -> Option<usize> {
    let mut found = None;
    let mut is_program = true;
    image::each(|info, headers| {
        // The loader begins with the program.
        if std::mem::replace(&mut is_program, false) {
            let part = |header| image::part(info, header);
            let mut code = headers
                .iter()
                .filter(|it| it.p_type == PT_LOAD && it.p_flags & PF_X != 0);
            let table = headers.iter().find(|it| it.p_type == PT_GNU_EH_FRAME);
            found = table.and_then(|table| {
                // SAFETY: the loader has mapped it.
                let table = Functions::read(part(table).start, unsafe { bytes(part(table)) })?;
                code.find_map(|code| first_in(part(code), &table))
            });
        }
    });
    found
}

/// Returns mapped memory.
///
/// # Safety
///
/// It can be read, and does not change.
unsafe fn bytes(range: Range<usize>) -> &'static [u8] {
    let start = std::ptr::with_exposed_provenance(range.start);
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(start, range.len()) }
}

/// Finds the first atomic operation in a part of the code: decodes functions from their beginnings to bytes that may be
/// one.
#[cfg(target_arch = "x86_64")]
fn first_in(code: Range<usize>, functions: &Functions<'_>) -> Option<usize> {
    // SAFETY: code that the loader has mapped.
    let all = unsafe { bytes(code.clone()) };
    let (mut at, mut decoded) = (0, code.start);
    while let Some(next) = find(0xf0, &all[at..]) {
        at += next + 1;
        let address = code.start + at - 1;
        if !may_be_locked(&all[at..]) {
            continue;
        }
        let Some(function) = functions.at(address).filter(|start| code.contains(start)) else {
            continue;
        };
        let start = decoded.max(function);
        let rest = &all[start - code.start..];
        let mut decoder = iced_x86::Decoder::with_ip(64, rest, start as u64, 0);
        while decoder.ip() <= address as u64 && decoder.can_decode() {
            let instruction = decoder.decode();
            if instruction.has_lock_prefix() && instruction.memory_base() != iced_x86::Register::RSP
            {
                return Some(instruction.ip() as usize);
            }
        }
        decoded = decoder.ip() as usize;
    }
    None
}

/// Returns where a byte is first.
#[cfg(target_arch = "x86_64")]
fn find(byte: u8, bytes: &[u8]) -> Option<usize> {
    let start = bytes.as_ptr();
    // SAFETY: looks at these bytes only.
    let found = unsafe { libc::memchr(start.cast(), byte.into(), bytes.len()) };
    (!found.is_null()).then(|| found.addr() - start.addr())
}

/// Returns whether bytes may be the rest of an instruction that begins with a LOCK prefix. Many numbers below 256 look
/// like an addition to the byte that RAX has the address of, which no compiler makes: it is left out.
#[cfg(target_arch = "x86_64")]
fn may_be_locked(bytes: &[u8]) -> bool {
    let is_operation = |byte| {
        matches!(
            byte,
            0x0f | 0x80..=0x83 | 0x86 | 0x87 | 0xf6 | 0xf7 | 0xfe | 0xff
        ) || byte < 0x38 && byte & 7 < 2
    };
    match *bytes {
        [0, 0, ..] => false,
        // Other prefixes come between.
        [0x66 | 0x40..=0x4f, next, ..] => is_operation(next) || matches!(next, 0x40..=0x4f),
        [next, ..] => is_operation(next),
        [] => false,
    }
}

/// Finds the first atomic operation in the functions of a part of the code: an exclusive access, or an operation that
/// is one instruction.
#[cfg(target_arch = "aarch64")]
fn first_in(code: Range<usize>, functions: &Functions<'_>) -> Option<usize> {
    let is_atomic = |word: u32| {
        let is = |mask, value| word & mask == value;
        let is_exclusive = is(0x3f80_0000, 0x0800_0000);
        let is_compare_and_swap = is(0x3fa0_7c00, 0x08a0_7c00);
        // All but LDAPR, a load.
        let is_one = is(0x3f20_0c00, 0x3820_0000) && !is(0x0000_f000, 0x0000_c000);
        is_exclusive || is_compare_and_swap || is_one
    };
    // What is no function's lies before the first and behind the last.
    let count = functions.rows.len() / 8;
    let mut starts = (0..count).map(|at| functions.start(at));
    let first = starts.find(|start| code.contains(start))?;
    // SAFETY: code that the loader has mapped.
    let mut words = unsafe { bytes(first..code.end) }.chunks_exact(4);
    let at = words.position(|word| is_atomic(word.try_into().map_or(0, u32::from_le_bytes)))?;
    Some(first + 4 * at)
}

/// The table of functions that a file has for exceptions.
struct Functions<'a> {
    start: usize,
    rows: &'a [u8],
}

impl<'a> Functions<'a> {
    /// Reads the table at an address, in the form that linkers write: offsets from its beginning, of four bytes.
    fn read(start: usize, table: &'a [u8]) -> Option<Self> {
        let (head, rows) = table.split_at_checked(12)?;
        let rows = head.starts_with(&[1, 0x1b, 3, 0x3b]).then_some(rows)?;
        Some(Functions { start, rows })
    }

    /// Returns where the function begins that an address is in, or behind.
    #[cfg(target_arch = "x86_64")]
    fn at(&self, address: usize) -> Option<usize> {
        let (mut low, mut high) = (0, self.rows.len() / 8);
        while low < high {
            let middle = low.midpoint(high);
            match self.start(middle) <= address {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low.checked_sub(1).map(|at| self.start(at))
    }

    /// Returns where a function begins.
    fn start(&self, at: usize) -> usize {
        let row = self.rows[8 * at..8 * at + 4]
            .try_into()
            .map_or(0, i32::from_le_bytes);
        self.start.wrapping_add_signed(row as isize)
    }
}
