//! Resources that a node finds, or makes, under its container and name, and then remembers.

use crate::prelude::*;
use bytes::Bytes;
use std::sync::Mutex;
use thalweg_core::resource::{PRIVATE, Resource, ResourceHandle, ResourceStore, lock};

/// Where a node's resource lives: attr `container`, and attr `shared_name` or else the node's own name.
pub struct Place {
    pub container: String,
    pub name: String,
}

impl Place {
    pub fn of(node: &KernelNode) -> Result<Place> {
        let shared = node.attrs.str("shared_name")?;
        Ok(Place {
            container: node.attrs.str("container")?.to_string(),
            name: if shared.is_empty() { node.name.to_string() } else { shared.to_string() },
        })
    }

    /// As `of`, for resources that belong to their node alone unless `shared_name` is given.
    pub fn own(node: &KernelNode) -> Result<Place> {
        if !node.attrs.str("shared_name")?.is_empty() {
            return Place::of(node);
        }
        // Named as TensorFlow names what belongs to one node alone.
        Ok(Place { container: PRIVATE.to_string(), name: format!("_0_{}", node.name) })
    }
}

/// A resource remembered until its container is cleared.
pub struct Remembered<R> {
    place: Place,
    found: Mutex<Option<(u64, Arc<R>)>>,
}

impl<R: Resource> Remembered<R> {
    pub fn new(place: Place) -> Self {
        Remembered { place, found: Mutex::new(None) }
    }

    pub fn get(&self, store: &ResourceStore, make: impl FnOnce(&str) -> Result<R>) -> Result<Arc<R>> {
        let mut found = lock(&self.found);
        // Read before looking up: a clear in between then shows as an old generation.
        let generation = store.generation();
        match found.as_ref() {
            Some((seen, r)) if *seen == generation => Ok(r.clone()),
            _ => {
                let r = store
                    .get_or_create(&self.place.container, &self.place.name, || make(&self.place.name))?;
                *found = Some((generation, r.clone()));
                Ok(r)
            }
        }
    }

    /// A handle to the resource, as a scalar tensor.
    pub fn handle(&self, c: &OpCall<'_>, r: Arc<R>, values: Vec<(DataType, PartialShape)>) -> Tensor {
        let store = &c.step.device.resources;
        let container = if self.place.container.is_empty() {
            store.default_container().clone()
        } else {
            self.place.container.as_str().into()
        };
        Tensor::from_object(ResourceHandle {
            device: c.step.device.name.clone(),
            container,
            name: self.place.name.as_str().into(),
            hash_code: 0,
            type_name: r.kind().into(),
            values,
            target: Some(r),
        })
    }
}

/// A reference to a string vector of container and name: the handles of the time before resources.
pub fn named_reference(container: &str, name: &str) -> Arc<Variable> {
    let text = |s: &str| Bytes::copy_from_slice(s.as_bytes());
    let v = Variable::new(name, DataType::String, PartialShape::vector(2));
    if let Ok(t) = Tensor::from_objects(Shape::vector(2), vec![text(container), text(name)]) {
        // The type and shape are those the variable was just made with.
        let _ = v.assign(t, true);
    }
    Arc::new(v)
}

/// Container and name from a handle of the older kind.
pub fn name_in(handle: &Tensor) -> Result<(String, String)> {
    match handle.strings()? {
        [container, name] => {
            let text = |b: &Bytes| String::from_utf8_lossy(b).into_owned();
            Ok((text(container), text(name)))
        }
        _ => Err(invalid!("a handle must be a vector of container and name, got shape {}", handle.shape())),
    }
}
