//! Atomic operations of the program and its libraries: instructions that read and write memory in one step. Each thread
//! does them to its own copy. On x86-64 they are made turns (`patch.rs`), elsewhere who runs such a program is told
//! beforehand.
//!
//! Which bytes are instructions is known for functions: the table by which exceptions find them says where they begin,
//! and how long they are. One that cannot be decoded from its beginning to its end is left out: it may have data in it.
//! Nor counts how a fence is written, an addition of nothing to the stack.

use std::ops::Range;

#[cfg(target_arch = "aarch64")]
use libc::PF_X;
use libc::{PT_GNU_EH_FRAME, PT_LOAD};

use crate::system::image;

/// An instruction that is to be a turn.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) address: usize,
    pub(crate) len: usize,
    /// Where in it the distance is from the instruction behind it to the memory, if it has one.
    pub(crate) distance: Option<usize>,
    pub(crate) kind: Kind,
}

/// What an instruction does.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Atomic,
    /// It waits for a moment, in a loop that waits for another thread.
    Pause,
    /// It may wait for a futex.
    SystemCall,
}

/// Returns the atomic operations of a module, its pauses and system calls, in the order of their addresses.
#[cfg(target_arch = "x86_64")]
pub(super) fn all(info: &libc::dl_phdr_info, headers: &[libc::Elf64_Phdr]) -> Vec<Found> {
    let part = |header| image::part(info, header);
    let table = headers.iter().find(|it| it.p_type == PT_GNU_EH_FRAME);
    let parts = headers.iter().filter(|it| it.p_type == PT_LOAD).map(part);
    let parts: Vec<_> = parts.collect();
    let mut found = Vec::new();
    let table = table.map(part);
    // SAFETY: the loader has mapped it.
    let table = table.and_then(|table| Functions::read(table.start, unsafe { bytes(table) }));
    if let Some(table) = table {
        let mut behind = 0;
        for function in (0..table.rows.len() / 8).filter_map(|at| table.whole(at, &parts)) {
            if function.start >= behind {
                behind = function.end;
                // SAFETY: code that the loader has mapped.
                find_in(
                    unsafe { bytes(function.clone()) },
                    function.start,
                    &mut found,
                );
            }
        }
    }
    found
}

/// Finds what is to be a turn in a function.
#[cfg(target_arch = "x86_64")]
fn find_in(code: &[u8], start: usize, found: &mut Vec<Found>) {
    use iced_x86::{Code, Decoder, Mnemonic, OpKind, Register};
    // Exchanges, what has a lock prefix, pauses and system calls have these bytes, and most functions have none.
    let may_be = |two: &[u8]| matches!(two, [0x86 | 0x87 | 0xf0, _] | [0xf3, 0x90] | [0x0f, 0x05]);
    if !code.windows(2).any(may_be) {
        return;
    }
    let before = found.len();
    let mut decoder = Decoder::with_ip(64, code, start as u64, 0);
    while decoder.can_decode() {
        let one = decoder.decode();
        if one.is_invalid() {
            return found.truncate(before);
        }
        let is_fence = one.memory_base() == Register::RSP
            && one.mnemonic() == Mnemonic::Or
            && one.try_immediate(1).is_ok_and(|value| value == 0);
        let is_exchange = one.mnemonic() == Mnemonic::Xchg
            && (one.op0_kind() == OpKind::Memory || one.op1_kind() == OpKind::Memory);
        let kind = match one.code() {
            Code::Pause => Some(Kind::Pause),
            Code::Syscall => Some(Kind::SystemCall),
            _ => (one.has_lock_prefix() && !is_fence || is_exchange).then_some(Kind::Atomic),
        };
        if let Some(kind) = kind {
            let is_near = one.is_ip_rel_memory_operand();
            let distance = decoder.get_constant_offsets(&one).displacement_offset();
            found.push(Found {
                address: one.ip() as usize,
                len: one.len(),
                distance: is_near.then_some(distance),
                kind,
            });
        }
    }
}

/// Returns the address of the program's first atomic operation. Looks at all of its code.
#[cfg(target_arch = "aarch64")]
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

    /// Returns where a function is, if the description behind the table says so in the usual form, and it lies in one
    /// of these parts of a file.
    #[cfg(target_arch = "x86_64")]
    fn whole(&self, at: usize, parts: &[Range<usize>]) -> Option<Range<usize>> {
        let is_there = |range: &Range<usize>| {
            let mut parts = parts.iter();
            parts.any(|part| part.start <= range.start && range.end <= part.end)
        };
        let description = self.address(8 * at + 4);
        let words = Some(description..description + 16).filter(is_there)?;
        // SAFETY: mapped by the loader, as just looked at.
        let word = |n: usize| unsafe { bytes(words.start + 4 * n..words.start + 4 * n + 4) };
        let word = |n| word(n).try_into().map_or(0, i32::from_le_bytes);
        let start = (words.start + 8).wrapping_add_signed(word(2) as isize);
        let function = start..start + word(3) as u32 as usize;
        let is_usual = word(0) != -1 && start == self.start(at) && is_there(&function);
        is_usual.then_some(function)
    }

    /// Returns where a function begins.
    fn start(&self, at: usize) -> usize {
        self.address(8 * at)
    }

    /// Returns the address that a number of the rows leads to.
    fn address(&self, at: usize) -> usize {
        let offset = self.rows[at..at + 4]
            .try_into()
            .map_or(0, i32::from_le_bytes);
        self.start.wrapping_add_signed(offset as isize)
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    fn found(code: &[u8]) -> Vec<(usize, usize, bool)> {
        let mut found = Vec::new();
        find_in(code, 0x1000, &mut found);
        let what = |it: &Found| (it.address - 0x1000, it.len, it.kind == Kind::Atomic);
        found.iter().map(what).collect()
    }

    #[test]
    fn instructions_are_found_alone() {
        // lock add [rdi], rax; ret
        assert_eq!(found(&[0xf0, 0x48, 1, 7, 0xc3]), [(0, 4, true)]);
        // xchg [rdi], eax; ret
        assert_eq!(found(&[0x87, 7, 0xc3]), [(0, 2, true)]);
        // mov eax, 202; syscall; ret
        assert_eq!(found(&[0xb8, 202, 0, 0, 0, 0x0f, 5, 0xc3]), [(5, 2, false)]);
        // pause; ret
        assert_eq!(found(&[0xf3, 0x90, 0xc3]), [(0, 2, false)]);
        // A fence: lock or dword ptr [rsp], 0
        assert_eq!(found(&[0xf0, 0x83, 0x0c, 0x24, 0, 0xc3]), []);
        // or eax, [rsp]
        assert_eq!(found(&[0xf3, 0x90, 0x0b, 4, 0x24, 0xc3]), [(0, 2, false)]);
        // xchg of registers
        assert_eq!(found(&[0x87, 0xc7, 0xc3]), []);
    }
}
