//! Checking segments out, and what a working copy is.

use std::ffi::{c_char, c_void};

use ::fyris_segment::{Error, Segment, Shared, Tracking};

use super::options::options_of;
use super::{fyris_segment, with};
use crate::args::{Known, Out, handle, text};
use crate::error::{call, free, fyris_code, fyris_error, make};

/// Checks a segment out: gives this process a private working copy of it.
///
/// `name` without a slash is a segment of this user in memory, which lasts until it is unlinked or the machine
/// restarts; with a slash it is the path of a file, and the segment lasts as the file does. `size` is in bytes; 0
/// attaches to a segment that is there, whatever its size. `options` is a list in Erlang's syntax, or NULL for none:
///
/// - `existing`: do not create it; `exclusive`: it must be new;
/// - `read_only`: nothing is tracked, writing raises SIGSEGV; permission to read the file is enough;
/// - `in_place`: read-only, and shows the trunk's own pages instead of copies, but for those that updates change. What
///   it sees is kept while it does not update: others' commits may fail with FYRIS_E_NO_SPACE then;
/// - `{unit, Bytes}`: the editing unit by which changes are merged, a power of two up to 64 (default 8);
/// - `{max_size, Bytes}`: the size it may grow to, fixed when it is created (default: `size`);
/// - `{slots, Count}`, `{history, Bytes}`: how many processes may have it checked out (default 1,024), and how many
///   bytes of replaced pages it may keep for those that lag (default 8 times its size), fixed when it is created;
///   FYRIS_E_BASE_LOST is for processes beyond that;
/// - `{mode, Mode}`, `{group, Gid}`: permissions (`8#640`) and group of a new file (default: 0600, the process's); who
///   attaches to a segment in memory with wider permissions says the same mode;
/// - `declared`: writes are not noticed but declared with `fyris_segment_touch`; `{tracking, userfault}` or `{tracking,
///   signal}` choose how they are noticed (default: the best the kernel has);
/// - `foreign_writes`: every commit looks for what a debugger or `process_vm_writev` wrote into the copy, at half a
///   microsecond a MiB. Without it such a write is noticed after this process's next page fault, and a commit without a
///   page fault before it costs the same whatever the segment's size. `one_writer`: always the same thread writes and
///   commits, whose faults are counted faster;
/// - `after_unlink`: commits and waits go on when the segment's name was removed; otherwise they fail with
///   FYRIS_E_UNLINKED;
/// - `{lag, Pages}`: commits let the log go on without processes that are so many changed pages behind;
/// - `{private, Start, End}`: what this process writes there is its own and never committed (marks of a garbage
///   collector);
/// - `{place, Start, End, Address}`: these bytes are at this address, where nothing may be mapped; there they are read
///   and written. Several may be given; all numbers are multiples of 4096. Bytes that are written to at
///   `fyris_segment_data` instead have to be declared. After a fork they are there again when the child has reattached.
///   `{replace, Start, End, Address}`: over what is mapped there, which nobody may use any more; when the segment is
///   freed nothing is there.
///
/// O(size). Fails with FYRIS_E_NO_SEGMENT, FYRIS_E_EXISTS, FYRIS_E_ARGUMENT (too small, another unit, no name),
/// FYRIS_E_SYNTAX, FYRIS_E_DAMAGED, FYRIS_E_NO_ACCESS, FYRIS_E_LIMIT, FYRIS_E_NO_SPACE, FYRIS_E_UNSUPPORTED,
/// FYRIS_E_IO.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_checkout(
    name: *const c_char,
    size: usize,
    options: *const c_char,
    err: *mut fyris_error,
) -> *mut fyris_segment {
    make(err, || {
        // SAFETY: TEXT: the name.
        let name = unsafe { text(name, "the segment's name") }?;
        // SAFETY: TEXT: the options, or null.
        let options = unsafe { options_of(options) }?;
        let segment = Segment::checkout(name, size, &options)?;
        Ok(fyris_segment(Shared::new(segment)))
    })
}

/// Gives the working copy up, with its uncommitted changes; the segment stays. No memory of it may be used any more.
///
/// Threads: last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_free(segment: *mut fyris_segment) {
    // SAFETY: OWNED and THREAD: the last use.
    unsafe { free(segment) }
}

/// Removes the name of a segment. Processes that have it checked out keep it, and are told by their next commit or wait
/// (FYRIS_E_UNLINKED): who checks the name out from now on shares nothing with them. Nothing else ever removes a name.
///
/// Fails with FYRIS_E_NO_SEGMENT, FYRIS_E_ARGUMENT, FYRIS_E_DAMAGED (it is no segment, and left alone), FYRIS_E_IO.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_unlink(
    name: *const c_char,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: TEXT: the name.
        Ok(Segment::unlink(unsafe {
            text(name, "the segment's name")
        }?)?)
    })
}

/// Returns the working copy: the memory to read and to write, at a multiple of the page size. It stays where it is
/// until the segment is freed or reattached, and changes only by this process's writes and in updates. No thread should
/// write to it during a call with the segment.
///
/// Fails with FYRIS_E_BUSY, FYRIS_E_FORKED.
///
/// Threads: turn.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_data(
    segment: *const fyris_segment,
    err: *mut fyris_error,
) -> *mut c_void {
    let mut data = std::ptr::null_mut();
    call(err, || {
        let here = |segment: &mut Segment| match segment.is_forked() {
            true => Err(Error::Forked),
            false => Ok(segment.as_mut_ptr()),
        };
        // SAFETY: HANDLE: the segment.
        data = unsafe { with(segment, here) }?;
        Ok(())
    });
    data.cast()
}

/// The state of a working copy.
#[repr(C)]
pub struct fyris_segment_state {
    /// `sizeof` of this struct, which the caller sets (FYRIS_SEGMENT_STATE_INIT): later versions may have more fields.
    pub struct_size: usize,
    /// Its bytes.
    pub size: usize,
    /// The bytes it may grow to.
    pub max_size: usize,
    /// The editing unit in bytes.
    pub unit: usize,
    /// Its version: the commits (and growths) that it contains.
    pub version: u64,
    /// The version of the trunk.
    pub trunk_version: u64,
    /// The trunk has changes that the working copy has not.
    pub behind: bool,
    /// The checkout is read-only.
    pub read_only: bool,
    /// This is a forked child of the process that checked the segment out: reattach.
    pub forked: bool,
    /// The way in which writes are noticed: "userfault", "signal", or "declared" (not at all; also of a
    /// read-only one). With "signal", `read` and other system calls into pages not yet written fail with EFAULT:
    /// `fyris_segment_touch` them before. Yours to read for ever.
    pub tracking: *const c_char,
}

/// Describes a working copy as it is now. No system call.
///
/// Fails with FYRIS_E_BUSY.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_look(
    segment: *const fyris_segment,
    state: *mut fyris_segment_state,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: OUT: the state.
        let out = unsafe { Known::new(state, "the state") }?;
        let look = |segment: &mut Segment| {
            Ok(fyris_segment_state {
                struct_size: 0,
                size: segment.len(),
                max_size: segment.max_len(),
                unit: segment.unit(),
                version: segment.version(),
                trunk_version: segment.trunk_version(),
                behind: segment.is_behind(),
                read_only: segment.is_read_only(),
                forked: segment.is_forked(),
                tracking: match segment.tracking() {
                    Tracking::Userfault => c"userfault",
                    Tracking::Signal => c"signal",
                    _ => c"declared",
                }
                .as_ptr(),
            })
        };
        // SAFETY: HANDLE: the segment; OUT: the state.
        unsafe { out.put(with(segment, look)?) };
        Ok(())
    })
}

/// Whether the trunk has changes that the working copy has not: two loads, no system call.
///
/// Fails with FYRIS_E_BUSY.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_is_behind(
    segment: *const fyris_segment,
    behind: *mut bool,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = Out::new(behind, "the place for the answer")?;
        // SAFETY: HANDLE: the segment; OUT: the answer.
        unsafe { out.put(with(segment, |segment| Ok(segment.is_behind()))?) };
        Ok(())
    })
}

/// In a forked child: checks the same segment out anew, at the trunk's present version; the parent's uncommitted
/// changes are not in it, and `fyris_segment_data` is elsewhere. In the process that checked it out: nothing. Until it
/// is called every other call says FYRIS_E_FORKED.
///
/// Fails as `fyris_segment_checkout`; FYRIS_E_NO_SEGMENT if the name was unlinked. That the parent forked while another
/// of its threads was inside a call does no harm.
///
/// Threads: turn.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_segment_reattach(
    segment: *const fyris_segment,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the segment.
        Ok(unsafe { handle(segment, "the segment") }?.0.reattach()?)
    })
}
