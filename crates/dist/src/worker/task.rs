//! The task of a server: its name, its devices and their state, shared by all sessions.

use crate::threads::client_threads::ClientThreads;
use crate::threads::priority::with_low_priority;
use std::sync::{Arc, Mutex};
use thalweg_core::error::{Result, internal};
use thalweg_core::memory::Holder;
use thalweg_core::registry::Registry;
use thalweg_core::resource::ResourceStore;
use thalweg_core::sync::lock;
use thalweg_runtime::SessionOptions;
use thalweg_runtime::device::Device;

pub struct Task {
    /// `/job:localhost/replica:0/task:0`.
    pub name: String,
    pub registry: Arc<Registry>,
    /// Defaults of sessions, before the client's options.
    pub options: SessionOptions,
    pub threads: ClientThreads,
    /// Grows when a session needs more CPU devices.
    devices: Mutex<Vec<Device>>,
}

impl Task {
    pub fn new(registry: Arc<Registry>, options: SessionOptions) -> Result<Task> {
        // The threads of their pools inherit it.
        let devices = with_low_priority(|| options.make_devices())
            .map_err(|_| internal("the devices could not be made"))??;
        let name = format!("/job:{}/replica:0/task:{}", options.job, options.task);
        Ok(Task { name, registry, options, threads: ClientThreads::new()?, devices: Mutex::new(devices) })
    }

    /// The devices for a session that names this task `name`; with `isolated`, they have their own state.
    pub fn session_devices(
        &self,
        name: &str,
        options: &SessionOptions,
        isolated: bool,
    ) -> Result<Vec<Device>> {
        options.check_devices()?;
        let mut devices = lock(&self.devices);
        while devices.len() < options.cpu_devices {
            let new = format!("{}/device:CPU:{}", self.name, devices.len());
            let Some(first) = devices.first() else { break };
            let life = (first.context.entropy)() | 1;
            let (memory, state) = (first.context.memory.clone(), ResourceStore::new(&self.options.job));
            let next = first.like(new.into(), life, state, memory)?;
            devices.push(next);
        }
        let shared = devices.iter().take(options.cpu_devices);
        let state = |d: &Device| match isolated {
            true => ResourceStore::new(&self.options.job),
            false => ResourceStore::of_session(&d.context.resources),
        };
        let memory = Arc::new(Holder::new());
        let of_session = |d: &Device| {
            d.like(renamed(d.name(), name).into(), d.context.incarnation, state(d), memory.clone())
        };
        shared.map(of_session).collect()
    }

    /// Clears these containers; the default one if none is named.
    pub fn clear(&self, containers: &[String]) {
        let devices = lock(&self.devices).clone();
        devices.iter().for_each(|d| d.context.resources.clear(containers));
    }

    pub fn devices(&self) -> Vec<Device> {
        lock(&self.devices).clone()
    }
}

/// Resources may hold devices, a reference cycle: they are released.
impl Drop for Task {
    fn drop(&mut self) {
        self.devices().iter().for_each(|d| d.context.resources.end());
    }
}

/// The name of a device in a cluster where its task has this name.
pub fn renamed(device: &str, task: &str) -> String {
    match device.split_once("/device:") {
        Some((_, local)) => format!("{task}/device:{local}"),
        None => device.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tasks_devices_hold_goes_with_it() {
        let options = SessionOptions { threads: 1, ..Default::default() };
        let task = Task::new(Arc::new(thalweg_ops::registry()), options).unwrap();
        let store = task.devices()[0].context.resources.clone();
        let before = store.generation();
        drop(task);
        assert_ne!(store.generation(), before);
    }
}
