//! `Op`: one entry of the op table. To know everything about an op, read its `Op` item.

use crate::case::{Case, CaseGen};
use crate::dtype::{DataType, Element};
use crate::error::Result;
use crate::grad::{Grad, GradCall};
use crate::kernel::{AsyncKernel, Kernel, KernelNode, OpCall};
use crate::shape::PartialShape;
use crate::shape_call::ShapeCall;
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
    /// What the shapes of the outputs are, as far as can be told before running.
    pub shape: ShapeRule,
    pub grad: Gradient,
    pub kernels: &'static [KernelRow],
    /// Examples that the every-op tests run.
    pub cases: fn(&mut CaseGen) -> Vec<Case>,
    /// How the executor treats it.
    pub class: Class,
    /// What others may make of it without running it.
    pub role: Role,
    /// Has state or effects: never folded, merged with a twin, or dropped for being unused by itself.
    pub stateful: bool,
    /// Swapping the two inputs changes nothing.
    pub commutative: bool,
    /// Worth a thread of its own; cheap ops run on the thread that found them ready.
    pub expensive: bool,
    /// The op that computes this one and then what its attr `fused_ops` names.
    pub fused_as: Option<&'static str>,
    /// For elementwise ops: how a fused loop computes a run of elements.
    pub tiles: &'static [Tile],
    /// Inputs and outputs that stay in host memory on devices that have their own.
    pub host_inputs: &'static [&'static str],
    pub host_outputs: &'static [&'static str],
}

pub type ShapeRule = fn(&ShapeCall<'_>) -> Result<Vec<PartialShape>>;
pub type GradRule = fn(&mut GradCall<'_>) -> Result<Vec<Grad>>;

#[derive(Clone, Copy)]
pub enum Gradient {
    /// Not written yet: asking for it is an error that names the op.
    Missing,
    /// There is none: gradients stop here.
    Stops,
    Rule(GradRule),
}

/// What the executor and the graph passes must know of an op beyond its kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    Plain,
    /// A value known when the graph is made.
    Constant,
    /// Gets its value from a feed.
    Placeholder,
    Switch,
    Merge,
    Enter,
    Exit,
    NextIteration,
    LoopCond,
    /// Calls a function of the graph's library; the first attr of kind func names it.
    Call,
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

/// What graphs and executors make of an op beside its class. Its own file says so: nobody else goes by names. An op that is written as
/// another with changes (`..IDENTITY`) has to say it is not the same, if it is not; `every_role_is_played_by_its_ops` tells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    None,
    /// Gives its only input on as it is.
    Identity,
    /// Gives the numbers of its input on in another type.
    Cast,
    /// Shape, rank and number of elements of its input.
    ShapeOf,
    RankOf,
    SizeOf,
    /// One number, in the shape and type of its input.
    Filled,
    /// If its result has the shape of its first input, it is that input.
    SameIfSameShape,
    /// Its inputs side by side along a new axis.
    Pack,
    /// Its inputs but the last, one after another along the axis that is the last.
    Concat,
    /// A part of its first input, which begins at its second.
    Slice,
    /// A vector added to its first input, along the channels.
    BiasAdd,
    /// The sum of its inputs.
    Add,
    /// The product of two matrices, either transposed if attr `transpose_a` or `transpose_b` says so.
    Product,
    /// Negative numbers become 0.
    Relu,
    /// A handle of a variable of the type and shape that its attrs `dtype` and `shape` say.
    VariableHandle,
    /// The value of the variable that its input is a handle of.
    VariableRead,
    /// Runs even if what it waits for is dead.
    ControlTrigger,
    Stack,
    StackPush,
    StackPop,
    /// Kinds of calls: one function; one of two; one of several; two, again and again.
    CallOne,
    CallIf,
    CallCase,
    CallWhile,
}

impl Op {
    /// A function of its inputs.
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
        role: Role::None,
        stateful: false,
        commutative: false,
        expensive: false,
        fused_as: None,
        tiles: &[],
        host_inputs: &[],
        host_outputs: &[],
    };

    /// Reads or changes something that outlives the call.
    pub const STATEFUL: Op = Op { stateful: true, grad: Gradient::Stops, ..Op::PURE };

    pub fn has_kernel(&self) -> bool {
        !self.kernels.is_empty()
    }
}

/// A kernel with the types it is for.
#[derive(Clone, Copy)]
pub struct KernelRow {
    /// Attrs that must name these types: `[("T", Float), ("Tidx", Int32)]`. Attrs not mentioned may be anything.
    pub types: &'static [(&'static str, DataType)],
    /// `CPU`.
    pub device: &'static str,
    /// Of several rows that fit, the highest wins.
    pub priority: i32,
    pub make: Make,
}

/// How the kernel of a node comes to be.
#[derive(Clone, Copy)]
pub enum Make {
    /// The function is the kernel.
    Plain(fn(&mut OpCall<'_>) -> Result<()>),
    /// Attrs are read once, when the plan is made.
    Prepared(fn(&KernelNode) -> Result<Box<dyn Kernel>>),
    /// May wait; holds no thread meanwhile.
    Async(fn(&KernelNode) -> Result<Arc<dyn AsyncKernel>>),
}

/// One elementwise step of a fused loop, for one dtype: reads runs of `T` elements and writes one run.
#[derive(Clone, Copy)]
pub enum Tile {
    F32Unary(fn(&[f32], &mut [f32])),
    F32Binary(fn(&[f32], &[f32], &mut [f32])),
    F64Unary(fn(&[f64], &mut [f64])),
    F64Binary(fn(&[f64], &[f64], &mut [f64])),
}

/// The types that fused loops compute in.
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

    /// Computes a run of elements; with one input, `b` is not read.
    #[inline]
    pub fn run<T: TileNumber>(self, a: &[T], b: &[T], out: &mut [T]) {
        T::run_tile(self, a, b, out)
    }

    /// Computes one element.
    #[inline]
    pub fn run_scalar<T: TileNumber>(self, a: T, b: T) -> T {
        let mut out = [T::default()];
        self.run(&[a], &[b], &mut out);
        out[0]
    }
}

/// Kernel rows for the CPU.
///
/// `cpu!(run)`: one function for all types. `cpu!(run: T in f32, f64; other: T in i32)`: `run::<f32>` where attr `T` is float, and
/// so on, several groups after one another. `cpu!(other for T = Variant, run: ..)`: besides, a function for a type that has no
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
