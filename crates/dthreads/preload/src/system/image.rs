//! What the loader has put into memory: the globals that threads share, and the thread-local variables that they do
//! not.
//!
//! Globals of the program and of its libraries are shared. Those of libc, of the loader and of this library stay
//! private to each process: there they are what a process needs to run. Thread-local variables are private by nature; a
//! new thread's process inherits its creator's, so they are given their initial values again, libc's too.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use fyris_dthreads_tools::record::{Header, MODULES, PATH};

use libc::{Elf64_Phdr, dl_phdr_info};

use crate::system::local::Solo;
use crate::system::{private, real};

const PAGE: usize = 4096;

/// File names of libraries that keep their globals to themselves.
const APART: &[&str] = &[
    "libc.so",
    "ld-linux",
    "ld64.so",
    "libpthread.so",
    "libdl.so",
    "librt.so",
    "linux-vdso",
];

/// Calls `visit` with each module, the program first.
pub(super) fn each(mut visit: impl FnMut(&dl_phdr_info, &[Elf64_Phdr])) {
    extern "C" fn call<F: FnMut(&dl_phdr_info, &[Elf64_Phdr])>(
        info: *mut dl_phdr_info,
        _: usize,
        visit: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader's description of one module, and the closure below.
        unsafe {
            let headers =
                std::slice::from_raw_parts((*info).dlpi_phdr, usize::from((*info).dlpi_phnum));
            (*visit.cast::<F>())(&*info, headers);
        }
        0
    }
    fn with<F: FnMut(&dl_phdr_info, &[Elf64_Phdr])>(visit: &mut F) {
        // SAFETY: `call` has the type of `visit`, which lives until the call ends.
        unsafe { libc::dl_iterate_phdr(Some(call::<F>), ptr::from_mut(visit).cast()) };
    }
    with(&mut visit);
}

/// Returns the addresses of a part of a module.
pub(super) fn part(info: &dl_phdr_info, header: &Elf64_Phdr) -> Range<usize> {
    let start = info.dlpi_addr as usize + header.p_vaddr as usize;
    start..start + header.p_memsz as usize
}

/// Returns the addresses of the parts of a module that are loaded.
fn loaded(info: &dl_phdr_info, headers: &[Elf64_Phdr]) -> impl Iterator<Item = Range<usize>> {
    let parts = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD);
    parts.map(|header| part(info, header))
}

/// Returns where a module lies, from its first byte to behind its last.
pub(super) fn whole(info: &dl_phdr_info, headers: &[Elf64_Phdr]) -> Option<Range<usize>> {
    let join =
        |all: Range<usize>, part: Range<usize>| all.start.min(part.start)..all.end.max(part.end);
    loaded(info, headers).reduce(join)
}

/// Returns whether a module is this library.
fn is_this(info: &dl_phdr_info, headers: &[Elf64_Phdr]) -> bool {
    let here = is_this as *const () as usize;
    loaded(info, headers).any(|part| part.contains(&here))
}

/// Where this library lies, from its first byte to behind its last.
static OURS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Finds out where this library lies, before the program begins.
pub(crate) fn find_ours() {
    each(|info, headers| {
        let ours = whole(info, headers).filter(|_| is_this(info, headers));
        if let Some(Range { start, end }) = ours {
            for (place, bound) in OURS.iter().zip([start, end]) {
                // Relaxed: stored before there is a second thread.
                place.store(bound, Ordering::Relaxed);
            }
        }
    });
}

/// Returns whether an object lies in this library: of code that it is linked with, such as an allocator.
pub(crate) fn is_ours<T>(object: *const T) -> bool {
    // Relaxed: as in `find_ours`.
    let [first, end] = OURS.each_ref().map(|bound| bound.load(Ordering::Relaxed));
    (first..end).contains(&object.addr())
}

/// Returns whether a module keeps its globals to itself.
pub(super) fn stays_apart(info: &dl_phdr_info, headers: &[Elf64_Phdr]) -> bool {
    let ours = is_this(info, headers);
    if ours || info.dlpi_name.is_null() {
        return ours;
    }
    // SAFETY: the loader's string.
    let path = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    APART.iter().any(|apart| name.starts_with(apart.as_bytes()))
}

/// Returns the pages of the globals that threads share.
pub(crate) fn globals() -> Vec<Range<usize>> {
    let mut found = Vec::new();
    each(|info, headers| {
        if stays_apart(info, headers) {
            return;
        }
        let fixed = headers
            .iter()
            .find(|header| header.p_type == libc::PT_GNU_RELRO);
        let fixed = fixed.map(|header| part(info, header));
        for header in headers {
            if header.p_type != libc::PT_LOAD || header.p_flags & libc::PF_W == 0 {
                continue;
            }
            let Range { mut start, end } = part(info, header);
            // What is fixed after relocation is a whole number of pages at the beginning.
            if let Some(fixed) = &fixed
                && (start..end).contains(&fixed.start)
            {
                start = fixed.end;
            }
            let (start, end) = (start.next_multiple_of(PAGE), end.next_multiple_of(PAGE));
            // A page that begins in what is fixed, or before this part, is not the program's to write.
            if start < end {
                found.push(start..end);
            }
        }
    });
    found.sort_by_key(|range| range.start);
    found
}

/// Returns how many files the loader has loaded so far.
pub(crate) fn loads() -> u64 {
    extern "C" fn call(info: *mut dl_phdr_info, _: usize, count: *mut c_void) -> c_int {
        // SAFETY: the loader's description of one module, and the variable below. One is enough.
        unsafe { count.cast::<u64>().write((*info).dlpi_adds) };
        1
    }
    let mut count = 0_u64;
    // SAFETY: the variable lives until the call ends.
    unsafe { libc::dl_iterate_phdr(Some(call), (&raw mut count).cast()) };
    count
}

/// Keeps libraries loaded whose globals threads share from now on.
pub(crate) fn keep_loaded() {
    let mut names = Vec::new();
    each(|info, headers| {
        if !stays_apart(info, headers) && !info.dlpi_name.is_null() {
            // SAFETY: the loader's string.
            names.push(unsafe { CStr::from_ptr(info.dlpi_name) }.to_owned());
        }
    });
    for name in names.iter().filter(|name| !name.is_empty()) {
        let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
        // SAFETY: a name; what is loaded by it is there already.
        unsafe { real::dlopen()(name.as_ptr(), flags) };
    }
}

/// Returns the name of the file that has put an address into memory; empty for the program's own, and if there is none.
pub(crate) fn file_of(address: usize) -> &'static str {
    let mut found = "";
    each(|info, headers| {
        if loaded(info, headers).any(|part| part.contains(&address)) && !info.dlpi_name.is_null() {
            // SAFETY: the loader's string, for as long as the file is loaded: its caller is in it.
            let name = unsafe { CStr::from_ptr(info.dlpi_name) };
            found = name.to_str().unwrap_or_default();
        }
    });
    found
}

/// Returns where a library lies that `dlopen` has returned, and its name.
pub(crate) fn memory_of(library: *mut c_void) -> Option<(Range<usize>, &'static CStr)> {
    if library.is_null() {
        return None;
    }
    // SAFETY: the loader's description of the library, which begins with the addresses that it has added to the file's.
    let bias = unsafe { library.cast::<u64>().read() };
    let mut found = None;
    each(|info, headers| {
        if info.dlpi_addr == bias && !info.dlpi_name.is_null() {
            // SAFETY: the loader's string, for as long as the library is loaded.
            let name = unsafe { CStr::from_ptr(info.dlpi_name) };
            found = whole(info, headers).map(|whole| (whole, name));
        }
    });
    found
}

/// Lists the program and its libraries in the record.
pub(crate) fn list_modules(record: &Header) {
    each(|info, headers| {
        let at = record.module_rows.get() as usize;
        let (Some(whole), Some(row)) = (whole(info, headers), record.modules.get(at)) else {
            return;
        };
        row.start.set(whole.start as u64);
        row.end.set(whole.end as u64);
        row.bias.set(info.dlpi_addr);
        // SAFETY: the loader's string; the program's own is empty.
        let path = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
        let own = std::fs::read_link("/proc/self/exe").unwrap_or_default();
        let path = if path.is_empty() {
            own.as_os_str().as_bytes()
        } else {
            path
        };
        if path.len() < PATH {
            let mut bytes = [0; PATH];
            bytes[..path.len()].copy_from_slice(path);
            for (word, part) in row.path.iter().zip(bytes.chunks_exact(8)) {
                word.set(part.try_into().map_or(0, u64::from_ne_bytes));
            }
        }
        record.module_rows.set(at as u64 + 1);
    });
}

/// The code of the program and of its libraries, this one left out: where it begins and ends.
static CODE: [[AtomicUsize; 2]; MODULES] = [const { [const { AtomicUsize::new(0) }; 2] }; MODULES];

/// Finds the code of all modules, before the program begins.
pub(crate) fn find_code() {
    let mut found = 0;
    each(|info, headers| {
        let code = |header: &&Elf64_Phdr| {
            header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0
        };
        let (false, Some(header), Some(place)) = (
            is_this(info, headers),
            headers.iter().find(code),
            CODE.get(found),
        ) else {
            return;
        };
        let Range { start, end } = part(info, header);
        // Relaxed, both: stored before there is a second thread.
        place[0].store(start, Ordering::Relaxed);
        place[1].store(end, Ordering::Relaxed);
        found += 1;
    });
}

/// Returns a number for an address in code: the module and the offset, which do not depend on where the loader has put
/// it. `None` for other addresses, and those in this library.
pub(crate) fn offset_in_code(address: u64) -> Option<u64> {
    let address = address as usize;
    for (module, place) in CODE.iter().enumerate() {
        // Relaxed, both: as in `find_code`.
        let end = place[1].load(Ordering::Relaxed);
        let start = place[0].load(Ordering::Relaxed);
        match end {
            0 => break,
            _ if (start..end).contains(&address) => {
                return Some((module as u64) << 48 | (address - start) as u64);
            }
            _ => (),
        }
    }
    None
}

/// libc's `LC_GLOBAL_LOCALE`.
const GLOBAL_LOCALE: libc::locale_t = ptr::without_provenance_mut(usize::MAX);

/// Where libc has the address of its resolver's state, of each thread; and that state of this process's threads.
static RESOLVER: AtomicPtr<*mut c_void> = AtomicPtr::new(ptr::null_mut());
static STATE: Solo<UnsafeCell<[u8; 1024]>> = Solo::new(UnsafeCell::new([0; 1024]));

/// Finds the resolver, before the program begins.
pub(crate) fn find_resolver() {
    // Relaxed: stored before there is a second thread.
    RESOLVER.store(real::variable(c"__resp").cast(), Ordering::Relaxed);
}

/// Gives all thread-local variables what a new thread has: its creator's are there.
pub(crate) fn begin_thread() {
    reset_thread_locals();
    // Relaxed: as in `find_resolver`.
    let resolver = RESOLVER.load(Ordering::Relaxed);
    // SAFETY: the library's variable, libc's own of this thread, and libc's function. The state is larger than libc's.
    unsafe {
        STATE.get().write([0; 1024]);
        if !resolver.is_null() {
            resolver.write(STATE.get().cast());
        }
        // Sets what depends on the locale, too.
        libc::uselocale(GLOBAL_LOCALE);
    }
}

/// An entry of the loader's vector of a thread: the block of a module, and what is freed at the thread's end. The
/// number of entries stands before the first, which is no module's.
#[repr(C)]
struct TlsEntry {
    block: *mut u8,
    freed: *mut c_void,
}

/// Where the address of this thread's vector is.
fn vector() -> *mut *mut TlsEntry {
    #[cfg(target_arch = "x86_64")]
    let at = thread_pointer() + size_of::<usize>();
    #[cfg(target_arch = "aarch64")]
    let at = thread_register();
    ptr::with_exposed_provenance_mut(at)
}

fn entry(module: usize) -> *mut TlsEntry {
    // SAFETY: the vector of this thread has an entry for each module that has a block.
    unsafe { (*vector()).add(module) }
}

/// Moves the vector of this thread out of the program's heap, where the loader may have put it, before a process is
/// made: that has no heap yet when its first thread-local variable is used, and later another one's.
pub(crate) fn own_vector() {
    // SAFETY: the vector of this thread, as long as it says; the copy has as many entries.
    unsafe {
        let old = *vector();
        if private::owns(old.cast()) {
            return;
        }
        let count = old.sub(1).cast::<usize>().read() + 2;
        let copy: *mut TlsEntry = private::allocate(count * size_of::<TlsEntry>(), 16).cast();
        if !copy.is_null() {
            copy.copy_from_nonoverlapping(old.sub(1), count);
            vector().write(copy.add(1));
        }
    }
}

/// Returns the block of this thread in an entry: one of its own, where the loader has made the creator's in the
/// program's heap, for a library that was loaded later.
fn own_block(entry: &mut TlsEntry, len: usize, align: usize) -> *mut u8 {
    if !entry.freed.is_null() {
        let own = private::allocate(len, align.max(16));
        if !own.is_null() {
            (entry.block, entry.freed) = (own, ptr::null_mut());
        }
    }
    entry.block
}

/// Gives the thread-local variables of the program and its libraries their initial values.
fn reset_thread_locals() {
    each(|info, headers| {
        if info.dlpi_tls_data.is_null() || is_this(info, headers) {
            return;
        }
        let Some(header) = headers.iter().find(|header| header.p_type == libc::PT_TLS) else {
            return;
        };
        let image = part(info, header);
        let (filled, all) = (header.p_filesz as usize, image.len());
        // SAFETY: the vector of this thread, and the number of a module with a block in it.
        let to = unsafe {
            own_block(
                &mut *entry(info.dlpi_tls_modid),
                all,
                header.p_align as usize,
            )
        };
        // SAFETY: the module's block of this thread, of `all` bytes, and the initial values of `filled` of them.
        unsafe {
            to.copy_from_nonoverlapping(ptr::with_exposed_provenance(image.start), filled);
            to.add(filled).write_bytes(0, all - filled);
        }
    });
}

/// Returns the words of libc's description of this thread that hold its id: libc's `raise` needs it, and a process that
/// was not forked by libc has its parent's.
pub(crate) fn thread_id_word(id: i32) -> Option<*mut i32> {
    // Within the description, behind what the processor's ABI fixes; glibc has it at 0x2d0 on x86-64.
    const WORDS: Range<usize> = 64..400;
    let start = thread_pointer();
    let word = |at: usize| ptr::with_exposed_provenance_mut::<i32>(start + 4 * at);
    // SAFETY: within libc's description, which is longer.
    let mut found = WORDS.filter(|&at| unsafe { word(at).read_volatile() } == id);
    let first = found.next()?;
    found.next().is_none().then(|| word(first))
}

/// What the processor has for the thread.
#[cfg(target_arch = "aarch64")]
fn thread_register() -> usize {
    let start: usize;
    // SAFETY: reads a register.
    unsafe { std::arch::asm!("mrs {}, tpidr_el0", out(reg) start) };
    start
}

#[cfg(target_arch = "x86_64")]
fn thread_pointer() -> usize {
    let start: usize;
    // SAFETY: reads a register's base: the first word of the description is its own address.
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) start) };
    start
}

#[cfg(target_arch = "aarch64")]
fn thread_pointer() -> usize {
    // The description is before it.
    thread_register() - 1792
}
