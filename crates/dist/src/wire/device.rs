//! Devices as DeviceAttributes.

use thalweg_proto::{DeviceAttributes, DeviceLocality};
use thalweg_runtime::device::Device;

/// The memory limit of TensorFlow's CPU devices.
const MEMORY_LIMIT: i64 = 256 << 20;

pub fn attributes(device: &Device) -> DeviceAttributes {
    DeviceAttributes {
        name: device.name().to_string(),
        device_type: device.spec.kind.clone().unwrap_or_default(),
        memory_limit: MEMORY_LIMIT,
        locality: Some(DeviceLocality::default()),
        incarnation: device.context.incarnation,
        xla_global_id: -1,
        ..Default::default()
    }
}
