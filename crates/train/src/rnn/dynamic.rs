//! A cell over sequences of a length known only at run time: a while loop, with the inputs and outputs of the steps in
//! tensor arrays.

use super::Cell;
use thalweg_client::{Attr, DataType, Output, PartialShape, Reuse, Scope};

/// The input of an RNN.
pub struct Sequence<'a> {
    /// `[batch, time, size]`, or `[time, batch, size]` if time comes first.
    pub inputs: &'a Output,
    /// Whether time is the first dimension.
    pub time_major: bool,
    /// How many steps of each sequence count; all if none is given. Beyond, outputs are zero and the state stays.
    pub lengths: Option<&'a Output>,
    /// Zeros by default.
    pub initial_state: Option<&'a [Output]>,
    /// Iterations of the loop that may run at once.
    pub parallel_iterations: i64,
}

impl<'a> Sequence<'a> {
    /// Of `[batch, time, size]`, whole, from a state of zeros.
    pub fn new(inputs: &'a Output) -> Self {
        Sequence { inputs, time_major: false, lengths: None, initial_state: None, parallel_iterations: 32 }
    }
}

/// A tensor array of the graph: a handle, and the flow that orders its writes.
struct Array {
    handle: Output,
    flow: Output,
}

impl Array {
    fn new(g: &Scope, size: &Output, dtype: DataType, element: PartialShape) -> Array {
        let outputs = g
            .op("TensorArrayV3")
            .name("TensorArray")
            .input(size)
            .attr("dtype", dtype)
            .attr("element_shape", element)
            .attr("identical_element_shapes", true)
            .outputs();
        match outputs.as_slice() {
            [handle, flow] => Array { handle: handle.clone(), flow: flow.clone() },
            // The scope has recorded the error.
            _ => Array { handle: size.clone(), flow: size.clone() },
        }
    }
}

/// The outputs, in the layout of the inputs, and the final state. Variables are in the scope `rnn`.
#[track_caller]
pub fn dynamic_rnn(g: &Scope, cell: &dyn Cell, sequence: &Sequence<'_>) -> (Output, Vec<Output>) {
    over_sequence(&g.variable_scope_with("rnn", Reuse::Auto), cell, sequence)
}

/// As [`dynamic_rnn`], with the variables in the scope itself.
#[track_caller]
pub fn over_sequence(g: &Scope, cell: &dyn Cell, sequence: &Sequence<'_>) -> (Output, Vec<Output>) {
    let inputs = match sequence.time_major {
        true => sequence.inputs.clone(),
        false => g.transpose(sequence.inputs, &[1, 0, 2]),
    };
    let dtype = inputs.dtype();
    let steps = g.reshape(g.slice(g.shape(&inputs), &[0], &[1]), &[]);
    let initial = match sequence.initial_state {
        Some(s) => s.to_vec(),
        None => cell.zero_state(g, &inputs, 1, dtype),
    };
    let row = |size: i64| {
        let batch = inputs.shape().dims().and_then(|d| d.get(1).copied()).unwrap_or(-1);
        PartialShape::new(&[batch, size]).unwrap_or_default()
    };
    let size = inputs.shape().dims().and_then(|d| d.get(2).copied()).unwrap_or(-1);
    let given = Array::new(g, &steps, dtype, row(size));
    let range = g.op("Range").name("range").input(g.constant(0)).input(&steps).input(g.constant(1)).output();
    let filled = g
        .op("TensorArrayScatterV3")
        .input(&given.handle)
        .input(&range)
        .input(&inputs)
        .input(&given.flow)
        .output();
    let made = Array::new(g, &steps, dtype, row(cell.output_size() as i64));
    let zero = g.constant_named("time", 0);
    let mut variables = vec![&zero, &made.flow];
    variables.extend(&initial);
    let left = g.while_loop(
        &variables,
        sequence.parallel_iterations,
        |g, v| g.less(&v[0], &steps),
        |g, v| {
            let (time, flow, state) = (&v[0], &v[1], &v[2..]);
            let x = g
                .op("TensorArrayReadV3")
                .input(&given.handle)
                .input(time)
                .input(&filled)
                .attr("dtype", dtype)
                .output()
                .with_shape(&row(size));
            let state: Vec<Output> =
                state.iter().zip(cell.state_sizes()).map(|(s, n)| s.with_shape(&row(n as i64))).collect();
            let (y, next) = cell.step(g, &x, &state);
            let (y, next) = match sequence.lengths {
                None => (y, next),
                Some(lengths) => copy_through(g, time, lengths, (&y, &next), &state),
            };
            let flow =
                g.op("TensorArrayWriteV3").input(&made.handle).input(time).input(y).input(flow).output();
            let mut results = vec![time + 1i32, flow];
            results.extend(next);
            results
        },
    );
    let Some(flow) = left.get(1) else { return (inputs, initial) };
    let outputs = g
        .op("TensorArrayGatherV3")
        .name("TensorArrayStack")
        .input(&made.handle)
        .input(&range)
        .input(flow)
        .attr("dtype", dtype)
        .attr("element_shape", Attr::Shape(row(cell.output_size() as i64)))
        .output();
    let outputs = if sequence.time_major { outputs } else { g.transpose(outputs, &[1, 0, 2]) };
    let state = left.iter().skip(2).zip(cell.state_sizes()).map(|(s, n)| s.with_shape(&row(n as i64)));
    (outputs, state.collect())
}

/// Past the end of a sequence, outputs are zero and the state is copied.
fn copy_through(
    g: &Scope,
    time: &Output,
    lengths: &Output,
    (output, next): (&Output, &[Output]),
    state: &[Output],
) -> (Output, Vec<Output>) {
    let active = g.reshape(g.less(g.cast(time, lengths.dtype()), lengths), &[-1, 1]);
    let output = g.select(&active, output, g.zeros_like(output));
    let next = next.iter().zip(state).map(|(new, old)| g.select(&active, new, old)).collect();
    (output, next)
}
