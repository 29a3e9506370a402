//! State that outlives a step: resources by container and name on their device, and the handles to them.

use crate::dtype::DataType;
use crate::error::{Error, Result, failed_precondition, not_found};
use crate::flat::drop_flat;
use crate::invalid;
use crate::shape::PartialShape;
use crate::sync::lock;
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

/// A variable, queue, table, …: an entry of a container.
pub trait Resource: Any + Send + Sync {
    /// Its type, for error texts: `Variable`, `FIFOQueue`.
    fn kind(&self) -> &'static str;
    fn as_any(&self) -> &dyn Any;
    /// Called when its container is cleared: wakes and fails its waiters.
    fn discard(&self) {}
}

/// The element of a resource tensor: a name that any process can look up, and locally the resource.
///
/// A deserialised handle has names only; it never carries a pointer.
#[derive(Clone, Default)]
pub struct ResourceHandle {
    pub device: Arc<str>,
    pub container: Arc<str>,
    pub name: Arc<str>,
    pub hash_code: u64,
    pub type_name: Arc<str>,
    /// Type and shape of the resource's value, where known (variables).
    pub values: Vec<(DataType, PartialShape)>,
    pub target: Option<Target>,
}

/// The resource itself, held by a handle.
#[derive(Clone)]
pub struct Target(Option<Arc<dyn Resource>>);

impl<R: Resource> From<Arc<R>> for Target {
    fn from(resource: Arc<R>) -> Target {
        Target(Some(resource))
    }
}

/// The resource may hold handles in turn.
impl Drop for Target {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(drop_flat);
    }
}

impl fmt::Debug for ResourceHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}@{}", self.container, self.name, self.device)
    }
}

/// The container of resources private to a node, such as queues without a shared name: per session.
pub const PRIVATE: &str = "_session";

/// The resources of one device, or a session's view of them.
pub struct ResourceStore {
    /// Container used when a node names none.
    default_container: Arc<str>,
    /// For a session: the device's store, of all but the private container.
    shared: Option<Arc<ResourceStore>>,
    held: Mutex<HashMap<Key, Arc<dyn Resource>>>,
    /// Changes when containers are cleared, so that kernels drop the resources they cache.
    generation: std::sync::atomic::AtomicU64,
}

type Key = (Arc<str>, Arc<str>);

impl ResourceStore {
    pub fn new(default_container: &str) -> Self {
        ResourceStore {
            default_container: default_container.into(),
            shared: None,
            held: Mutex::default(),
            generation: Default::default(),
        }
    }

    /// The view of a session that shares `device` with others.
    pub fn of_session(device: &Arc<ResourceStore>) -> Self {
        let mut own = ResourceStore::new(&device.default_container);
        own.shared = Some(device.clone());
        own
    }

    pub fn generation(&self) -> u64 {
        let shared = self.shared.as_ref().map_or(0, |s| s.generation());
        shared.wrapping_add(self.generation.load(std::sync::atomic::Ordering::Acquire))
    }

    /// The store of a container.
    fn holder(&self, container: &str) -> &ResourceStore {
        match &self.shared {
            Some(shared) if container != PRIVATE => shared,
            _ => self,
        }
    }

    /// Whether this container outlives the session of this view.
    pub fn outlives_session(&self, container: &str) -> bool {
        self.shared.is_some() && container != PRIVATE
    }

    pub fn default_container(&self) -> &Arc<str> {
        &self.default_container
    }

    fn key(&self, container: &str, name: &str) -> Key {
        let container = if container.is_empty() { self.default_container.clone() } else { container.into() };
        (container, name.into())
    }

    /// The resource of that name, created by `make` if missing. One of another type is an error.
    pub fn get_or_create<R: Resource>(
        &self,
        container: &str,
        name: &str,
        make: impl FnOnce() -> Result<R>,
    ) -> Result<Arc<R>> {
        let mut held = lock(&self.holder(container).held);
        let key = self.key(container, name);
        if let Some(found) = held.get(&key) {
            return downcast(found, name);
        }
        let made = Arc::new(make()?);
        held.insert(key, made.clone());
        Ok(made)
    }

    pub fn get<R: Resource>(&self, container: &str, name: &str) -> Result<Arc<R>> {
        let key = self.key(container, name);
        match lock(&self.holder(container).held).get(&key) {
            Some(found) => downcast(found, name),
            None => Err(not_found(format_args!("no resource '{}/{}' on this device", key.0, key.1))),
        }
    }

    /// The resource of a handle: by its pointer if it has one, else by name.
    pub fn resolve<R: Resource>(&self, handle: &ResourceHandle) -> Result<Arc<R>> {
        match &handle.target {
            Some(Target(Some(target))) => downcast(target, &handle.name),
            _ => self.get(&handle.container, &handle.name).map_err(|e: Error| match e.code() {
                crate::error::Code::NotFound => failed_precondition(format_args!(
                    "could not find resource '{}/{}': it was never made here, or has been deleted",
                    handle.container, handle.name
                )),
                _ => e,
            }),
        }
    }

    pub fn remove(&self, container: &str, name: &str) -> Result<()> {
        let key = self.key(container, name);
        let holder = self.holder(container);
        match lock(&holder.held).remove(&key) {
            Some(r) => {
                holder.generation.fetch_add(1, std::sync::atomic::Ordering::AcqRel);
                r.discard();
                Ok(())
            }
            None => Err(not_found(format_args!("no resource '{}/{}' on this device", key.0, key.1))),
        }
    }

    /// Drops all resources of these containers; of the default and the private one if none is given.
    pub fn clear(&self, containers: &[String]) {
        if let Some(shared) = &self.shared {
            shared.clear(containers);
        }
        let mut dropped = Vec::new();
        {
            let mut held = lock(&self.held);
            let wanted = |c: &str| match containers {
                [] => c == &*self.default_container || c == PRIVATE,
                some => some.iter().any(|s| s == c),
            };
            held.retain(|key, r| {
                let keep = !wanted(&key.0);
                if !keep {
                    dropped.push(r.clone());
                }
                keep
            });
            self.generation.fetch_add(1, std::sync::atomic::Ordering::AcqRel);
        }
        dropped.iter().for_each(|r| r.discard());
    }

    /// Drops all resources of all containers, when the session that used the store is closed.
    pub fn end(&self) {
        let dropped = std::mem::take(&mut *lock(&self.held));
        self.generation.fetch_add(1, std::sync::atomic::Ordering::AcqRel);
        dropped.values().for_each(|r| r.discard());
    }

    /// Resources in this view.
    pub fn len(&self) -> usize {
        lock(&self.held).len() + self.shared.as_ref().map_or(0, |s| s.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Handles are strong, and a resource may hold its own: without this the cycle would leak.
impl Drop for ResourceStore {
    fn drop(&mut self) {
        self.end();
    }
}

fn downcast<R: Resource>(found: &Arc<dyn Resource>, name: &str) -> Result<Arc<R>> {
    let any: Arc<dyn Any + Send + Sync> = found.clone();
    any.downcast::<R>().map_err(|_| {
        invalid!("'{name}' is a {}, not the {} that this op works on", found.kind(), short_type_name::<R>())
    })
}

fn short_type_name<R>() -> &'static str {
    let full = std::any::type_name::<R>();
    full.rsplit("::").next().unwrap_or(full)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counter;
    impl Resource for Counter {
        fn kind(&self) -> &'static str {
            "Counter"
        }
        fn as_any(&self) -> &dyn Any {
            self
        }
    }
    struct Other;
    impl Resource for Other {
        fn kind(&self) -> &'static str {
            "Other"
        }
        fn as_any(&self) -> &dyn Any {
            self
        }
    }

    #[test]
    fn sessions_share_all_but_what_is_private() {
        let device = Arc::new(ResourceStore::new("localhost"));
        let (a, b) = (ResourceStore::of_session(&device), ResourceStore::of_session(&device));
        let make = |s: &ResourceStore, container| s.get_or_create(container, "c", || Ok(Counter)).unwrap();
        assert!(Arc::ptr_eq(&make(&a, ""), &make(&b, "localhost")));
        assert!(!Arc::ptr_eq(&make(&a, PRIVATE), &make(&b, PRIVATE)));
        assert_eq!((a.len(), device.len()), (2, 1));
        let before = b.generation();
        a.clear(&[]);
        assert_ne!(b.generation(), before);
        assert_eq!((a.len(), b.len()), (0, 1));
    }

    #[test]
    fn resources_are_shared_by_name_and_cleared_by_container() {
        let store = ResourceStore::new("localhost");
        let a = store.get_or_create("", "c", || Ok(Counter)).unwrap();
        let b = store.get_or_create("localhost", "c", || Ok(Counter)).unwrap();
        assert!(Arc::ptr_eq(&a, &b));
        assert!(store.get::<Other>("", "c").is_err());
        store.get_or_create("mine", "c", || Ok(Other)).unwrap();
        store.clear(&["mine".into()]);
        assert_eq!(store.len(), 1);
        store.clear(&[]);
        assert!(store.is_empty());
        let forged = ResourceHandle { name: "c".into(), ..Default::default() };
        assert_eq!(
            store.resolve::<Counter>(&forged).err().unwrap().code(),
            crate::error::Code::FailedPrecondition
        );
    }
}
