//! Devices of new nodes: named by scopes, or chosen node by node by functions.

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
    /// The device that scopes inside of the function's scope name; empty if none.
    pub device: &'a str,
}

type DeviceFunction = dyn Fn(&NewNode<'_>) -> String + Send + Sync;

/// The devices that a scope says, from the innermost function inwards, and what is around that function.
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
    /// One device, whatever functions say.
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

    /// The device of a new node: functions and names from the inside out, each filling in what is still open.
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
        // A name that cannot be parsed is told of when the graph is placed.
        _ => inner.to_string(),
    }
}

impl Scope {
    /// Nodes made on the scope returned are placed on this device; what is not said is taken from the outer scope.
    pub fn device(&self, device: &str) -> Scope {
        self.with(|p| p.devices = p.devices.with(device))
    }

    /// The device of each node made on the scope returned is what the function gives. It is told what scopes inside of it say, and what
    /// it leaves open is taken from the outer scope. Variables ask once, for their handle; the rest of them goes with it.
    pub fn device_function(&self, choose: impl Fn(&NewNode<'_>) -> String + Send + Sync + 'static) -> Scope {
        self.with(|p| p.devices = p.devices.chosen_by(Box::new(choose)))
    }

    /// Nodes made on the scope returned are placed on this device, or anywhere if it is empty, whatever outer scopes say.
    pub fn only_on(&self, device: &str) -> Scope {
        self.with(|p| p.devices = Devices::only(device))
    }
}
