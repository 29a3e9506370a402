//! `TF_Status`, and the guard around every exported function: no panic leaves the library.

use crate::pointers::{Text, c_text};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use thalweg_core::error::{Code, Error, Result};
use thalweg_core::kernel::caught;

/// A code and a message; code 0 is success.
#[derive(Default)]
pub struct Status {
    code: c_int,
    message: CString,
    payloads: Vec<(CString, CString)>,
}

impl Status {
    fn clear(&mut self) {
        *self = Status::default();
    }

    pub fn set(&mut self, e: &Error) {
        *self = Status { code: e.code() as c_int, message: c_text(&e.wire_message()), payloads: Vec::new() };
    }
}

/// Runs the body of an exported function that reports to a status. `failed` is returned if it fails or panics.
pub fn answer<R>(status: Option<&mut Status>, failed: R, body: impl FnOnce() -> Result<R>) -> R {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(caught(&*panic)));
    match (result, status) {
        (Ok(value), Some(status)) => {
            if status.code != 0 {
                status.clear();
            }
            value
        }
        (Ok(value), None) => value,
        (Err(e), Some(status)) => {
            status.set(&e);
            failed
        }
        (Err(_), None) => failed,
    }
}

/// As `answer`, for functions that report nothing.
pub fn quiet<R>(failed: R, body: impl FnOnce() -> Result<R>) -> R {
    answer(None, failed, body)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_NewStatus() -> Box<Status> {
    Box::default()
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeleteStatus(status: Option<Box<Status>>) {
    drop(status);
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetStatus(status: Option<&mut Status>, code: c_int, message: Text) {
    let Some(status) = status else { return };
    let text = message.bytes().map(String::from_utf8_lossy).unwrap_or_default();
    *status = Status {
        code,
        message: if code == 0 { CString::default() } else { c_text(&text) },
        payloads: Vec::new(),
    };
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetPayload(status: Option<&mut Status>, key: Text, value: Text) {
    let text = |t: Text| t.bytes().ok().and_then(|b| CString::new(b).ok());
    let (Some(status), Some(key), Some(value)) = (status, text(key), text(value)) else { return };
    // Success has none, as in TensorFlow.
    if status.code != 0 {
        status.payloads.retain(|p| p.0 != key);
        status.payloads.push((key, value));
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ForEachPayload(
    status: Option<&Status>,
    visit: Option<extern "C" fn(*const c_char, *const c_char, *mut c_void)>,
    capture: *mut c_void,
) {
    let (Some(status), Some(visit)) = (status, visit) else { return };
    status.payloads.iter().for_each(|(key, value)| visit(key.as_ptr(), value.as_ptr(), capture));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetStatusFromIOError(status: Option<&mut Status>, errno: c_int, context: Text) {
    let Some(status) = status else { return };
    let e = Error::from(std::io::Error::from_raw_os_error(errno));
    status.set(&e.context(context.or_empty().unwrap_or_default()));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_GetCode(status: Option<&Status>) -> c_int {
    status.map_or(Code::InvalidArgument as c_int, |s| s.code)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_Message(status: Option<&Status>) -> *const c_char {
    status.map_or(c"the status is null", |s: &Status| -> &CStr { &s.message }).as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_MakeInternalErrorStatus(status: Option<&mut Status>, message: Text) {
    TF_SetStatus(status, Code::Internal as c_int, message);
}
