//! `Op`: one entry of the op table, with everything about an op.

use crate::attr::Attrs;
use crate::case::{Case, CaseGen};
use crate::dtype::{DataType, Element};
use crate::error::Result;
use crate::grad::{Grad, GradCall};
use crate::kernel::{AsyncKernel, Kernel, KernelNode, OpCall};
use crate::partial_value::PartialCall;
use crate::shape::PartialShape;
use crate::shape_call::ShapeCall;
use crate::tensor::Tensor;
use std::sync::Arc;

pub struct Op {
    /// The type name in GraphDefs: `MatMul`.
    pub name: &'static str,
    /// One line on what it computes.
    pub doc: &'static str,
    /// Arguments: `"a: T"`, `"values: N * T"`, `"components: Tin"`, `"ref: Ref(T)"`.
    pub inputs: &'static [&'static str],
    pub outputs: &'static [&'static str],
    /// Attrs: `"T: {float, double}"`, `"N: int >= 1"`, `"keep_dims: bool = false"`.
    pub attrs: &'static [&'static str],
    /// The shapes of the outputs, as far as known before running.
    pub shape: ShapeRule,
    pub grad: Gradient,
    pub kernels: &'static [KernelRow],
    /// Examples that the every-op tests run.
    pub cases: fn(&mut CaseGen) -> Vec<Case>,
    /// How the executor treats it.
    pub class: Class,
    /// Has state or effects: excluded from constant folding, common subexpression elimination and dead code elimination.
    pub stateful: bool,
    /// Swapping the two inputs changes nothing.
    pub commutative: bool,
    /// Worth a pool task; cheap ops run on the thread that found them ready.
    pub expensive: bool,
    /// Runs even if its inputs are dead.
    pub never_dead: bool,
    /// Stateful, but in a step without errors always has outputs, of the declared shape: it does not block and never ends with OutOfRange.
    pub always_produces: bool,
    /// Forwards its only input, references included: executors skip the kernel.
    pub identity: bool,
    /// Is an identity if its output has the shape of its first input.
    pub identity_if_same_shape: bool,
    /// Fills the shape of its input with one number: no element of the input is read.
    pub fills: bool,
    /// For outputs that follow from shapes alone: the value of output i, given the shape of input i.
    pub shape_value: Option<ShapeValueRule>,
    /// For shape arithmetic: the elements of an output, as far as those of the inputs are known.
    pub partial_value: Option<PartialValueRule>,
    /// For ops that make a resource handle: type and shape of its value.
    pub handle_contents: Option<HandleRule>,
    /// Its use of a stack: creates it, or takes its handle as first input.
    pub stack: Option<StackUse>,
    /// The attrs that transpose an input, by input.
    pub transposed_by: &'static [&'static str],
    /// The fused op that computes this one and then the epilogues in attr `fused_ops`.
    pub fused_as: Option<&'static str>,
    /// How it can be the epilogue of an op that has `fused_as`.
    pub epilogue: Option<Epilogue>,
    /// For elementwise ops: tile functions, for fused loops.
    pub tiles: &'static [Tile],
    /// Inputs and outputs that stay in host memory on devices that have their own.
    pub host_inputs: &'static [&'static str],
    pub host_outputs: &'static [&'static str],
}

pub type ShapeRule = fn(&ShapeCall<'_>) -> Result<Vec<PartialShape>>;
pub type GradRule = fn(&mut GradCall<'_>) -> Result<Vec<Grad>>;
pub type ShapeValueRule = fn(&PartialShape, &Attrs) -> Option<Tensor>;
pub type PartialValueRule = fn(&mut dyn PartialCall) -> Option<PartialShape>;
pub type HandleRule = fn(&Attrs) -> Option<(DataType, PartialShape)>;

#[derive(Clone, Copy)]
pub enum Gradient {
    /// Not implemented: an error that names the op.
    Missing,
    /// No gradient: gradients stop here.
    Stops,
    Rule(GradRule),
}

/// The class of an op for the executor and the graph passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    Plain,
    /// A constant of the graph.
    Constant,
    /// Gets its value from a feed.
    Placeholder,
    Switch,
    Merge,
    Enter,
    Exit,
    NextIteration,
    LoopCond,
    /// Calls functions of the graph's library, which its attrs of kind func name.
    Call(CallKind),
    /// Argument and result of a function body.
    Argument,
    Return,
    Send,
    Recv,
}

impl Class {
    pub fn is_control_flow(self) -> bool {
        matches!(self, Class::Switch | Class::Merge | Class::Enter | Class::Exit | Class::NextIteration)
    }
}

/// Which functions a call runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallKind {
    Function,
    /// One of two, by its first input.
    If,
    /// One of several, by its first input.
    Case,
    /// A body, as long as a condition holds.
    While,
    /// The gradient of a function.
    Gradient,
    /// A function, on the device that its first input names.
    Remote,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackUse {
    Create,
    Push,
    Pop,
}

/// An op that can be an epilogue of a product, applied as elements are stored. Its other inputs are passed to the fused op.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Epilogue {
    /// Inputs that may be the product, the preferred one first.
    pub product: &'static [usize],
    /// Follows another epilogue, as an activation after a sum; else it must be the first.
    pub after_another: bool,
}

impl Op {
    /// Without side effects.
    pub const PURE: Op = Op {
        name: "",
        doc: "",
        inputs: &[],
        outputs: &[],
        attrs: &[],
        shape: crate::shape_call::unknown,
        grad: Gradient::Missing,
        kernels: &[],
        cases: |_| Vec::new(),
        class: Class::Plain,
        stateful: false,
        commutative: false,
        expensive: false,
        never_dead: false,
        always_produces: false,
        identity: false,
        identity_if_same_shape: false,
        fills: false,
        shape_value: None,
        partial_value: None,
        handle_contents: None,
        stack: None,
        transposed_by: &[],
        fused_as: None,
        epilogue: None,
        tiles: &[],
        host_inputs: &[],
        host_outputs: &[],
    };

    /// Reads or writes state that outlives the call.
    pub const STATEFUL: Op = Op { stateful: true, grad: Gradient::Stops, ..Op::PURE };

    pub fn has_kernel(&self) -> bool {
        !self.kernels.is_empty()
    }
}

/// A kernel, by types and device.
#[derive(Clone, Copy)]
pub struct KernelRow {
    /// Attrs that must name these types: `[("T", Float), ("Tidx", Int32)]`. Attrs not mentioned may be anything.
    pub types: &'static [(&'static str, DataType)],
    /// `CPU`.
    pub device: &'static str,
    /// Of several matching rows, the highest wins.
    pub priority: i32,
    pub make: Make,
}

/// How the kernel of a node is made.
#[derive(Clone, Copy)]
pub enum Make {
    /// The function is the kernel.
    Plain(fn(&mut OpCall<'_>) -> Result<()>),
    /// Attrs are read once, when the plan is made.
    Prepared(fn(&KernelNode) -> Result<Box<dyn Kernel>>),
    /// May wait, without blocking a thread.
    Async(fn(&KernelNode) -> Result<Arc<dyn AsyncKernel>>),
}

/// One elementwise step of a fused loop, for one dtype: reads and writes tiles of `T` elements.
#[derive(Clone, Copy)]
pub enum Tile {
    F32Unary(fn(&[f32], &mut [f32])),
    F32Binary(fn(&[f32], &[f32], &mut [f32])),
    F64Unary(fn(&[f64], &mut [f64])),
    F64Binary(fn(&[f64], &[f64], &mut [f64])),
}

/// The element types of fused loops.
pub trait TileNumber: Element {
    /// A tile of another type writes nothing.
    fn run_tile(tile: Tile, a: &[Self], b: &[Self], out: &mut [Self]);
}

impl TileNumber for f32 {
    #[inline]
    fn run_tile(tile: Tile, a: &[f32], b: &[f32], out: &mut [f32]) {
        match tile {
            Tile::F32Unary(f) => f(a, out),
            Tile::F32Binary(f) => f(a, b, out),
            Tile::F64Unary(_) | Tile::F64Binary(_) => {}
        }
    }
}

impl TileNumber for f64 {
    #[inline]
    fn run_tile(tile: Tile, a: &[f64], b: &[f64], out: &mut [f64]) {
        match tile {
            Tile::F64Unary(f) => f(a, out),
            Tile::F64Binary(f) => f(a, b, out),
            Tile::F32Unary(_) | Tile::F32Binary(_) => {}
        }
    }
}

impl Tile {
    #[inline]
    pub fn dtype(self) -> DataType {
        match self {
            Tile::F32Unary(_) | Tile::F32Binary(_) => DataType::Float,
            Tile::F64Unary(_) | Tile::F64Binary(_) => DataType::Double,
        }
    }

    /// How many inputs it reads.
    #[inline]
    pub fn inputs(self) -> usize {
        match self {
            Tile::F32Unary(_) | Tile::F64Unary(_) => 1,
            Tile::F32Binary(_) | Tile::F64Binary(_) => 2,
        }
    }

    /// Computes a tile; with one input, `b` is not read.
    #[inline]
    pub fn run<T: TileNumber>(self, a: &[T], b: &[T], out: &mut [T]) {
        T::run_tile(self, a, b, out)
    }

    /// Computes one element, in place: a copy of the result would lengthen chains of scalar ops by a store and a load each.
    #[inline]
    pub fn run_scalar<T: TileNumber>(self, a: T, b: T, out: &mut T) {
        self.run(&[a], &[b], std::slice::from_mut(out))
    }
}

/// Kernel rows for the CPU.
///
/// `cpu!(run)`: one function for all types. `cpu!(run: T in f32, f64; other: T in i32)`: `run::<f32>` where attr `T` is float, and
/// so on; groups follow one another. `cpu!(other for T = Variant, run: ..)`: in addition, a function for a type without
/// plain elements. `cpu!(make prepare ..)` and `cpu!(async prepare)`: the function makes the kernel from the node.
#[macro_export]
macro_rules! cpu {
    ($other:ident for $for:ident = $dtype:ident, $($run:ident : $attr:ident in $($t:ty),+ $(,)?);+) => {
        &[
            $crate::cpu_row!([(stringify!($for), $crate::dtype::DataType::$dtype)], $crate::op::Make::Plain($other)),
            $($($crate::cpu_row!([(stringify!($attr), <$t as $crate::dtype::Element>::DTYPE)], $crate::op::Make::Plain($run::<$t>))),+),+
        ]
    };
    (async $run:path) => { &[$crate::cpu_row!([], $crate::op::Make::Async($run))] };
    ($run:path) => { &[$crate::cpu_row!([], $crate::op::Make::Plain($run))] };
    (make $run:path) => { &[$crate::cpu_row!([], $crate::op::Make::Prepared($run))] };
    ($($run:ident : $attr:ident in $($t:ty),+ $(,)?);+) => {
        &[$($($crate::cpu_row!([(stringify!($attr), <$t as $crate::dtype::Element>::DTYPE)], $crate::op::Make::Plain($run::<$t>))),+),+]
    };
    (make $($run:ident : $attr:ident in $($t:ty),+ $(,)?);+) => {
        &[$($($crate::cpu_row!([(stringify!($attr), <$t as $crate::dtype::Element>::DTYPE)], $crate::op::Make::Prepared($run::<$t>))),+),+]
    };
}

/// One row: `cpu_row!([("T", DataType::Float)], Make::Plain(run::<f32>))`.
#[macro_export]
macro_rules! cpu_row {
    ([$($types:tt)*], $make:expr) => {
        $crate::op::KernelRow { types: &[$($types)*], device: "CPU", priority: 0, make: $make }
    };
}
