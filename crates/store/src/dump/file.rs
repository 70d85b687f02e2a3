//! A file that appears under its name whole, or not at all.
//!
//! OTP deletes what stood under the name and writes in its place, so a full disk or a crash leaves
//! neither the old dump nor the new one. Here the dump is written beside it under a name of its own, and
//! renamed when it is whole; with `sync` only after the disk has it, and the folder is synced too, so
//! that the name does not outlive a power cut without the content.
//!
//! # What a replaced file passes on
//!
//! A rename replaces whatever has the name, so what it would lose is looked at first:
//!
//! * A symbolic link is followed, also one to a file that does not exist yet: the link stays, its target changes.
//! * Owner, group, permission bits and the access control list pass to the new file; where they cannot, nothing is
//!   replaced.
//! * A file that its permissions make read-only is refused, for root too; so is everything but a regular file (a
//!   named pipe, a device, a socket, a folder).
//!
//! Another hard link to the old file keeps the old content.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{OFlags, XattrFlags, fgetxattr, fsetxattr};
use rustix::io::Errno;

/// Numbers the files of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Symbolic links followed before a path counts as a loop, as in the kernel.
const MAX_LINKS: usize = 40;

/// The bits of a mode that may be set by `chmod`.
const PERMISSIONS: u32 = 0o7777;

/// The attribute that holds a file's access control list.
const ACL: &str = "system.posix_acl_access";

/// A file on its way to its name, which has it whole or not at all; deleted unless [`NewFile::publish`]ed.
///
/// ```
/// use fyris::dump::NewFile;
/// use std::io::Write;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("list.txt");
/// let (new, mut file) = NewFile::create(&path)?;
/// file.write_all(b"all of it")?;
/// assert!(!path.exists());
/// new.publish(file, true)?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct NewFile {
    at: PathBuf,
    to: PathBuf,
    published: bool,
}

impl NewFile {
    /// Opens a new file beside the one that `path` names, with its owner and permissions if it exists.
    ///
    /// # Errors
    ///
    /// If the file cannot be made, or cannot replace the one that is there: a read-only file, a folder, a named pipe, a
    /// device, or one whose owner cannot be kept.
    pub fn create(path: &Path) -> io::Result<(NewFile, File)> {
        if path.file_name().is_none() {
            return Err(ErrorKind::IsADirectory.into());
        }
        let (to, old) = target(path)?;
        // No other user may look into the new file before it has the permissions of the old one.
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let (at, file) = open_beside(&to, mode)?;
        let new = NewFile {
            at,
            to,
            published: false,
        };
        if let Some(old) = old
            && !cfg!(fyris_mutant = "dump_forgets_permissions")
        {
            old.pass_on(&file)?;
        }
        Ok((new, file))
    }

    /// Returns the path at which the file is until it has its name.
    pub fn path(&self) -> &Path {
        &self.at
    }

    /// Gives the file its name; with `sync` when the disk has it.
    ///
    /// # Errors
    ///
    /// If the file cannot be synced or renamed; what had the name stays then.
    pub fn publish(mut self, file: File, sync: bool) -> io::Result<()> {
        if sync {
            file.sync_all()?;
        }
        // Closing reports nothing in Rust; on file systems that find no space only then, `sync` does.
        drop(file);
        fs::rename(&self.at, &self.to)?;
        self.published = true;
        if sync {
            sync_folder(&self.to)?;
        }
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.published {
            // Nothing can be done about a file that will not go.
            let _ = fs::remove_file(&self.at);
        }
    }
}

/// A file that is about to be replaced.
struct OldFile {
    file: File,
    meta: Metadata,
}

impl OldFile {
    /// Opens a file that can be replaced: regular, and writable.
    fn open(path: &Path) -> io::Result<OldFile> {
        // A named pipe that takes the name meanwhile must not block the open.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new()
            .write(true)
            .custom_flags(flags)
            .open(path)?;
        let meta = file.metadata()?;
        check_regular(&meta)?;
        // Root may write to any file; a file without write permission is protected all the same.
        if meta.mode() & 0o222 == 0 {
            return Err(io::Error::new(
                ErrorKind::PermissionDenied,
                "the file is read-only",
            ));
        }
        Ok(OldFile { file, meta })
    }

    /// Gives `new` the owner, group, permissions and access control list of this file.
    fn pass_on(&self, new: &File) -> io::Result<()> {
        let made = new.metadata()?;
        if (made.uid(), made.gid()) != (self.meta.uid(), self.meta.gid()) {
            fchown(new, Some(self.meta.uid()), Some(self.meta.gid())).map_err(|source| {
                let why = format!("its owner and group cannot be kept: {source}");
                io::Error::new(source.kind(), why)
            })?;
        }
        new.set_permissions(Permissions::from_mode(self.meta.mode() & PERMISSIONS))?;
        if let Some(list) = access_list(&self.file)? {
            fsetxattr(new, ACL, &list, XattrFlags::empty())?;
        }
        Ok(())
    }
}

/// Returns the access control list of a file that has one. Without it the group would get what the list gives to
/// others.
fn access_list(file: &File) -> io::Result<Option<Vec<u8>>> {
    // The largest that the kernel hands out.
    let mut list = vec![0; 64 * 1024];
    match fgetxattr(file, ACL, &mut list[..]) {
        Ok(size) => {
            list.truncate(size);
            Ok(Some(list))
        }
        Err(Errno::NODATA | Errno::NOTSUP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the path that `path` leads to through symbolic links, and the file there, if it exists.
fn target(path: &Path) -> io::Result<(PathBuf, Option<OldFile>)> {
    match fs::metadata(path) {
        Ok(meta) => {
            // Before anything is opened: opening a device or a pipe has effects of its own.
            check_regular(&meta)?;
            follow_links(path)?;
            let to = fs::canonicalize(path)?;
            let old = OldFile::open(&to)?;
            Ok((to, Some(old)))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok((follow_links(path)?, None)),
        Err(error) => Err(error),
    }
}

/// Returns the path at the end of a chain of symbolic links, of which the last leads to no file.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        // `/dev/stdout` and its kin: what was written there before would be gone.
        if fs::canonicalize(folder_of(&at)).is_ok_and(|folder| folder.starts_with("/proc")) {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "it is a file that a process has open, and would be replaced",
            ));
        }
        match fs::read_link(&at) {
            Ok(link) => at = folder_of(&at).join(link),
            Err(_) => return Ok(at),
        }
    }
    Err(Errno::LOOP.into())
}

fn check_regular(meta: &Metadata) -> io::Result<()> {
    let kind = meta.file_type();
    if kind.is_file() {
        return Ok(());
    }
    let what = match () {
        () if kind.is_dir() => return Err(ErrorKind::IsADirectory.into()),
        () if kind.is_fifo() => "a named pipe",
        () if kind.is_socket() => "a socket",
        () if kind.is_char_device() || kind.is_block_device() => "a device",
        () => "of a special kind",
    };
    let why = format!("it is {what}, and only regular files are replaced");
    Err(io::Error::new(ErrorKind::InvalidInput, why))
}

/// Makes a file with a name of its own in the folder of `to`.
fn open_beside(to: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    loop {
        // Relaxed: only the number counts; it publishes nothing.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Without the name that it will have: that may be as long as a name can be.
        let hidden = format!(".fyris-{}-{number}.tmp", std::process::id());
        let at = to.with_file_name(hidden);
        let mut options = OpenOptions::new();
        match options.write(true).create_new(true).mode(mode).open(&at) {
            Ok(file) => return Ok((at, file)),
            // Left behind by a process of the same number that died.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

fn sync_folder(of: &Path) -> io::Result<()> {
    File::open(folder_of(of))?.sync_all()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use tempfile::{TempDir, tempdir};

    use super::*;

    /// Returns a folder with a file `dump` of the given mode.
    fn folder(mode: u32) -> (TempDir, PathBuf) {
        let folder = tempdir().unwrap();
        let path = folder.path().join("dump");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        (folder, path)
    }

    fn replace(path: &Path) -> io::Result<()> {
        let (new, mut file) = NewFile::create(path)?;
        file.write_all(b"whole").unwrap();
        new.publish(file, true)
    }

    fn count(folder: &TempDir) -> usize {
        fs::read_dir(folder.path()).unwrap().count()
    }

    #[test]
    fn nothing_is_there_until_all_is() {
        let (folder, path) = folder(0o644);
        let (new, mut file) = NewFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop((new, file));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        replace(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(count(&folder), 1);
        assert!(NewFile::create(folder.path()).is_err());
    }

    /// A name of 255 bytes is fine for a file, but the file on its way used to have a longer one.
    #[test]
    fn a_name_may_be_as_long_as_the_system_allows() {
        let folder = tempdir().unwrap();
        replace(&folder.path().join("n".repeat(255))).unwrap();
    }

    /// A private file of mode 0600 used to become one of 0644, which every user could read.
    #[test]
    fn owner_and_permissions_stay() {
        let (_folder, path) = folder(0o640);
        // Only root can give a file away; the permissions are to stay, whichever user runs this.
        let given = std::os::unix::fs::chown(&path, Some(1), Some(2)).is_ok();
        replace(&path).unwrap();
        let meta = fs::metadata(&path).unwrap();
        assert_eq!(meta.mode() & PERMISSIONS, 0o640);
        if given {
            assert_eq!((meta.uid(), meta.gid()), (1, 2));
        }
    }

    #[test]
    fn an_access_control_list_stays() {
        let (_folder, path) = folder(0o600);
        // Version 2; then tag, permissions and id each: owner rw, user 1 r, group none, mask r, others none.
        let mut list = 2u32.to_le_bytes().to_vec();
        for (tag, permissions, id) in [
            (1u16, 6u16, u32::MAX),
            (2, 4, 1),
            (4, 0, u32::MAX),
            (16, 4, u32::MAX),
            (32, 0, u32::MAX),
        ] {
            list.extend(tag.to_le_bytes());
            list.extend(permissions.to_le_bytes());
            list.extend(id.to_le_bytes());
        }
        let file = File::open(&path).unwrap();
        match fsetxattr(&file, ACL, &list, XattrFlags::empty()) {
            Ok(()) => {}
            // A file system without such lists.
            Err(Errno::NOTSUP) => return,
            Err(error) => panic!("{error}"),
        }
        replace(&path).unwrap();
        let new = File::open(&path).unwrap();
        assert_eq!(access_list(&new).unwrap(), Some(list));
    }

    #[test]
    fn a_read_only_file_is_refused() {
        let (folder, path) = folder(0o444);
        let error = replace(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(count(&folder), 1);
    }

    /// A link used to be replaced by the dump, and the file it named kept its old content.
    #[test]
    fn symbolic_links_are_followed() {
        let (folder, path) = folder(0o644);
        let at = |name| folder.path().join(name);
        symlink("dump", at("near")).unwrap();
        symlink(at("near"), at("far")).unwrap();
        replace(&at("far")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        // A link to a file that is yet to come.
        symlink("made", at("early")).unwrap();
        replace(&at("early")).unwrap();
        assert_eq!(fs::read(at("made")).unwrap(), b"whole");
        for link in ["near", "far", "early"] {
            assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink());
        }
        symlink("loop", at("loop")).unwrap();
        assert_eq!(
            replace(&at("loop")).unwrap_err().raw_os_error(),
            Some(Errno::LOOP.raw_os_error())
        );
    }

    #[test]
    fn files_that_are_open_are_not_replaced() {
        let folder = tempdir().unwrap();
        let at = |name| folder.path().join(name);
        let open = File::create(at("open")).unwrap();
        let descriptor = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&open));
        symlink(&descriptor, at("link")).unwrap();
        for path in [PathBuf::from(descriptor), at("link")] {
            let said = replace(&path).unwrap_err();
            assert!(said.to_string().contains("has open"), "{said}");
        }
    }

    /// For root, `/dev/full` used to become a regular file.
    #[test]
    fn pipes_sockets_and_devices_are_refused() {
        let folder = tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        for (path, word) in [
            (socket.as_path(), "socket"),
            (&pipe, "pipe"),
            (Path::new("/dev/full"), "device"),
        ] {
            let error = replace(path).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
            assert!(!fs::metadata(path).unwrap().is_file());
        }
    }
}
