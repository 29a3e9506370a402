//! `TF_Buffer`: bytes with the function that frees them. Its fields are part of the interface.

use crate::pointers::Array;
use crate::status::quiet;
use std::ffi::c_void;
use thalweg_core::error::{Result, resource_exhausted};
use thalweg_core::invalid;
use thalweg_proto::{Bytes, Message, Name};

type Deallocator = extern "C" fn(data: *mut c_void, length: usize);

/// The fields are those of the header.
#[repr(C)]
pub struct Buffer {
    data: *const c_void,
    length: usize,
    deallocator: Option<Deallocator>,
}

impl Default for Buffer {
    fn default() -> Self {
        Buffer { data: std::ptr::null(), length: 0, deallocator: None }
    }
}

/// Frees what `Buffer::set` allocated.
extern "C" fn free(data: *mut c_void, _: usize) {
    // SAFETY: allocated by malloc, and freed once by the buffer that owns it.
    unsafe { libc::free(data) }
}

impl Buffer {
    pub fn of(bytes: &[u8]) -> Result<Buffer> {
        // SAFETY: a null is checked for. At least one byte, so that an empty buffer has an address too.
        let data = unsafe { libc::malloc(bytes.len().max(1)) };
        if data.is_null() {
            return Err(resource_exhausted(format_args!("no memory for a buffer of {} bytes", bytes.len())));
        }
        // SAFETY: a fresh allocation of that length.
        unsafe { data.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(Buffer { data, length: bytes.len(), deallocator: Some(free) })
    }

    pub fn bytes(&self) -> &[u8] {
        if self.data.is_null() {
            return &[];
        }
        // SAFETY: the caller who filled it promises `length` bytes.
        unsafe { std::slice::from_raw_parts(self.data.cast(), self.length) }
    }

    /// Decodes the message in it; `what` names it for errors.
    pub fn decode<M: Message + Name + Default>(&self, what: &str) -> Result<M> {
        decode(self.bytes(), what)
    }

    /// Fills an empty buffer.
    pub fn set(&mut self, bytes: &[u8]) -> Result<()> {
        self.need_empty()?;
        *self = Buffer::of(bytes)?;
        Ok(())
    }

    /// Fills an empty buffer with a message.
    pub fn put(&mut self, message: &impl Message) -> Result<()> {
        self.set(&thalweg_proto::encode(message))
    }

    pub fn need_empty(&self) -> Result<()> {
        if self.data.is_null() {
            return Ok(());
        }
        Err(invalid!("Passing non-empty output buffer is invalid."))
    }
}

/// Decodes a message; `what` names it for errors.
pub fn decode<M: Message + Name + Default>(bytes: &[u8], what: &str) -> Result<M> {
    thalweg_io::message::decode(Bytes::copy_from_slice(bytes))?
        .map_err(|e| invalid!("Unparseable {what} proto: {e}"))
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(deallocator) = self.deallocator.take()
            && !self.data.is_null()
        {
            deallocator(self.data.cast_mut(), self.length);
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_NewBuffer() -> Box<Buffer> {
    Box::default()
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_NewBufferFromString(proto: Array<u8>, length: usize) -> Option<Box<Buffer>> {
    quiet(None, || Ok(Some(Box::new(Buffer::of(proto.slice(length)?)?))))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeleteBuffer(buffer: Option<Box<Buffer>>) {
    drop(buffer);
}

/// A view: the buffer still owns its bytes.
#[repr(C)]
pub struct BufferView {
    data: *const c_void,
    length: usize,
    deallocator: Option<Deallocator>,
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GetBuffer(buffer: Option<&Buffer>) -> BufferView {
    match buffer {
        Some(b) => BufferView { data: b.data, length: b.length, deallocator: b.deallocator },
        None => BufferView { data: std::ptr::null(), length: 0, deallocator: None },
    }
}
