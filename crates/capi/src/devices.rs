//! `TF_DeviceList`.

use crate::pointers::c_text;
use crate::status::{Status, answer};
use std::ffi::{CString, c_char, c_int};
use thalweg_client::Session;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_runtime::device::{Device, DeviceSpec};

/// What TensorFlow says of every CPU.
const MEMORY_BYTES: i64 = 256 << 20;

pub struct DeviceList(Vec<Listed>);

struct Listed {
    name: CString,
    kind: CString,
    incarnation: u64,
}

impl DeviceList {
    pub fn of(session: &Session) -> Result<DeviceList> {
        match session.runtime() {
            Some(runtime) => Ok(DeviceList::of_devices(runtime.devices())),
            None => Ok(DeviceList(session.devices()?.iter().map(|name| Listed::of(name, 0)).collect())),
        }
    }

    pub fn of_devices(devices: &[Device]) -> DeviceList {
        DeviceList(devices.iter().map(|d| Listed::of(d.name(), d.context.incarnation)).collect())
    }
}

impl Listed {
    fn of(name: &str, incarnation: u64) -> Listed {
        let kind = DeviceSpec::parse(name).ok().and_then(|spec| spec.kind).unwrap_or_default();
        Listed { name: c_text(name), kind: c_text(&kind), incarnation }
    }
}

fn device(list: Option<&DeviceList>, index: c_int) -> Result<&Listed> {
    let devices = list.map_or(&[] as &[Listed], |list| &list.0);
    let device = usize::try_from(index).ok().and_then(|i| devices.get(i));
    device.ok_or_else(|| invalid!("index out of bounds"))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeleteDeviceList(list: Option<Box<DeviceList>>) {
    drop(list);
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeviceListCount(list: Option<&DeviceList>) -> c_int {
    list.map_or(0, |list| list.0.len() as c_int)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeviceListName(
    list: Option<&DeviceList>,
    index: c_int,
    status: Option<&mut Status>,
) -> *const c_char {
    answer(status, std::ptr::null(), || Ok(device(list, index)?.name.as_ptr()))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeviceListType(
    list: Option<&DeviceList>,
    index: c_int,
    status: Option<&mut Status>,
) -> *const c_char {
    answer(status, std::ptr::null(), || Ok(device(list, index)?.kind.as_ptr()))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeviceListMemoryBytes(
    list: Option<&DeviceList>,
    index: c_int,
    status: Option<&mut Status>,
) -> i64 {
    answer(status, -1, || device(list, index).map(|_| MEMORY_BYTES))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeviceListIncarnation(
    list: Option<&DeviceList>,
    index: c_int,
    status: Option<&mut Status>,
) -> u64 {
    answer(status, 0, || device(list, index).map(|d| d.incarnation))
}
