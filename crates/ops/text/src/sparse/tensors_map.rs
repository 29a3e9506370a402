//! `AddSparseToTensorsMap`, `AddManySparseToTensorsMap`, `TakeManySparseFromTensorsMap`: sparse tensors kept under numbers.

use super::coordinates::{check_sparse, example};
use super::entries::{Entries, check_ranks, sparse_shape};
use super::minibatch::{Stacked, split, stack};
use crate::named::{CachedResource, ResourceKey};
use crate::prelude::*;
use std::any::Any;
use std::collections::HashMap;
use std::sync::Mutex;
use thalweg_core::resource::Resource;
use thalweg_core::sync::lock;

pub static OPS: &[&Op] =
    &[&ADD_SPARSE_TO_TENSORS_MAP, &ADD_MANY_SPARSE_TO_TENSORS_MAP, &TAKE_MANY_SPARSE_FROM_TENSORS_MAP];

const ADD_SPARSE_TO_TENSORS_MAP: Op = Op {
    name: "AddSparseToTensorsMap",
    doc: "Keeps a sparse tensor in a map; returns the number under which it can be taken out.",
    inputs: &["sparse_indices: int64", "sparse_values: T", "sparse_shape: int64"],
    outputs: &["sparse_handle: int64"],
    attrs: &["T: type", "container: string = ''", "shared_name: string = ''"],
    shape: |c| {
        check_sparse(c, 0)?;
        shape_call::scalar(c)
    },
    grad: Missing,
    kernels: cpu!(make add),
    cases: |r| vec![Case::new(example(&[0, 1, 1, 0], r.tensor(&[2]), &[2, 3]))],
    ..Op::STATEFUL
};

const ADD_MANY_SPARSE_TO_TENSORS_MAP: Op = Op {
    name: "AddManySparseToTensorsMap",
    doc: "Keeps each row of a sparse tensor in a map; returns the numbers under which they can be taken out.",
    outputs: &["sparse_handles: int64"],
    shape: |c| {
        check_sparse(c, 0)?;
        Ok(vec![PartialShape::vector(c.as_shape(2)?.dim(0))])
    },
    kernels: cpu!(make add_many),
    ..ADD_SPARSE_TO_TENSORS_MAP
};

static TAKE_MANY_SPARSE_FROM_TENSORS_MAP: Op = Op {
    name: "TakeManySparseFromTensorsMap",
    doc: "Takes sparse tensors of one rank out of a map, as one with a new first dimension.",
    inputs: &["sparse_handles: int64"],
    outputs: &["sparse_indices: int64", "sparse_values: dtype", "sparse_shape: int64"],
    attrs: &["dtype: type", "container: string = ''", "shared_name: string = ''"],
    shape: |c| {
        c.rank(0, 1)?;
        Ok(sparse_shape(-1))
    },
    grad: Missing,
    kernels: cpu!(make take),
    ..Op::STATEFUL
};

/// Sparse tensors (indices, values, shape) by number.
#[derive(Default)]
struct TensorsMap(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    next: i64,
    all: HashMap<i64, [Tensor; 3]>,
}

impl Resource for TensorsMap {
    fn kind(&self) -> &'static str {
        "SparseTensorsMap"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl TensorsMap {
    /// Keeps all or none.
    fn add(&self, more: Vec<[Tensor; 3]>) -> Result<Vec<i64>> {
        let mut kept = lock(&self.0);
        reserve::room(&mut kept.all, more.len())?;
        let mut handles = reserve::with_capacity(more.len())?;
        for one in more {
            let handle = kept.next;
            kept.next += 1;
            kept.all.insert(handle, one);
            handles.push(handle);
        }
        Ok(handles)
    }

    fn take(&self, handle: i64, name: &str) -> Result<[Tensor; 3]> {
        let found = lock(&self.0).all.remove(&handle);
        found.ok_or_else(|| invalid!("Unable to find SparseTensor: {handle} in map: {name}"))
    }
}

fn get(map: &CachedResource<TensorsMap>, c: &OpCall<'_>) -> Result<Arc<TensorsMap>> {
    map.get(&c.step.device.resources, |_| Ok(TensorsMap::default()))
}

fn add(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let map = CachedResource::new(ResourceKey::of(node)?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        check_ranks(c.input(0)?, c.input(1)?, c.input(2)?)?;
        Shape::from_i64(Entries::of(c, 0)?.dims)?;
        let parts = [c.take(0)?, c.take(1)?, c.take(2)?];
        let handles = get(&map, c)?.add(vec![parts])?;
        c.set(0, Tensor::vector(&handles)?.reshape(Shape::scalar())?);
        Ok(())
    }))
}

fn add_many(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let map = CachedResource::new(ResourceKey::of(node)?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let rows = split(Entries::of(c, 0)?)?;
        let handles = get(&map, c)?.add(rows)?;
        c.set(0, Tensor::vector(&handles)?);
        Ok(())
    }))
}

fn take(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    // Without a name, nothing can be in its map: that of a node that adds has the node's name.
    let map = CachedResource::new(ResourceKey::own(node)?);
    let name = ResourceKey::own(node)?.name;
    let dtype = node.attrs.dtype("dtype")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let handles = c.int_vector(0)?;
        if handles.is_empty() {
            return Err(invalid!(
                "Must have at least 1 serialized SparseTensor, but input matrix has 0 rows"
            ));
        }
        let map = get(&map, c)?;
        let mut parts = reserve::with_capacity(handles.len().saturating_mul(3))?;
        for handle in &handles {
            parts.extend(map.take(*handle, &name)?);
        }
        let Stacked { indices, values, shape } = stack(dtype, &[handles.len() as i64], &parts)?;
        c.set(0, indices);
        c.set(1, values);
        c.set(2, shape);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call_in, code, floats, step};

    #[test]
    fn what_was_kept_is_taken_once() {
        let step = step(1);
        let named = ("shared_name", Attr::str("m"));
        let inputs = example(&[0, 1, 1, 0], floats(&[2], &[5.0, 6.0]), &[2, 3]);
        let one = call_in(&step, "AddSparseToTensorsMap", &inputs, &[named.clone()]).unwrap();
        let many = call_in(&step, "AddManySparseToTensorsMap", &inputs, &[named.clone()]).unwrap();
        assert_eq!(one[0].as_slice::<i64>().unwrap(), &[0]);
        assert_eq!(many[0].as_slice::<i64>().unwrap(), &[1, 2]);
        let take = |of: &[i64]| {
            let attrs = [("dtype", DataType::Float.into()), named.clone()];
            call_in(&step, "TakeManySparseFromTensorsMap", &[Tensor::vector(of).unwrap()], &attrs)
        };
        let y = take(&[2, 1]).unwrap();
        assert_eq!(y[0].as_slice::<i64>().unwrap(), &[0, 0, 1, 1]);
        assert_eq!(y[1].as_slice::<f32>().unwrap(), &[6.0, 5.0]);
        assert_eq!(y[2].as_slice::<i64>().unwrap(), &[2, 3]);
        assert_eq!(take(&[0]).unwrap()[2].as_slice::<i64>().unwrap(), &[1, 2, 3]);
        assert_eq!(code(take(&[0])), Code::InvalidArgument);
        assert_eq!(code(take(&[])), Code::InvalidArgument);
    }
}
