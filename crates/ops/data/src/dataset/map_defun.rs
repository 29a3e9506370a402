//! `MapDefun`: a function of each row of its arguments.

use super::context::{Call, Context, or_stopped};
use super::function::Function;
use super::get_next::declared;
use super::task::Task;
use crate::prelude::*;
use crate::rows::{row, stack};
use std::collections::VecDeque;
use thalweg_math::parallel::Parallel;

pub static MAP_DEFUN: Op = Op {
    name: "MapDefun",
    doc: "Function `f` of each row of `arguments`, with `captured_inputs`; the results stacked.",
    inputs: &["arguments: Targuments", "captured_inputs: Tcaptured"],
    outputs: &["output: output_types"],
    attrs: &[
        "Targuments: list(type) >= 1",
        "Tcaptured: list(type) >= 0 = []",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "f: func",
        "max_intra_op_parallelism: int = 1",
    ],
    shape: |c| {
        let mut rows = -1;
        for (i, shape) in c.arg(0).iter().enumerate() {
            if shape.rank() == Some(0) {
                return Err(scalar_input(i));
            }
            rows = merge_dim(rows, shape.dim(0))?;
        }
        Ok(declared(c)?.iter().map(|each| PartialShape::vector(rows).concat(each)).collect())
    },
    grad: Missing,
    kernels: cpu!(async prepare),
    ..Op::PURE
};

fn scalar_input(i: usize) -> Error {
    invalid!("All inputs must have rank at least 1. Input {i} has a rank of 0.")
}

struct MapDefun {
    f: Func,
    types: Vec<DataType>,
    shapes: Vec<PartialShape>,
}

fn prepare(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    let attrs = &node.attrs;
    Ok(Arc::new(MapDefun {
        f: attrs.func("f")?.clone(),
        types: attrs.types("output_types")?,
        shapes: attrs.shapes("output_shapes")?,
    }))
}

impl AsyncKernel for MapDefun {
    fn start(&self, call: AsyncCall, done: Done) {
        let rows = match Rows::of(&call, self) {
            Ok(rows) => rows,
            Err(e) => return done(Err(e)),
        };
        let device = call.step.device.clone();
        Task::start(&device, async move { done(rows.run(&call).await.map(outputs)) });
    }
}

struct Rows {
    f: Function,
    arguments: Vec<Tensor>,
    rows: usize,
    types: Vec<DataType>,
    shapes: Vec<PartialShape>,
}

impl Rows {
    fn of(call: &AsyncCall, op: &MapDefun) -> Result<Rows> {
        let range = |arg: usize| call.node.args.get(arg).cloned().unwrap_or(0..0);
        let tensors = |arg: usize| reserve::try_collect(range(arg).map(|i| call.tensor(i)));
        let (arguments, captured) = (tensors(0)?, tensors(1)?);
        let mut rows = None;
        for (i, t) in arguments.iter().enumerate() {
            let n = t.shape().first().copied().ok_or_else(|| scalar_input(i))?;
            let before = *rows.get_or_insert(n);
            if before != n {
                return Err(invalid!(
                    "All inputs must have the same dimension 0. Input {i} has leading dimension {n}, while all \
                     previous inputs have leading dimension {before}"
                ));
            }
        }
        let (types, shapes) = (op.types.clone(), op.shapes.clone());
        let f = Function::new(op.f.clone(), captured);
        Ok(Rows { f, arguments, rows: rows.unwrap_or(0), types, shapes })
    }

    async fn run(&self, call: &AsyncCall) -> Result<Vec<Tensor>> {
        let c = Context::of(&call.step).within(&call.step);
        let at_once = call.step.device.pool.threads().max(1);
        let mut results: Vec<Vec<Tensor>> =
            reserve::try_collect(self.types.iter().map(|_| reserve::with_capacity(self.rows)))?;
        let mut under_way = VecDeque::with_capacity(at_once.min(self.rows));
        let mut started = 0;
        for _ in 0..self.rows {
            while started < self.rows && under_way.len() < at_once {
                under_way.push_back(self.begin(started, at_once > 1, &c)?);
                started += 1;
            }
            let Some(first) = under_way.pop_front() else { break };
            let given = or_stopped(first, &c).await?;
            self.take(given, &mut results)?;
        }
        self.stacked(results)
    }

    fn begin(&self, i: usize, elsewhere: bool, c: &Context) -> Result<Call> {
        let args = reserve::try_collect(self.arguments.iter().map(|t| row(t, i)))?;
        Ok(if elsewhere { self.f.call_elsewhere(c, args) } else { self.f.call(c, args) })
    }

    /// Adds the results of one call.
    fn take(&self, given: Vec<Tensor>, results: &mut [Vec<Tensor>]) -> Result<()> {
        if given.len() != self.types.len() {
            return Err(invalid!(
                "the function returned {} tensors, declared were {}",
                given.len(),
                self.types.len()
            ));
        }
        let declared = self.types.iter().zip(&self.shapes).enumerate();
        for ((t, list), (i, (dtype, shape))) in given.into_iter().zip(results).zip(declared) {
            if t.dtype() != *dtype {
                return Err(invalid!(
                    "Mismatch in function return type and expected output type for output: {i}"
                ));
            }
            // Of an unknown shape, the first result decides.
            let known = list.first().map_or_else(|| shape.clone(), |first| first.shape().into());
            if !shape.allows(t.shape()) || !known.allows(t.shape()) {
                return Err(invalid!(
                    "Mismatch in function retval shape, {}, and expected output shape, {known}.",
                    t.shape()
                ));
            }
            list.push(t);
        }
        Ok(())
    }

    fn stacked(&self, results: Vec<Vec<Tensor>>) -> Result<Vec<Tensor>> {
        let declared = self.types.iter().zip(&self.shapes);
        reserve::try_collect(results.into_iter().zip(declared).map(|(list, (dtype, shape))| {
            match (list.first(), shape.to_shape()) {
                (Some(first), _) => stack(*dtype, &first.shape().clone(), &list),
                (None, Some(each)) => stack(*dtype, &each, &[]),
                // TensorFlow's result where no call tells the shape.
                (None, None) => Tensor::zeros(*dtype, Shape::vector(0)),
            }
        }))
    }
}
