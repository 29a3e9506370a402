//! What C callers pass. A pointer becomes a slice, a string or a value here, and nowhere else.
//!
//! The types of this module are what parameters of the exported functions are. They have the layout of the pointers that they stand for,
//! and no constructors of C's pointers in Rust: they come from callers, who promise what the header says, that a pointer is null or valid for
//! what is counted beside it, during the call. Nulls and negative counts are errors here. Handles are `Option<&T>`, `Option<&mut T>` and
//! `Option<Box<T>>`, which have the layout of pointers that may be null.

use std::ffi::{CStr, CString, c_char, c_int};
use thalweg_core::error::{Result, resource_exhausted};
use thalweg_core::invalid;

/// `const char*`: text that ends with a zero.
#[repr(transparent)]
pub struct Text(*const c_char);

impl Text {
    pub fn null() -> Text {
        Text(std::ptr::null())
    }

    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    pub fn bytes(&self) -> Result<&[u8]> {
        if self.0.is_null() {
            return Err(invalid!("a string is null"));
        }
        // SAFETY: not null, so a string that ends with a zero.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_bytes())
    }

    pub fn str(&self) -> Result<&str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| invalid!("a string is not UTF-8 text"))
    }

    /// The text, or none for null.
    pub fn or_empty(&self) -> Result<&str> {
        if self.0.is_null() { Ok("") } else { self.str() }
    }
}

/// `const T*`: as many values as another parameter says.
#[repr(transparent)]
pub struct Array<T>(*const T);

impl<T> Array<T> {
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    pub fn slice(&self, count: impl TryInto<usize>) -> Result<&[T]> {
        let Ok(count) = count.try_into() else { return Err(invalid!("a count is negative")) };
        if count == 0 {
            return Ok(&[]);
        }
        if self.0.is_null() {
            return Err(invalid!("an array of {count} is null"));
        }
        if count > isize::MAX as usize / size_of::<T>().max(1) || !self.0.is_aligned() {
            return Err(invalid!("an array of {count} cannot be"));
        }
        // SAFETY: not null and aligned, so `count` values.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) })
    }
}

/// `T*`: where results are written.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// The place for one result must be there.
    pub fn need(&self) -> Result<&Self> {
        if self.0.is_null() { Err(invalid!("the place for a result is null")) } else { Ok(self) }
    }

    /// Writes one result, if there is a place for it.
    pub fn put(&self, value: T) {
        self.put_at(0, value);
    }

    pub fn put_at(&self, index: usize, value: T) {
        if !self.0.is_null() {
            // SAFETY: a place for more than `index` values.
            unsafe { self.0.add(index).write_unaligned(value) }
        }
    }

    /// Writes as many as there are places; how many there are in all.
    pub fn fill(&self, places: c_int, values: impl IntoIterator<Item = T>) -> c_int {
        let mut count = 0;
        for value in values {
            if count < places {
                self.put_at(count as usize, value);
            }
            count += 1;
        }
        count
    }

    /// The place after `count` others.
    pub fn after(&self, count: usize) -> Out<T> {
        Out(self.0.wrapping_add(count))
    }

    pub fn address(&self) -> *mut T {
        self.0
    }
}

/// A handle in an array or structure, which may be null.
#[repr(transparent)]
pub struct Handle<T>(*const T);

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Handle<T> {}

impl<T> Handle<T> {
    pub fn null() -> Handle<T> {
        Handle(std::ptr::null())
    }

    /// A handle of what somebody else owns and keeps where it is.
    pub fn of(owned: &T) -> Handle<T> {
        Handle(owned)
    }

    /// A handle of a value of its own, which the caller must delete.
    pub fn new(value: T) -> Handle<T> {
        Handle(Box::into_raw(Box::new(value)))
    }

    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    pub fn get(&self) -> Option<&T> {
        // SAFETY: null, or a handle that has not been deleted.
        unsafe { self.0.as_ref() }
    }

    pub fn need(&self) -> Result<&T> {
        self.get().ok_or_else(|| invalid!("a handle is null"))
    }

    /// The value of a handle made by `new`, which ends.
    pub fn take(self) -> Option<Box<T>> {
        // SAFETY: null, or made by `new` and not deleted before.
        (!self.0.is_null()).then(|| unsafe { Box::from_raw(self.0.cast_mut()) })
    }
}

/// A handle that must not be null.
pub fn need<T>(handle: Option<T>) -> Result<T> {
    handle.ok_or_else(|| invalid!("a handle is null"))
}

/// Text for C: without the zeros that would end it.
pub fn c_text(text: &str) -> CString {
    let clean: Vec<u8> = text.bytes().filter(|b| *b != 0).collect();
    CString::new(clean).unwrap_or_default()
}

/// A copy that the caller frees.
pub fn c_copy(text: &CStr) -> Result<*mut c_char> {
    // SAFETY: a string that ends with a zero; a null is checked for.
    let copy = unsafe { libc::strdup(text.as_ptr()) };
    if copy.is_null() { Err(resource_exhausted("no memory for a string")) } else { Ok(copy) }
}

/// Text that `c_copy` made, or null, given back.
#[repr(transparent)]
pub struct Copied(*mut c_char);

impl Copied {
    pub fn free(self) {
        // SAFETY: null, or allocated by malloc in `c_copy` and not freed before.
        unsafe { libc::free(self.0.cast()) }
    }
}
