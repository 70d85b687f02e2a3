//! Loading libraries, once each.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use libloading::os::unix::{self, RTLD_LOCAL, RTLD_NOW};

use super::abi::{
    CONCURRENT_READERS, CONCURRENT_WRITERS, Functions, ITERATION, KNOWN, ORDER, Ops, OpsHead,
    SYMBOL, VERSION,
};
use super::{Fault, LibraryIndex, Status};
use crate::IndexOptions;
use crate::plug::{Features, PlugEntry};

/// The libraries that are loaded, by their files and the paths that these were asked for by. They stay: what a
/// library's code has left behind (threads, destructors of a thread's variables) may run at any time.
static LOADED: Mutex<Option<HashMap<(PathBuf, String), Library>>> = Mutex::new(None);

/// A shared library with an index, loaded. See the [module](super).
#[derive(Clone, Copy)]
pub struct Library(&'static Loaded);

struct Loaded {
    path: String,
    capabilities: u64,
    functions: Functions,
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Library({})", self.path())
    }
}

impl Library {
    /// Loads a library and looks whether it serves as an index; once for each file, which stays loaded until the
    /// process ends.
    ///
    /// # Errors
    ///
    /// [`Fault::NoFile`], also for a file in one of the system's folders of libraries that is named without its folder;
    /// [`Fault::NotLoaded`], [`Fault::NoSymbol`], [`Fault::NoFunctions`], [`Fault::Version`], [`Fault::Size`],
    /// [`Fault::Capabilities`], [`Fault::NoFunction`].
    ///
    /// # Safety
    ///
    /// Loading the library runs its code, as making and using indexes does. It keeps the promises that `fyris_index.h`
    /// asks of it and that cannot be checked: its functions touch no memory but their own and what they are given, let
    /// no exception out, and may be called from several threads as far as it declares.
    pub unsafe fn load(path: &str) -> Result<Library, Fault> {
        let file = Path::new(path).canonicalize();
        let file = file.map_err(|error| Fault::NoFile(error.to_string()))?;
        // A library that panics while it is loaded has not been entered.
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = loaded.get_or_insert_default();
        let asked = (file, path.to_owned());
        if let Some(library) = loaded.get(&asked) {
            return Ok(*library);
        }
        // By another path the file is opened again, which to the system is the same library.
        // SAFETY: forwarded.
        let library = unsafe { open(path.to_owned(), &asked.0) }?;
        loaded.insert(asked, library);
        Ok(library)
    }

    /// Returns the path that it was asked for by.
    pub fn path(self) -> &'static str {
        &self.0.path
    }

    /// Returns what its indexes can do: iterate or not. Writers may always come at once, since an index locks for them,
    /// by one lock without options.
    pub fn features(self) -> Features {
        let features = Features::ALL.without_lock_options();
        match self.has(ITERATION | ORDER) {
            true => features,
            false => features.without_iteration(),
        }
    }

    /// Makes an empty index.
    ///
    /// # Errors
    ///
    /// [`Fault::NotCreated`].
    pub fn index<E: PlugEntry>(self, options: &IndexOptions) -> Result<LibraryIndex<E>, Fault> {
        let status = Arc::new(Status::new(self));
        LibraryIndex::new(self.0.functions, self, status, options.capacity)
    }

    /// Makes an empty index that is in the order of keys.
    ///
    /// # Errors
    ///
    /// [`Fault::NoOrder`], [`Fault::NotCreated`].
    pub fn ordered_index<E: PlugEntry>(
        self,
        options: &IndexOptions,
    ) -> Result<LibraryIndex<E>, Fault> {
        match self.is_ordered() {
            true => self.index(options),
            false => Err(Fault::NoOrder),
        }
    }

    /// Returns whether the order of its indexes is that of keys.
    pub fn is_ordered(self) -> bool {
        self.has(ORDER)
    }

    pub(super) fn reads_at_once(self) -> bool {
        self.has(CONCURRENT_READERS | CONCURRENT_WRITERS)
    }

    pub(super) fn writes_at_once(self) -> bool {
        self.has(CONCURRENT_WRITERS)
    }

    fn has(self, capabilities: u64) -> bool {
        self.0.capabilities & capabilities != 0
    }
}

/// Loads a file.
///
/// # Safety
///
/// The library keeps the promises that `fyris_index.h` asks of it: loading it runs its code, as using its functions
/// does, and these touch no memory but their own and what they are given.
unsafe fn open(path: String, file: &Path) -> Result<Library, Fault> {
    // With all its symbols now: one that is missing is an error here, and not the end of the process at a call.
    let how = RTLD_NOW | RTLD_LOCAL;
    // SAFETY: the caller's promise about the library's code.
    let library = unsafe { unix::Library::open(Some(file), how) };
    let library = library.map_err(|error| Fault::NotLoaded(reason(&error)))?;
    // Also one that cannot serve stays loaded: it may have started threads.
    let library = ManuallyDrop::new(library);
    // SAFETY: of the type that the header gives it.
    let symbol = unsafe { library.get::<unsafe extern "C" fn() -> *const OpsHead>(SYMBOL) };
    let symbol = symbol.map_err(|_| Fault::NoSymbol)?;
    // SAFETY: as above; the header lets it be called.
    let ops = unsafe { ops(symbol()) }?;
    Ok(Library(Box::leak(Box::new(Loaded {
        path,
        capabilities: ops.capabilities,
        functions: ops.functions()?,
    }))))
}

/// Returns what the system says of a library that it does not load.
fn reason(error: &libloading::Error) -> String {
    let system = error.source();
    system.map_or_else(|| error.to_string(), ToString::to_string)
}

/// Copies a table of functions.
///
/// # Safety
///
/// `head` is null or points to what the header says, at any alignment: it is as long as it says, if the version is this
/// one.
unsafe fn ops(head: *const OpsHead) -> Result<Ops, Fault> {
    if head.is_null() {
        return Err(Fault::NoFunctions);
    }
    // SAFETY: the caller's promise; every version begins with a head.
    let OpsHead { version, size } = unsafe { head.read_unaligned() };
    if version != VERSION {
        return Err(Fault::Version(version));
    }
    if (size as usize) < size_of::<Ops>() {
        return Err(Fault::Size(size));
    }
    // SAFETY: the caller's promise: it is as long as that.
    let ops = unsafe { head.cast::<Ops>().read_unaligned() };
    match ops.capabilities & !KNOWN {
        0 => Ok(ops),
        unknown => Err(Fault::Capabilities(unknown)),
    }
}
