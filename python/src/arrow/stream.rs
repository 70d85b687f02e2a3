//! The stream of the C data interface: a schema and batches, handed out one after another.
//!
//! **RELEASED**: what `data` of a stream points to is a `Data` that `Stream::new` has boxed, until `release`, which
//! is called at most once, has freed it. Consumers move a stream by copying it and taking `release` from the original,
//! and call it from one thread at a time.

use std::ffi::{c_char, c_int, c_void};
use std::{ptr, vec};

use arrow_data::ArrayData;
use arrow_data::ffi::FFI_ArrowArray;
use arrow_schema::Schema;
use arrow_schema::ffi::FFI_ArrowSchema;

/// The number of the system for an argument that makes no sense.
const EINVAL: c_int = 22;

/// `struct ArrowArrayStream`.
#[repr(C)]
pub(super) struct Stream {
    get_schema: unsafe extern "C" fn(*mut Stream, *mut FFI_ArrowSchema) -> c_int,
    get_next: unsafe extern "C" fn(*mut Stream, *mut FFI_ArrowArray) -> c_int,
    get_last_error: unsafe extern "C" fn(*mut Stream) -> *const c_char,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    data: *mut c_void,
}

struct Data {
    schema: Schema,
    batches: vec::IntoIter<ArrayData>,
}

// SAFETY: by RELEASED it owns its `Data`, which is `Send`.
unsafe impl Send for Stream {}

impl Stream {
    pub(super) fn new(schema: Schema, batches: Vec<ArrayData>) -> Stream {
        let batches = batches.into_iter();
        Stream {
            get_schema,
            get_next,
            get_last_error,
            release: Some(release),
            data: Box::into_raw(Box::new(Data { schema, batches })).cast(),
        }
    }

    fn data(&mut self) -> &mut Data {
        // SAFETY: RELEASED; a stream that was released is not asked.
        unsafe { &mut *self.data.cast() }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: not released, and not moved by a consumer.
            unsafe { release(self) };
        }
    }
}

unsafe extern "C" fn get_schema(stream: *mut Stream, out: *mut FFI_ArrowSchema) -> c_int {
    // SAFETY: the caller's stream, which was not released.
    let schema = FFI_ArrowSchema::try_from(&unsafe { &mut *stream }.data().schema);
    let Ok(schema) = schema else { return EINVAL };
    // SAFETY: the caller's place for it, which holds nothing.
    unsafe { out.write(schema) };
    0
}

/// Writes the next batch; a released array at the end.
unsafe extern "C" fn get_next(stream: *mut Stream, out: *mut FFI_ArrowArray) -> c_int {
    // SAFETY: as in `get_schema`.
    let next = unsafe { &mut *stream }.data().batches.next();
    let next = next.map_or_else(FFI_ArrowArray::empty, |batch| FFI_ArrowArray::new(&batch));
    // SAFETY: as in `get_schema`.
    unsafe { out.write(next) };
    0
}

unsafe extern "C" fn get_last_error(_stream: *mut Stream) -> *const c_char {
    ptr::null()
}

unsafe extern "C" fn release(stream: *mut Stream) {
    // SAFETY: the caller's stream.
    let stream = unsafe { &mut *stream };
    // None in one that was released.
    if stream.release.take().is_some() {
        // SAFETY: RELEASED.
        drop(unsafe { Box::from_raw(stream.data.cast::<Data>()) });
    }
}
