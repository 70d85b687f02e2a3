//! Instructions of the program that are done by the library: in the place of each is a breakpoint, whose handler does
//! it (`sync/instruction.rs`).
//!
//! A copy of each instruction lies near the file that it is of, with the way back behind it: into the handler, or of a
//! system call to where the program goes on. It is done there with the program's registers, so nothing else need know
//! what it does.

use std::arch::naked_asm;
use std::cell::Cell;
use std::ffi::CStr;
use std::ops::Range;
use std::ptr;

use libc::{PF_W, PF_X, PT_LOAD};

use crate::system::atomics::{self, Found, Kind};
use crate::system::local::{Lent, Solo};
use crate::system::{image, sys};

const BREAKPOINT: u8 = 0xcc;
const PAGE: usize = 4096;
/// Bytes of a copy: an instruction has 15 at most, the way back 14.
const COPY: usize = 32;
/// How far a copy is from its file at most, and the distances that are tried.
const FAR: usize = 1 << 30;
const STEP: usize = 1 << 20;

/// An instruction that has a breakpoint in its place.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    pub(crate) address: usize,
    /// Where the program goes on.
    pub(crate) next: usize,
    pub(crate) copy: usize,
    pub(crate) kind: Kind,
}

/// All of them, in the order of their addresses.
static SITES: Solo<Lent<Vec<Site>>> = Solo::new(Lent::new());

/// Returns the instruction that is at an address.
pub(crate) fn site(address: usize) -> Option<Site> {
    let find = |all: &mut Vec<Site>| {
        let at = all
            .binary_search_by_key(&address, |site| site.address)
            .ok()?;
        Some(all[at])
    };
    SITES.with(find)?
}

/// Puts breakpoints in the place of atomic operations, pauses and system calls of all files that the loader has loaded;
/// those that are there stay. A file whose code cannot be changed is named.
pub(crate) fn set_breakpoints() {
    let mut sites = SITES.take().unwrap_or_default();
    image::each(|info, headers| {
        let is_known = |whole: &Range<usize>| {
            let at = sites.partition_point(|site| site.address < whole.start);
            sites.get(at).is_some_and(|site| site.address < whole.end)
        };
        let whole = image::whole(info, headers).filter(|whole| !is_known(whole));
        if let Some(whole) = whole.filter(|_| !image::stays_apart(info, headers)) {
            let found = atomics::all(info, headers);
            let mut new = copies(&whole, &found);
            headers
                .iter()
                .filter(|it| it.p_type == PT_LOAD && it.p_flags & PF_X != 0)
                .for_each(|header| break_at(&image::part(info, header), header.p_flags, &mut new));
            if new.len() < found.len() {
                // SAFETY: the loader's string, if there is one.
                let name =
                    (!info.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(info.dlpi_name) });
                sys::say(format_args!(
                    "the code of {:?} (the program's own, if it has no name) cannot be changed: atomic operations in \
                     it carry nothing from thread to thread",
                    name.unwrap_or_default()
                ));
            }
            sites.append(&mut new);
            sites.sort_unstable_by_key(|site| site.address);
        }
    });
    SITES.put(sites);
}

/// Makes copies of instructions in the code of a file; none if there is no room near it.
fn copies(file: &Range<usize>, found: &[Found]) -> Vec<Site> {
    if found.is_empty() {
        return Vec::new();
    }
    let len = (found.len() * COPY).next_multiple_of(PAGE);
    let Some(room) = room_near(file, len) else {
        return Vec::new();
    };
    let mut sites = Vec::new();
    for (one, to) in found.iter().zip((room..).step_by(COPY)) {
        let (address, next) = (one.address, one.address + one.len);
        // SAFETY: an instruction that the loader has mapped, and room for its copy.
        unsafe { write_copy(one, to) };
        let (copy, kind) = (to, one.kind);
        sites.push(Site {
            address,
            next,
            copy,
            kind,
        });
    }
    sys::protect(room..room + len, libc::PROT_READ | libc::PROT_EXEC);
    sites
}

/// Maps memory near a file.
fn room_near(file: &Range<usize>, len: usize) -> Option<usize> {
    let end = file.end.next_multiple_of(STEP);
    let mut places = (end..end + FAR).step_by(STEP);
    places.find(|&place| sys::map_new(place, len))
}

/// Writes the copy of an instruction, and a jump behind it.
unsafe fn write_copy(one: &Found, to: usize) {
    let from = ptr::with_exposed_provenance::<u8>(one.address);
    let copy = ptr::with_exposed_provenance_mut::<u8>(to);
    // SAFETY: as the caller promises.
    unsafe {
        copy.copy_from_nonoverlapping(from, one.len);
        if let Some(at) = one.distance {
            let distance = copy.add(at).cast::<i32>();
            let moved = one.address.wrapping_sub(to) as i32;
            distance.write_unaligned(distance.read_unaligned().wrapping_add(moved));
        }
        let way_back = match one.kind {
            Kind::SystemCall => one.address + one.len,
            Kind::Atomic | Kind::Pause => back as *const () as usize,
        };
        // jmp [rip]
        let jump = copy.add(one.len);
        jump.copy_from_nonoverlapping([0xff, 0x25, 0, 0, 0, 0].as_ptr(), 6);
        jump.add(6).cast::<usize>().write_unaligned(way_back);
    }
}

/// Puts breakpoints in the place of the instructions of a part of the code, which has these flags in its file; if the
/// system does not allow it there are none.
fn break_at(part: &Range<usize>, flags: u32, sites: &mut Vec<Site>) {
    let pages = part.start & !(PAGE - 1)..part.end.next_multiple_of(PAGE);
    let rights = libc::PROT_READ
        | libc::PROT_EXEC
        | match flags & PF_W {
            0 => 0,
            _ => libc::PROT_WRITE,
        };
    let is_open = sys::try_protect(pages.clone(), rights | libc::PROT_WRITE);
    sites.retain(|site| !part.contains(&site.address) || is_open);
    for site in sites.iter().filter(|site| part.contains(&site.address)) {
        // SAFETY: code of the program, which may be written now.
        unsafe { ptr::with_exposed_provenance_mut::<u8>(site.address).write_volatile(BREAKPOINT) };
    }
    sys::protect(pages, rights);
}

/// What is under way: the stack pointer, the registers, the copy.
static UNDER_WAY: Solo<[Cell<usize>; 3]> = Solo::new([const { Cell::new(0) }; 3]);

/// Does the instruction at `copy` with registers of the kernel's description, and puts what they are then there. No
/// signal may come meanwhile.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn execute(registers: *mut i64, copy: usize) {
    naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rip + {under_way} + 8], rdi",
        "mov [rip + {under_way} + 16], rsi",
        "mov [rip + {under_way}], rsp",
        "push qword ptr [rdi + 8 * 17]",
        "popfq",
        "mov r8, [rdi]",
        "mov r9, [rdi + 8]",
        "mov r10, [rdi + 16]",
        "mov r11, [rdi + 24]",
        "mov r12, [rdi + 32]",
        "mov r13, [rdi + 40]",
        "mov r14, [rdi + 48]",
        "mov r15, [rdi + 56]",
        "mov rsi, [rdi + 72]",
        "mov rbp, [rdi + 80]",
        "mov rbx, [rdi + 88]",
        "mov rdx, [rdi + 96]",
        "mov rax, [rdi + 104]",
        "mov rcx, [rdi + 112]",
        "mov rsp, [rdi + 120]",
        "mov rdi, [rdi + 64]",
        "jmp [rip + {under_way} + 16]",
        under_way = sym UNDER_WAY,
    )
}

/// Where copies go on: the rest of [`execute`].
#[unsafe(naked)]
unsafe extern "C" fn back() {
    naked_asm!(
        "mov rsp, [rip + {under_way}]",
        "pushfq",
        "push rdi",
        "mov rdi, [rip + {under_way} + 8]",
        "mov [rdi], r8",
        "mov [rdi + 8], r9",
        "mov [rdi + 16], r10",
        "mov [rdi + 24], r11",
        "mov [rdi + 32], r12",
        "mov [rdi + 40], r13",
        "mov [rdi + 48], r14",
        "mov [rdi + 56], r15",
        "mov [rdi + 72], rsi",
        "mov [rdi + 80], rbp",
        "mov [rdi + 88], rbx",
        "mov [rdi + 96], rdx",
        "mov [rdi + 104], rax",
        "mov [rdi + 112], rcx",
        "pop qword ptr [rdi + 64]",
        "pop qword ptr [rdi + 8 * 17]",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
        under_way = sym UNDER_WAY,
    )
}
