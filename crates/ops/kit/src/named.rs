//! Resources that a node looks up, or creates, by container and name, and then caches.

use crate::prelude::*;
use bytes::Bytes;
use std::sync::Mutex;
use thalweg_core::resource::{PRIVATE, Resource, ResourceHandle, ResourceStore};
use thalweg_core::step::StepContext;
use thalweg_core::sync::lock;

/// The name of a node's resource: attr `container`, and attr `shared_name` or else the node's own name.
pub struct ResourceKey {
    pub container: String,
    pub name: String,
}

impl ResourceKey {
    pub fn of(node: &KernelNode) -> Result<ResourceKey> {
        let shared = node.attrs.str("shared_name")?;
        Ok(ResourceKey {
            container: node.attrs.str("container")?.to_string(),
            name: if shared.is_empty() { node.name.to_string() } else { shared.to_string() },
        })
    }

    /// As `of`, for resources that belong to their node alone unless `shared_name` is given.
    pub fn own(node: &KernelNode) -> Result<ResourceKey> {
        if !node.attrs.str("shared_name")?.is_empty() {
            return ResourceKey::of(node);
        }
        // TensorFlow's name for a resource of one node alone.
        Ok(ResourceKey { container: PRIVATE.to_string(), name: format!("_0_{}", node.name) })
    }
}

/// A resource cached until its container is cleared.
pub struct CachedResource<R> {
    key: ResourceKey,
    found: Mutex<Option<Found<R>>>,
}

struct Found<R> {
    generation: u64,
    resource: Arc<R>,
    /// The handle last made, and its device.
    handle: Option<(Arc<str>, Tensor)>,
}

impl<R: Resource> CachedResource<R> {
    pub fn new(key: ResourceKey) -> Self {
        CachedResource { key, found: Mutex::new(None) }
    }

    pub fn get(&self, store: &ResourceStore, make: impl FnOnce(&str) -> Result<R>) -> Result<Arc<R>> {
        let mut found = lock(&self.found);
        // Read before the look-up: a concurrent clear then invalidates the cache.
        let generation = store.generation();
        match found.as_ref() {
            Some(f) if f.generation == generation => Ok(f.resource.clone()),
            _ => {
                let resource =
                    store.get_or_create(&self.key.container, &self.key.name, || make(&self.key.name))?;
                *found = Some(Found { generation, resource: resource.clone(), handle: None });
                Ok(resource)
            }
        }
    }

    /// The cached handle, if valid.
    pub fn known_handle(&self, c: &OpCall<'_>) -> Option<Tensor> {
        let found = lock(&self.found);
        let Found { generation, handle: Some((on, handle)), .. } = found.as_ref()? else { return None };
        let device = &c.step.device;
        (*generation == device.resources.generation() && Arc::ptr_eq(on, &device.name))
            .then(|| handle.clone())
    }

    /// A handle to the resource, as a scalar tensor; cached, as it is costly to make.
    pub fn handle(&self, c: &OpCall<'_>, r: Arc<R>, values: &[(DataType, PartialShape)]) -> Tensor {
        let device = &c.step.device.name;
        let mut found = lock(&self.found);
        let same = found.as_mut().filter(|f| Arc::ptr_eq(&f.resource, &r));
        if let Some(Found { handle: Some((on, handle)), .. }) = &same
            && Arc::ptr_eq(on, device)
        {
            return handle.clone();
        }
        let made = self.new_handle(c, r, values.to_vec());
        if let Some(f) = same {
            f.handle = Some((device.clone(), made.clone()));
        }
        made
    }

    fn new_handle(&self, c: &OpCall<'_>, r: Arc<R>, values: Vec<(DataType, PartialShape)>) -> Tensor {
        let store = &c.step.device.resources;
        let container = if self.key.container.is_empty() {
            store.default_container().clone()
        } else {
            self.key.container.as_str().into()
        };
        Tensor::from_object(ResourceHandle {
            device: c.step.device.name.clone(),
            container,
            name: self.key.name.as_str().into(),
            hash_code: 0,
            type_name: r.kind().into(),
            values,
            target: Some(r.into()),
        })
    }
}

/// The resource of a node whose output 0 is its handle: a resource handle, or for legacy ops a reference to a string
/// vector of container and name.
pub struct OwnedResource<R> {
    resource: CachedResource<R>,
    by_reference: bool,
    reference: Mutex<Option<Arc<Variable>>>,
}

impl<R: Resource> OwnedResource<R> {
    pub fn new(node: &KernelNode) -> Result<Self> {
        Ok(OwnedResource::with_key(node, ResourceKey::own(node)?))
    }

    pub fn with_key(node: &KernelNode, key: ResourceKey) -> Self {
        let by_reference = node.outputs.first().is_some_and(|p| p.is_ref);
        OwnedResource { resource: CachedResource::new(key), by_reference, reference: Mutex::new(None) }
    }

    pub fn get(&self, c: &OpCall<'_>, make: impl FnOnce(&str) -> Result<R>) -> Result<Arc<R>> {
        self.resource.get(&c.step.device.resources, make)
    }

    /// Sets output 0.
    pub fn output_handle(&self, c: &mut OpCall<'_>, r: Arc<R>) {
        if !self.by_reference {
            c.set(0, self.resource.handle(c, r, &[]));
            return;
        }
        let ResourceKey { container, name } = &self.resource.key;
        let store = &c.step.device.resources;
        let container = if container.is_empty() { &**store.default_container() } else { container };
        let v = lock(&self.reference).get_or_insert_with(|| named_reference(container, name)).clone();
        c.set(0, Value::Ref(v));
    }
}

/// The resource of a handle of either kind.
pub fn resource_of<R: Resource>(handle: &Tensor, step: &StepContext) -> Result<Arc<R>> {
    let store = &step.device.resources;
    if handle.dtype() == DataType::String {
        let (container, name) = name_in(handle)?;
        return store.get(&container, &name);
    }
    match handle.resources()? {
        [one] => store.resolve(one),
        _ => Err(invalid!("needs one handle, got a tensor of shape {}", handle.shape())),
    }
}

/// As `resource_of`, for input 0 of a kernel that runs at once.
pub fn resource_input<R: Resource>(c: &OpCall<'_>) -> Result<Arc<R>> {
    match c.inputs.first() {
        Some(Input::Ref(v)) => resource_of(&v.read()?, c.step),
        _ => resource_of(c.input(0)?, c.step),
    }
}

/// A reference to a string vector of container and name: the legacy form of resource handles.
pub fn named_reference(container: &str, name: &str) -> Arc<Variable> {
    let text = |s: &str| Bytes::copy_from_slice(s.as_bytes());
    let v = Variable::new(name, DataType::String, PartialShape::vector(2));
    if let Ok(t) = Tensor::from_objects(Shape::vector(2), vec![text(container), text(name)]) {
        // Cannot fail: the variable was made with this type and shape.
        let _ = v.assign(t, true);
    }
    Arc::new(v)
}

/// Container and name from a legacy handle.
pub fn name_in(handle: &Tensor) -> Result<(String, String)> {
    match handle.strings()? {
        [container, name] => {
            let text = |b: &Bytes| String::from_utf8_lossy(b).into_owned();
            Ok((text(container), text(name)))
        }
        _ => Err(invalid!("a handle must be a vector of container and name, got shape {}", handle.shape())),
    }
}
