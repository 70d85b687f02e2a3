//! The names that Erlang's `file` module has for the errors of the system.

use std::io::{Error, ErrorKind};

/// Returns the name of the error: `enoent`, `eacces`, ...
pub(super) fn name(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound => "enoent",
        ErrorKind::PermissionDenied if error.raw_os_error() == Some(1) => "eperm",
        ErrorKind::PermissionDenied => "eacces",
        ErrorKind::AlreadyExists => "eexist",
        ErrorKind::IsADirectory => "eisdir",
        ErrorKind::NotADirectory => "enotdir",
        ErrorKind::DirectoryNotEmpty => "enotempty",
        ErrorKind::ReadOnlyFilesystem => "erofs",
        ErrorKind::StorageFull => "enospc",
        ErrorKind::QuotaExceeded => "edquot",
        ErrorKind::FileTooLarge => "efbig",
        ErrorKind::ResourceBusy => "ebusy",
        ErrorKind::ExecutableFileBusy => "etxtbsy",
        ErrorKind::CrossesDevices => "exdev",
        ErrorKind::TooManyLinks => "emlink",
        ErrorKind::InvalidInput | ErrorKind::InvalidFilename => invalid(error),
        ErrorKind::OutOfMemory => "enomem",
        ErrorKind::StaleNetworkFileHandle => "estale",
        ErrorKind::NotSeekable => "espipe",
        _ => by_number(error.raw_os_error()),
    }
}

fn invalid(error: &Error) -> &'static str {
    match error.raw_os_error() {
        Some(36) => "enametoolong",
        _ => "einval",
    }
}

/// Returns the name of an error that the standard library has no stable name for, by Linux's number.
fn by_number(code: Option<i32>) -> &'static str {
    match code {
        Some(5) => "eio",
        Some(6) => "enxio",
        Some(19) => "enodev",
        Some(23) => "enfile",
        Some(24) => "emfile",
        Some(40) => "eloop",
        _ => "unknown",
    }
}
