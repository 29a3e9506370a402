//! Devices of new nodes: set by scopes, or chosen for each node by device functions.

use crate::scope::Scope;
use std::borrow::Cow;
use std::sync::Arc;
use thalweg_core::attr::Attrs;
use thalweg_runtime::device::DeviceSpec;

/// A node about to be made, as a device function sees it.
pub struct NewNode<'a> {
    /// Its type: `VarHandleOp`.
    pub op: &'a str,
    /// Its attrs: `dtype` and `shape` for a variable.
    pub attrs: &'a Attrs,
    /// The device set by scopes inside of the function's scope; empty if none.
    pub device: &'a str,
}

type DeviceFunction = dyn Fn(&NewNode<'_>) -> String + Send + Sync;

/// The device of a scope, as set inside of the innermost device function, and that function with its outer scope.
#[derive(Clone, Default)]
pub(crate) struct Devices {
    named: String,
    around: Option<Arc<Around>>,
}

struct Around {
    choose: Box<DeviceFunction>,
    outer: Devices,
}

impl Devices {
    /// One device, without device functions.
    pub fn only(device: &str) -> Devices {
        Devices { named: device.to_string(), around: None }
    }

    fn with(&self, device: &str) -> Devices {
        Devices { named: merged(&self.named, device), around: self.around.clone() }
    }

    fn chosen_by(&self, choose: Box<DeviceFunction>) -> Devices {
        let around = Around { choose, outer: self.clone() };
        Devices { named: String::new(), around: Some(Arc::new(around)) }
    }

    /// The device of a new node: merges functions and scopes, the inner ones first.
    pub fn of(&self, op: &str, attrs: &Attrs) -> Cow<'_, str> {
        let mut device = Cow::Borrowed(self.named.as_str());
        let mut at = &self.around;
        while let Some(around) = at {
            let chosen = (around.choose)(&NewNode { op, attrs, device: &device });
            device = Cow::Owned(merged(&around.outer.named, &chosen));
            at = &around.outer.around;
        }
        device
    }
}

fn merged(outer: &str, inner: &str) -> String {
    match (DeviceSpec::parse(outer), DeviceSpec::parse(inner)) {
        (Ok(outer), Ok(inner)) => inner.or(outer).to_string(),
        // A device name that does not parse is an error at placement.
        _ => inner.to_string(),
    }
}

impl Scope {
    /// Nodes made on the scope returned are placed on this device; missing fields are merged from the outer scope.
    pub fn device(&self, device: &str) -> Scope {
        self.with(|p| p.devices = p.devices.with(device))
    }

    /// The function chooses the device of each node made on the scope returned. It gets the device set by inner scopes; missing fields of its
    /// result are merged from the outer scope. It is called once for a variable, for the handle; the other nodes get the same device.
    pub fn device_function(&self, choose: impl Fn(&NewNode<'_>) -> String + Send + Sync + 'static) -> Scope {
        self.with(|p| p.devices = p.devices.chosen_by(Box::new(choose)))
    }

    /// Nodes made on the scope returned are placed on this device, or anywhere if it is empty, without outer scopes.
    pub fn only_on(&self, device: &str) -> Scope {
        self.with(|p| p.devices = Devices::only(device))
    }
}
