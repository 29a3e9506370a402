//! `TF_TString`: an element of a string tensor, in one of four forms that the two low bits of its first byte tell.

use crate::pointers::{Array, Out};
use std::ffi::{c_char, c_int, c_void};

/// Bytes in the string itself.
const SMALL: u64 = 0;
/// Bytes on the heap, owned by the string.
const LARGE: u64 = 1;
/// Bytes at a distance from the string.
const OFFSET: u64 = 2;
/// Bytes of somebody else.
const VIEW: u64 = 3;

const SMALL_CAPACITY: usize = 22;

/// Small: length * 4 in the first byte, then the bytes and a zero. Large: length * 4 + 1, capacity, address. Offset: length * 4 + 2 and the
/// distance, of 32 bits each. View: length * 4 + 3, address.
#[repr(C)]
pub struct TString([u64; 3]);

impl TString {
    pub const EMPTY: TString = TString([0; 3]);

    fn form(&self) -> u64 {
        self.0[0] & 3
    }

    pub fn of(bytes: &[u8]) -> TString {
        let mut made = TString::EMPTY;
        made.assign(bytes);
        made
    }

    fn len(&self) -> usize {
        match self.form() {
            SMALL => ((self.0[0] & 0xff) >> 2) as usize,
            OFFSET => ((self.0[0] & 0xffff_ffff) >> 2) as usize,
            _ => (self.0[0] >> 2) as usize,
        }
    }

    fn data(&self) -> *const u8 {
        let own = std::ptr::from_ref(self).cast::<u8>();
        match self.form() {
            SMALL => own.wrapping_add(1),
            LARGE => self.0[2] as *const u8,
            OFFSET => own.wrapping_add((self.0[0] >> 32) as usize),
            _ => self.0[1] as *const u8,
        }
    }

    pub fn bytes(&self) -> &[u8] {
        let (data, len) = (self.data(), self.len());
        if data.is_null() || self.form() == SMALL && len > SMALL_CAPACITY {
            return &[];
        }
        // SAFETY: where the form says, which the functions of this file and the caller's inline ones keep true.
        unsafe { std::slice::from_raw_parts(data, len) }
    }

    /// Copies the bytes, which may be its own. Without memory for them it is empty.
    fn assign(&mut self, bytes: &[u8]) {
        let mut made = TString::EMPTY;
        if bytes.len() <= SMALL_CAPACITY {
            let words = bytes_of(&mut made.0);
            words[0] = (bytes.len() << 2) as u8;
            words[1..=bytes.len()].copy_from_slice(bytes);
        } else {
            // With the zero that ends it, in steps of 16 bytes.
            let size = (bytes.len() + 1).next_multiple_of(16);
            // SAFETY: a null is checked for.
            let data = unsafe { libc::malloc(size) }.cast::<u8>();
            if !data.is_null() {
                // SAFETY: a fresh allocation that is longer than the bytes.
                unsafe {
                    data.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                    data.add(bytes.len()).write(0);
                }
                made.0 = [(bytes.len() as u64) << 2 | LARGE, (size - 1) as u64, data as u64];
            }
        }
        self.free();
        *self = made;
    }

    /// Frees its own bytes, and is empty then. Others stay as they are.
    pub fn free(&mut self) {
        if self.form() == LARGE {
            // SAFETY: a large string owns its bytes, which malloc allocated.
            unsafe { libc::free(self.0[2] as *mut c_void) };
            *self = TString::EMPTY;
        }
    }
}

/// The words as bytes.
fn bytes_of(words: &mut [u64; 3]) -> &mut [u8; 24] {
    // SAFETY: the same memory, of which every bit pattern is valid in both.
    unsafe { &mut *std::ptr::from_mut(words).cast() }
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_StringInit(string: Out<TString>) {
    string.put(TString::EMPTY);
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_StringCopy(string: Option<&mut TString>, bytes: Array<u8>, size: usize) {
    if let (Some(string), Ok(bytes)) = (string, bytes.slice(size)) {
        string.assign(bytes);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_StringAssignView(string: Option<&mut TString>, bytes: *const c_char, size: usize) {
    if let Some(string) = string {
        string.free();
        string.0 = [(size as u64) << 2 | VIEW, bytes as u64, 0];
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_StringGetDataPointer(string: Option<&TString>) -> *const c_char {
    string.map_or(std::ptr::null(), |s| s.data().cast())
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_StringGetType(string: Option<&TString>) -> c_int {
    string.map_or(SMALL, TString::form) as c_int
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_StringGetSize(string: Option<&TString>) -> usize {
    string.map_or(0, TString::len)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_StringGetCapacity(string: Option<&TString>) -> usize {
    string.map_or(0, |s| match s.form() {
        SMALL => SMALL_CAPACITY,
        LARGE => s.0[1] as usize,
        _ => 0,
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_StringDealloc(string: Option<&mut TString>) {
    if let Some(string) = string {
        string.free();
    }
}
