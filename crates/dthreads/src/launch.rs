//! How a program is started with the library.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::record::{FILE_VARIABLE, THREADS};

/// The library's file name.
pub const LIBRARY: &str = "libfyris_dthreads.so";
/// The environment variable that says where the library is.
pub const LIBRARY_VARIABLE: &str = "FYRIS_DTHREADS_LIBRARY";

/// The reason why a program is not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The library is in none of the places where it is looked for.
    #[error(
        "{LIBRARY} is not beside this program nor in ../lib: build it (`cargo build --release -p \
             fyris-dthreads-preload`), or name it in {LIBRARY_VARIABLE}"
    )]
    NoLibrary,
    /// No such program in the path.
    #[error("{0:?}: no such program")]
    NotFound(OsString),
    /// It cannot be read.
    #[error("{0:?}: {1}")]
    Unreadable(PathBuf, std::io::Error),
    /// It has its interpreter in its first line.
    #[error("{0:?} is a script: name its interpreter")]
    Script(PathBuf),
    /// It is no program of this machine.
    #[error("{0:?} is not a 64-bit ELF program")]
    NotElf(PathBuf),
    /// It has its libraries in itself: there is nothing that could be put in their place.
    #[error("{0:?} is statically linked: a library cannot be preloaded")]
    Static(PathBuf),
    /// It has another libc than the library is for.
    #[error("{0:?} is run by {1}: only programs of glibc can be run")]
    Loader(PathBuf, String),
    /// Its threads are not those of POSIX.
    #[error(
        "{0:?} is a program of {1}, whose threads wait by atomic operations and futexes: it cannot be run"
    )]
    Runtime(PathBuf, &'static str),
    /// It runs with another user's or group's rights, and the loader preloads nothing then.
    #[error(
        "{0:?} is set-uid, set-gid or has capabilities: the loader would not preload a library"
    )]
    SetId(PathBuf),
    /// More threads than slots, or none.
    #[error("{0} threads: 1 to {THREADS}")]
    Threads(usize),
    /// A heap that cannot be.
    #[error("a heap of {0} bytes: 1 MiB to 64 GiB")]
    Heap(u64),
}

/// The options of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The most threads that may be alive at once, main included.
    pub threads: usize,
    /// The most bytes of the heap.
    pub heap: u64,
    /// Clocks are real, and timed waits refused.
    pub real_time: bool,
    /// Synchronization points in a turn of a thread, at least 1.
    pub turn: u32,
    /// Threads wait at a fence before they commit, as in Dthreads before CONVERSION: slower, for comparison.
    pub fence: bool,
    /// Bytes that two threads write at once are recorded. Takes eight times the heap's addresses, and time.
    pub conflicts: bool,
    /// The file that is to keep the record: it exists.
    pub record: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            threads: THREADS,
            heap: 512 << 20,
            real_time: false,
            turn: 1,
            fence: false,
            conflicts: false,
            record: None,
        }
    }
}

/// Finds the library: in `FYRIS_DTHREADS_LIBRARY`, beside this program, or in `../lib`.
///
/// # Errors
///
/// [`Refused::NoLibrary`].
pub fn library() -> Result<PathBuf, Refused> {
    if let Some(path) = std::env::var_os(LIBRARY_VARIABLE) {
        let path = PathBuf::from(path);
        return path.canonicalize().map_err(|_| Refused::NoLibrary);
    }
    let program = std::env::current_exe().map_err(|_| Refused::NoLibrary)?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let places = [
        folder.join(LIBRARY),
        folder.join("../lib").join(LIBRARY),
        folder.join("..").join(LIBRARY),
    ];
    let found = places.into_iter().find(|path| path.is_file());
    found.ok_or(Refused::NoLibrary)
}

/// Returns the command that runs `program` deterministically.
///
/// # Errors
///
/// [`Refused`], if it is known that it could not.
pub fn command(
    program: &OsStr,
    arguments: &[OsString],
    options: &Options,
) -> Result<Command, Refused> {
    if !(1..=THREADS).contains(&options.threads) {
        return Err(Refused::Threads(options.threads));
    }
    if !(1 << 20..=64 << 30).contains(&options.heap) {
        return Err(Refused::Heap(options.heap));
    }
    let path = find(program)?;
    check(&path)?;
    let mut preload = library()?.into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD") {
        preload.push(":");
        preload.push(others);
    }
    let mut command = Command::new(path);
    command.arg0(program).args(arguments);
    command.env("LD_PRELOAD", preload).env("LD_BIND_NOW", "1");
    command.env("FYRIS_DTHREADS_THREADS", options.threads.to_string());
    command.env("FYRIS_DTHREADS_HEAP", options.heap.to_string());
    command.env("FYRIS_DTHREADS_TURN", options.turn.to_string());
    for (wanted, name) in [
        (options.real_time, "FYRIS_DTHREADS_REAL_TIME"),
        (options.fence, "FYRIS_DTHREADS_FENCE"),
        (options.conflicts, "FYRIS_DTHREADS_CONFLICTS"),
    ] {
        match wanted {
            true => command.env(name, "1"),
            false => command.env_remove(name),
        };
    }
    match &options.record {
        Some(file) => command.env(FILE_VARIABLE, file),
        None => command.env_remove(FILE_VARIABLE),
    };
    Ok(command)
}

/// Makes the program that is spawned end with the thread that spawns it, whatever ends that.
///
/// ```no_run
/// # use fyris_dthreads_tools::launch::{Options, command, end_with_us};
/// let mut command = command("sort".as_ref(), &[], &Options::default())?;
/// end_with_us(&mut command);
/// command.spawn()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn end_with_us(command: &mut Command) {
    let us = std::process::id();
    // SAFETY: system calls in the new process.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // It may have ended before that.
            match libc::getppid() as u32 == us {
                true => Ok(()),
                false => Err(std::io::ErrorKind::Interrupted.into()),
            }
        });
    }
}

/// Finds a program as a shell does.
fn find(program: &OsStr) -> Result<PathBuf, Refused> {
    if program.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(program));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let runs = |path: &PathBuf| {
        let meta = path.metadata();
        meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let found = std::env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(runs);
    found.ok_or_else(|| Refused::NotFound(program.to_owned()))
}

/// Refuses what the loader would run without the library.
fn check(path: &Path) -> Result<(), Refused> {
    let unreadable = |error| Refused::Unreadable(path.to_owned(), error);
    let mut file = File::open(path).map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    let own = rights();
    let bits = meta.mode();
    if bits & 0o4000 != 0 && meta.uid() != own.0
        || bits & 0o2000 != 0 && meta.gid() != own.1
        || own.0 != 0 && has_capabilities(&file)
    {
        return Err(Refused::SetId(path.to_owned()));
    }
    let mut bytes = Vec::new();
    file.by_ref()
        .take(1 << 16)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.starts_with(b"#!") {
        return Err(Refused::Script(path.to_owned()));
    }
    let loader = match interpreter(&file) {
        None => return Err(Refused::NotElf(path.to_owned())),
        Some(None) => return Err(Refused::Static(path.to_owned())),
        Some(Some(loader)) => String::from_utf8_lossy(&loader).into_owned(),
    };
    let name = loader.rsplit('/').next().unwrap_or_default();
    if !name.starts_with("ld-linux") {
        return Err(Refused::Loader(path.to_owned(), loader));
    }
    let has = |mark: &[u8]| bytes.windows(mark.len()).any(|part| part == mark);
    match RUNTIMES.iter().find(|(_, mark)| has(mark)) {
        Some((name, _)) => Err(Refused::Runtime(path.to_owned(), name)),
        None => Ok(()),
    }
}

/// Languages with threads of their own, and what is in the beginning of their programs: Go's note has its name and
/// type, Java's launcher needs a library.
const RUNTIMES: [(&str, &[u8]); 2] = [("Go", b"\x04\0\0\0Go\0\0"), ("Java", b"libjli.so\0")];

/// Returns whether a program has rights of its own beside those of a user. Root has them already.
fn has_capabilities(file: &File) -> bool {
    let name = c"security.capability".as_ptr();
    // SAFETY: it only asks for the length.
    unsafe { libc::fgetxattr(file.as_raw_fd(), name, std::ptr::null_mut(), 0) > 0 }
}

fn rights() -> (u32, u32) {
    // SAFETY: both only ask.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Returns the loader that an ELF program asks for, if it does; `None` if it is no such program.
fn interpreter(file: &File) -> Option<Option<Vec<u8>>> {
    const PT_INTERP: [u8; 4] = [3, 0, 0, 0];
    let head: [u8; 64] = part(file, 0)?;
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let half = |at: usize| u64::from(u16::from_le_bytes([head[at], head[at + 1]]));
    let (start, size, count) = (long(&head, 32)?, half(54), half(56));
    // Where there are no headers ends the search.
    let headers = (0..count).map_while(|n| part::<56>(file, start.checked_add(n * size)?));
    let Some(header) = headers
        .into_iter()
        .find(|header| header.starts_with(&PT_INTERP))
    else {
        return Some(None);
    };
    let (from, len) = (long(&header, 8)?, long(&header, 32)?);
    if len > libc::PATH_MAX as u64 {
        return None;
    }
    let mut path = vec![0; len as usize];
    file.read_exact_at(&mut path, from).ok()?;
    let end = path.iter().position(|&byte| byte == 0);
    path.truncate(end.unwrap_or(path.len()));
    Some(Some(path))
}

/// Returns the bytes of a file from `at` on, if it has as many.
fn part<const N: usize>(file: &File, at: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

/// Returns the number that is in bytes at `at`.
fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(program: &str) -> String {
        let options = Options::default();
        command(program.as_ref(), &[], &options)
            .expect_err("refused")
            .to_string()
    }

    #[test]
    fn what_cannot_run_is_named() {
        assert!(refusal("no-such-program").contains("no such program"));
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path.to_str().unwrap().to_owned()
        };
        assert!(refusal(&file("script", b"#!/bin/sh\n")).contains("is a script"));
        assert!(refusal(&file("text", b"hello")).contains("not a 64-bit ELF"));
        let mut elf = vec![0; 64];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        assert!(refusal(&file("static", &elf)).contains("statically linked"));
        let mut loaded = elf.clone();
        loaded[32] = 64;
        (loaded[54], loaded[56]) = (56, 1);
        loaded.resize(64 + 56, 0);
        (loaded[64], loaded[64 + 8], loaded[64 + 32]) = (3, 120, 40);
        let with = |loader: &str, more: &[u8]| {
            let mut all = loaded.clone();
            all.extend_from_slice(loader.as_bytes());
            all.resize(120 + 40, 0);
            all.extend_from_slice(more);
            all
        };
        let musl = with("/lib/ld-musl-x86_64.so.1", b"");
        assert!(refusal(&file("musl", &musl)).contains("is run by /lib/ld-musl-x86_64.so.1"));
        let go = with("/lib64/ld-linux-x86-64.so.2", b"\x04\0\0\0Go\0\0");
        assert!(refusal(&file("go", &go)).contains("is a program of Go"));
        // Far behind the beginning, as in a program that was given another loader.
        let mut far = musl.clone();
        far.resize(1 << 20, 0);
        far[64 + 8..64 + 16].copy_from_slice(&(1_u64 << 20).to_le_bytes());
        far.extend_from_slice(b"/lib/ld-musl-aarch64.so.1\0");
        far.resize(far.len() + 40, 0);
        assert!(refusal(&file("far", &far)).contains("is run by /lib/ld-musl-aarch64.so.1"));
        let many = Options {
            threads: THREADS + 1,
            ..Options::default()
        };
        let error = command("true".as_ref(), &[], &many).expect_err("too many");
        assert_eq!(error.to_string(), "129 threads: 1 to 128");
    }
}
