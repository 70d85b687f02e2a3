//! Copies of this library in one process.
//!
//! The tables live in the memory of the library that made them. A copy of it under another path (a new release with the
//! same build in it) is another library to the system: with a memory of its own, and no tables. So each exports a
//! [`Library`], by which a copy that the machine loads finds those that were loaded before:
//!
//! * One of the same build serves in its stead: the machine gets its functions.
//! * One of another build keeps its tables to itself. While there are any, nothing else is loaded.
//!
//! Libraries are of the same build if what is never written of them is the same, byte for byte: code and constants.

use std::ffi::{CStr, CString, c_int, c_void};

use rustler::codegen_runtime::ErlNifEntry;

use crate::{load, tables};

/// The description of a library for others. The form is fixed, and [`SYMBOL`] is its name.
#[repr(C)]
pub(crate) struct Library {
    entry: extern "C" fn() -> *const ErlNifEntry,
    tables: extern "C" fn() -> usize,
}

/// The account of this library.
#[unsafe(no_mangle)]
pub(crate) static FYRIS_NIF_LIBRARY_1: Library = Library {
    entry: load::entry,
    tables: living_tables,
};

const SYMBOL: &CStr = c"FYRIS_NIF_LIBRARY_1";

extern "C" fn living_tables() -> usize {
    tables::store().all().len()
}

/// A library that is kept loaded while this is.
struct Copy {
    handle: *mut c_void,
    library: &'static Library,
    object: Object,
}

impl Drop for Copy {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, closed once. Libraries that have served stay loaded.
        unsafe { libc::dlclose(self.handle) };
    }
}

/// An object that the system has loaded: its name, and the parts of it that are never written.
struct Object {
    name: CString,
    constant: Vec<&'static [u8]>,
}

/// Returns every object of the process, the oldest first.
fn objects() -> Vec<Object> {
    unsafe extern "C" fn add(
        info: *mut libc::dl_phdr_info,
        _: usize,
        objects: *mut c_void,
    ) -> c_int {
        // SAFETY: the system describes an object that is loaded, for this call; `objects` is the vector below. The
        // slices are used only while the object is kept loaded (`copies`).
        unsafe {
            let (info, objects) = (&*info, &mut *objects.cast::<Vec<Object>>());
            if info.dlpi_name.is_null() || info.dlpi_phdr.is_null() {
                return 0;
            }
            let parts = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            let constant = parts
                .iter()
                .filter(|part| part.p_type == libc::PT_LOAD && part.p_flags & libc::PF_W == 0)
                .map(|part| {
                    let start = (info.dlpi_addr + part.p_vaddr) as usize;
                    let start: *const u8 = std::ptr::with_exposed_provenance(start);
                    std::slice::from_raw_parts(start, part.p_filesz as usize)
                });
            objects.push(Object {
                name: CStr::from_ptr(info.dlpi_name).to_owned(),
                constant: constant.collect(),
            });
        }
        0
    }
    let mut objects: Vec<Object> = Vec::new();
    // SAFETY: `add` has the form that is asked for, and gets the vector.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut objects).cast()) };
    objects
}

/// Returns every library of Fyris in the process but this one, the oldest first.
fn copies() -> Vec<Copy> {
    objects().into_iter().filter_map(copy).collect()
}

fn copy(object: Object) -> Option<Copy> {
    if object.name.is_empty() {
        return None;
    }
    // SAFETY: what has that name is loaded already or not touched; the symbol is what its name says.
    unsafe {
        let handle = libc::dlopen(object.name.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return None;
        }
        let found: *const Library = libc::dlsym(handle, SYMBOL.as_ptr()).cast();
        if found.is_null() || std::ptr::eq(found, &FYRIS_NIF_LIBRARY_1) {
            libc::dlclose(handle);
            return None;
        }
        Some(Copy {
            handle,
            library: &*found,
            object,
        })
    }
}

/// Returns the code and constants of this library.
fn our_constants() -> Option<Vec<&'static [u8]>> {
    let own = living_tables as extern "C" fn() -> usize as *const u8;
    let mut objects = objects().into_iter();
    let ours = objects.find(|object| {
        object
            .constant
            .iter()
            .any(|part| part.as_ptr_range().contains(&own))
    });
    ours.map(|object| object.constant)
}

/// Returns the description of the library that serves the machine: the oldest of this build.
pub(crate) fn serving() -> *const ErlNifEntry {
    let ours = our_constants();
    let twin = copies()
        .into_iter()
        .find(|copy| ours.as_ref() == Some(&copy.object.constant));
    twin.map_or_else(|| load::entry(), |twin| (twin.library.entry)())
}

/// Returns whether a library of another build has tables.
pub(crate) fn another_has_tables() -> bool {
    let living = |copy: &Copy| (copy.library.tables)() > 0;
    copies().iter().any(living) && !cfg!(fyris_mutant = "nif_tables_left")
}
