//! From a name to a file.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf, absolute};
use std::sync::Arc;

use crate::error::{Error, Result};

/// Longest name of an anonymous segment.
const MAX_NAME: usize = 200;

/// The location of a segment.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    /// The file.
    pub(crate) path: PathBuf,
    /// In shared memory, and therefore private to one user, rather than at a path of the user's.
    pub(crate) anonymous: bool,
    /// The file itself, if it has no name: the path leads to this descriptor.
    file: Option<Arc<OwnedFd>>,
}

impl Location {
    /// Reads `name`: with a slash a path, otherwise the name of an anonymous segment.
    pub(crate) fn of(name: &Path) -> Result<Location> {
        let bytes = name.as_os_str().as_encoded_bytes();
        if bytes.contains(&b'/') {
            return match name.components().next_back() {
                Some(Component::Normal(_)) if !bytes.contains(&0) => Ok(Location {
                    // The same file, wherever this process goes.
                    path: absolute(name).unwrap_or_else(|_| name.to_owned()),
                    anonymous: false,
                    file: None,
                }),
                _ => Err(Error::BadName(name.to_owned())),
            };
        }
        let plain = |b: &u8| b.is_ascii_alphanumeric() || b"._-".contains(b);
        let good = (1..=MAX_NAME).contains(&bytes.len()) && bytes.iter().all(plain);
        if !good || bytes[0] == b'.' {
            return Err(Error::BadName(name.to_owned()));
        }
        let name = String::from_utf8_lossy(bytes);
        Ok(Location {
            path: PathBuf::from(format!("/dev/shm/{}{name}", prefix())),
            anonymous: true,
            file: None,
        })
    }

    /// Returns the place of a file without a name, which is kept open for as long as the place is.
    pub(crate) fn nameless(file: OwnedFd) -> Location {
        Location {
            path: PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())),
            anonymous: false,
            file: Some(Arc::new(file)),
        }
    }

    /// Returns whether the file has no name: then this process, or one that it descends from, has made it.
    pub(crate) fn is_nameless(&self) -> bool {
        self.file.is_some()
    }

    /// Returns the name of the anonymous segment of this user whose file has this name, if there
    /// may be one.
    pub(crate) fn named_in_memory(file: &str) -> Option<&str> {
        let name = file.strip_prefix(&prefix())?;
        Location::of(Path::new(name)).is_ok().then_some(name)
    }

    /// Returns the folder that the file is in.
    pub(crate) fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }
}

/// Returns the beginning of the names of this user's anonymous segments.
fn prefix() -> String {
    format!("fyris-{}-", rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        let of = |name: &str| Location::of(Path::new(name));
        assert!(of("heap-1.a_B").unwrap().anonymous);
        assert!(!of("./heap").unwrap().anonymous);
        let long = "x".repeat(MAX_NAME + 1);
        for bad in ["", ".", "..", ".x", "a b", "ä", "x/..", "/", "a/\0", &long] {
            assert!(matches!(of(bad), Err(Error::BadName(_))), "{bad:?}");
        }
    }
}
