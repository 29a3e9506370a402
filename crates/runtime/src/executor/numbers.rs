//! Elementwise ops on scalars without a kernel call: a graph with counters or a learning rate has hundreds of them, and the
//! call costs more than the arithmetic.

use crate::plan::{Operand, StraightNode};
use thalweg_core::dtype::{DataType, Element};
use thalweg_core::kernel::Value;
use thalweg_core::op::{Tile, TileNumber};
use thalweg_core::tensor::Tensor;

/// Runs a node on scalars, if all inputs are; returns whether they were. A slot after its last use keeps its
/// scalar until it is overwritten, which costs no memory.
#[inline]
pub fn run(tile: Tile, node: &StraightNode, constants: &[Value], slots: &mut [Option<Value>]) -> bool {
    match tile.dtype() {
        DataType::Float => run_as::<f32>(tile, node, constants, slots),
        _ => run_as::<f64>(tile, node, constants, slots),
    }
}

#[inline]
fn run_as<T: TileNumber>(
    tile: Tile,
    node: &StraightNode,
    constants: &[Value],
    slots: &mut [Option<Value>],
) -> bool {
    let (a, b) = match *node.inputs.as_slice() {
        [a] => (number::<T>(a, constants, slots), Some(T::default())),
        [a, b] => (number::<T>(a, constants, slots), number::<T>(b, constants, slots)),
        _ => return false,
    };
    let (Some(a), Some(b)) = (a, b) else { return false };
    let mut y = T::default();
    tile.run_scalar(a, b, &mut y);
    put(node, y, slots);
    true
}

#[inline]
fn number<T: Element>(operand: Operand, constants: &[Value], slots: &[Option<Value>]) -> Option<T> {
    let value = match operand {
        Operand::Constant(c) => constants.get(c as usize),
        Operand::Take(s) | Operand::Keep(s) => slots.get(s as usize)?.as_ref(),
    };
    match value {
        Some(Value::Tensor(t)) => t.as_scalar(),
        _ => None,
    }
}

#[inline]
fn put<T: Element>(node: &StraightNode, y: T, slots: &mut [Option<Value>]) {
    let Some(slot) = node.outputs.first().and_then(|s| slots.get_mut(*s as usize)) else { return };
    // Mostly the scalar operand: its memory is reused.
    if let Some(Value::Tensor(t)) = slot
        && t.set_scalar(y)
    {
        return;
    }
    *slot = Some(Value::Tensor(Tensor::scalar(y)));
}
