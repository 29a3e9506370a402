//! The task that a server is: its name, its devices and their state, which all its sessions share.

use std::sync::{Arc, Mutex};
use thalweg_core::error::Result;
use thalweg_core::registry::Registry;
use thalweg_core::resource::{ResourceStore, lock};
use thalweg_core::step::DeviceContext;
use thalweg_runtime::SessionOptions;
use thalweg_runtime::device::Device;

pub struct Task {
    /// `/job:localhost/replica:0/task:0`.
    pub name: String,
    pub registry: Arc<Registry>,
    /// What sessions start from, before the client's own wishes.
    pub options: SessionOptions,
    /// Grows when a session asks for more CPU devices than there are.
    devices: Mutex<Vec<Device>>,
}

impl Task {
    pub fn new(registry: Arc<Registry>, options: SessionOptions) -> Result<Task> {
        let devices = Mutex::new(options.make_devices()?);
        let name = format!("/job:{}/replica:0/task:{}", options.job, options.task);
        Ok(Task { name, registry, options, devices })
    }

    /// The devices for a session; with `isolated`, their state is its own.
    pub fn session_devices(&self, options: &SessionOptions, isolated: bool) -> Result<Vec<Device>> {
        options.check_devices()?;
        let mut devices = lock(&self.devices);
        while devices.len() < options.cpu_devices {
            let name = format!("{}/device:CPU:{}", self.name, devices.len());
            let Some(first) = devices.first() else { break };
            let next = with_own_state(&first.context, name.into())?;
            devices.push(next);
        }
        let shared = devices.iter().take(options.cpu_devices);
        if !isolated {
            return Ok(shared.cloned().collect());
        }
        shared.map(|d| with_own_state(&d.context, d.context.name.clone())).collect()
    }

    /// Drops the state in these containers; in the default one if none is named.
    pub fn clear(&self, containers: &[String]) {
        let devices = lock(&self.devices).clone();
        devices.iter().for_each(|d| d.context.resources.clear(containers));
    }

    pub fn devices(&self) -> Vec<Device> {
        lock(&self.devices).clone()
    }
}

/// A device like another, with an empty store.
fn with_own_state(like: &DeviceContext, name: Arc<str>) -> Result<Device> {
    let seed = (like.entropy)();
    Device::new(Arc::new(DeviceContext {
        incarnation: if name == like.name { like.incarnation } else { seed | 1 },
        name,
        pool: like.pool.clone(),
        resources: Arc::new(ResourceStore::new(like.resources.default_container())),
        entropy: like.entropy.clone(),
        print: like.print.clone(),
    }))
}
