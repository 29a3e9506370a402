//! `MapStage`, `MapUnstage`, `MapUnstageNoKey`, `MapPeek`, `MapSize`, `MapIncompleteSize`, `MapClear`, and their ordered forms.

use super::area::{Named, bytes_of};
use super::map::{Addition, StagingMap};
use super::stage_op::check_types;
use crate::prelude::*;

pub static OPS: &[&Op] = &[
    &MAP_STAGE,
    &MAP_UNSTAGE,
    &MAP_UNSTAGE_NO_KEY,
    &MAP_PEEK,
    &MAP_SIZE,
    &MAP_INCOMPLETE_SIZE,
    &MAP_CLEAR,
    // Their maps are apart from the unordered ones by name alone, and both are in order here.
    &Op { name: "OrderedMapStage", ..MAP_STAGE },
    &Op { name: "OrderedMapUnstage", ..MAP_UNSTAGE },
    &Op { name: "OrderedMapUnstageNoKey", ..MAP_UNSTAGE_NO_KEY },
    &Op { name: "OrderedMapPeek", ..MAP_PEEK },
    &Op { name: "OrderedMapSize", ..MAP_SIZE },
    &Op { name: "OrderedMapIncompleteSize", ..MAP_INCOMPLETE_SIZE },
    &Op { name: "OrderedMapClear", ..MAP_CLEAR },
];

const ATTRS: &[&str] = &[
    "capacity: int >= 0 = 0",
    "memory_limit: int >= 0 = 0",
    "dtypes: list(type) >= 1",
    "container: string = ''",
    "shared_name: string = ''",
];
const ATTRS_OF_ANY: &[&str] = &[
    "capacity: int >= 0 = 0",
    "memory_limit: int >= 0 = 0",
    "dtypes: list(type)",
    "container: string = ''",
    "shared_name: string = ''",
];

static MAP_STAGE: Op = Op {
    name: "MapStage",
    doc: "Puts the tensors of a key into the staging map, when there is room; those at `indices` of its tuple.",
    inputs: &["key: int64", "indices: int32", "values: fake_dtypes"],
    attrs: &[
        "capacity: int >= 0 = 0",
        "memory_limit: int >= 0 = 0",
        "dtypes: list(type)",
        "fake_dtypes: list(type) >= 1",
        "container: string = ''",
        "shared_name: string = ''",
    ],
    shape: |_| Ok(vec![]),
    kernels: cpu!(async stage),
    ..Op::STATEFUL
};

static MAP_UNSTAGE: Op = Op {
    name: "MapUnstage",
    doc: "Takes the tensors at `indices` of the tuple of a key, when it is complete.",
    inputs: &["key: int64", "indices: int32"],
    outputs: &["values: dtypes"],
    attrs: ATTRS,
    kernels: cpu!(async unstage),
    ..Op::STATEFUL
};

static MAP_PEEK: Op = Op {
    name: "MapPeek",
    doc: "The tensors at `indices` of the tuple of a key, when it is complete; they stay in the map.",
    kernels: cpu!(async peek),
    ..MAP_UNSTAGE
};

static MAP_UNSTAGE_NO_KEY: Op = Op {
    name: "MapUnstageNoKey",
    doc: "Takes the tensors at `indices` of the tuple of some key (the lowest, of an ordered map), when there is one.",
    inputs: &["indices: int32"],
    outputs: &["key: int64", "values: dtypes"],
    kernels: cpu!(async unstage_no_key),
    ..MAP_UNSTAGE
};

static MAP_SIZE: Op = Op {
    name: "MapSize",
    doc: "The number of complete tuples in the staging map.",
    outputs: &["size: int32"],
    attrs: ATTRS_OF_ANY,
    shape: shape_call::scalar,
    kernels: cpu!(make size),
    ..Op::STATEFUL
};

static MAP_INCOMPLETE_SIZE: Op = Op {
    name: "MapIncompleteSize",
    doc: "The number of incomplete tuples in the staging map.",
    kernels: cpu!(make incomplete_size),
    ..MAP_SIZE
};

static MAP_CLEAR: Op = Op {
    name: "MapClear",
    doc: "Empties the staging map.",
    attrs: ATTRS_OF_ANY,
    shape: |_| Ok(vec![]),
    kernels: cpu!(make clear),
    ..Op::STATEFUL
};

struct Put {
    map: Named<StagingMap>,
    /// The length of a tuple.
    of: usize,
}

fn stage(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Put { map: Named::new(node)?, of: node.attrs.types("dtypes")?.len() }))
}

impl AsyncKernel for Put {
    fn start(&self, call: AsyncCall, done: Done) {
        let found = self.map.get(&call.step).and_then(|map| {
            let (key, places) = (key(&call.tensor(0)?)?, places(&call.tensor(1)?)?);
            let tensors = call.tensors(2)?;
            if places.len() > tensors.len() {
                return Err(invalid!("{} indices for {} values", places.len(), tensors.len()));
            }
            map.limits.check(bytes_of(&tensors))?;
            Ok((map, Addition { key, places, tensors, of: self.of }))
        });
        let (map, add) = match found {
            Ok(found) => found,
            Err(e) => return done(Err(e)),
        };
        let limits = map.limits;
        let attempt = move |s: &mut StagingMap| Some(s.put(&add, limits)?.map(|()| Outputs::new()));
        map.waiting.submit(&call.step.cancel, "MapStage", Box::new(attempt), done);
    }
}

struct Get {
    map: Named<StagingMap>,
    /// Whether the first input is a key.
    keyed: bool,
    takes: bool,
}

fn unstage(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Get { map: Named::new(node)?, keyed: true, takes: true }))
}

fn peek(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Get { map: Named::new(node)?, keyed: true, takes: false }))
}

fn unstage_no_key(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Get { map: Named::new(node)?, keyed: false, takes: true }))
}

impl AsyncKernel for Get {
    fn start(&self, call: AsyncCall, done: Done) {
        let (keyed, takes) = (self.keyed, self.takes);
        let found = self.map.get(&call.step).and_then(|map| {
            let key = if keyed { Some(key(&call.tensor(0)?)?) } else { None };
            let places = places(&call.tensor(usize::from(keyed))?)?;
            let wanted = call.node.outputs.len() - usize::from(!keyed).min(call.node.outputs.len());
            if places.len() != wanted {
                return Err(invalid!("{} indices for {wanted} outputs", places.len()));
            }
            Ok((map, key, places))
        });
        let (map, key, places) = match found {
            Ok(found) => found,
            Err(e) => return done(Err(e)),
        };
        let node = call.node.clone();
        let attempt = move |s: &mut StagingMap| {
            let key = key.or_else(|| s.first_key())?;
            let tuple = s.get(key, &places, takes)?;
            Some(tuple.and_then(|tuple| {
                check_types(&node, &tuple)?;
                let key = (!keyed).then(|| Tensor::scalar(key));
                Ok(outputs(key.into_iter().chain(tuple)))
            }))
        };
        map.waiting.submit(&call.step.cancel, "MapUnstage", Box::new(attempt), done);
    }
}

fn key(t: &Tensor) -> Result<i64> {
    match t.as_slice::<i64>()? {
        [] => Err(invalid!("key must not be empty")),
        [key] => Ok(*key),
        _ => Err(invalid!("key must be an int64 scalar, got tensor with shape: {}", t.shape())),
    }
}

fn places(t: &Tensor) -> Result<Vec<i64>> {
    let places = t.to_i64s()?;
    if places.is_empty() {
        return Err(invalid!("Indices are empty"));
    }
    match places.windows(2).all(|w| w[0] < w[1]) {
        true => Ok(places),
        false => Err(invalid!("Indices are not strictly ordered")),
    }
}

fn count(node: &KernelNode, of: fn(&StagingMap) -> usize) -> Result<Box<dyn Kernel>> {
    let map = Named::<StagingMap>::new(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let n = map.get(c.step)?.waiting.look(of);
        c.set(0, Tensor::scalar(i32::try_from(n).unwrap_or(i32::MAX)));
        Ok(())
    }))
}

fn size(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    count(node, StagingMap::len)
}

fn incomplete_size(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    count(node, StagingMap::incomplete_len)
}

fn clear(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let map = Named::<StagingMap>::new(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        map.get(c.step)?.waiting.change(StagingMap::clear);
        Ok(())
    }))
}
