//! Templates of elementwise ops. An op states its name, doc, gradient and formula, and takes the rest from a template:
//! `..unary!(UNARY_FLOAT, T: Float in floats => |x| x.via(f32::sin, f64::sin))`.
//!
//! `unary!`, `binary!` and `binary_alike!` give the template with kernel rows for all types of these sets (`type_rows!` lists the
//! sets). Groups of types with formulas of their own follow after `;`; `by f` in a group calls `f` instead of the function `unary`,
//! `binary` or `binary_alike`. With `fused`, the first group's formula is also the tile of fused loops; `f32 by g` has a vectorised
//! function of slices for float.

use crate::prelude::*;

/// Kernel rows of a generic function for a set of types of attr `T`.
#[macro_export]
macro_rules! type_rows {
    ($run:ident in floats) => { thalweg_core::cpu!($run: T in f32, f64, f16, bf16) };
    ($run:ident in floats_but_f32) => { thalweg_core::cpu!($run: T in f64, f16, bf16) };
    ($run:ident in single_and_double) => { thalweg_core::cpu!($run: T in f32, f64) };
    ($run:ident in complexes) => { thalweg_core::cpu!($run: T in Complex32, ComplexDouble) };
    ($run:ident in integers) => { thalweg_core::cpu!($run: T in i32, i64, u8, u16, u32, u64, i8, i16) };
    ($run:ident in signed_integers) => { thalweg_core::cpu!($run: T in i32, i64, i8, i16) };
    ($run:ident in int32_and_int64) => { thalweg_core::cpu!($run: T in i32, i64) };
}

/// Kernel rows of several lists as one list.
#[macro_export]
macro_rules! join_rows {
    ($($list:expr),+ $(,)?) => {{
        const LISTS: &[&[thalweg_core::op::KernelRow]] = &[$($list),+];
        &$crate::joined::<_, { $crate::total(LISTS) }>(LISTS, LISTS[0][0])
    }};
}

/// Kernel rows of formulas: `formula_rows!(unary; T: Float in floats => |x| ..; T: ComplexNumber in complexes => |z| ..)`.
#[macro_export]
macro_rules! formula_rows {
    ($default:path; $t:ident: $bound:ident in $($set:ident),+ => $($rest:tt)+) => {
        $crate::formula_rows!($default; $t: $bound in $($set),+ by $default => $($rest)+)
    };
    ($default:path; $t:ident: $bound:ident in $($set:ident),+ by $run:path => |$($x:ident),+| $body:expr) => {{
        fn run<$t: $bound>(c: &mut $crate::prelude::OpCall<'_>) -> $crate::prelude::Result<()> {
            $run(c, |$($x: $t),+| $body)
        }
        $crate::join_rows!($($crate::type_rows!(run in $set)),+)
    }};
    ($default:path; $t:ident: $bound:ident in $($set:ident),+ by $run:path => |$($x:ident),+| $body:expr; $($more:tt)+) => {
        $crate::join_rows!(
            $crate::formula_rows!($default; $t: $bound in $($set),+ by $run => |$($x),+| $body),
            $crate::formula_rows!($default; $($more)+)
        )
    };
}

/// An op of one input.
#[macro_export]
macro_rules! unary {
    ($base:expr, fused, f32 by $slices:path, $t:ident: $bound:ident in $($set:ident),+ => |$x:ident| $body:expr $(; $($more:tt)+)?) => {{
        fn tile<$t: $bound>(x: &[$t], y: &mut [$t]) {
            $crate::elementwise::tile1(x, y, |$x: $t| $body)
        }
        fn vectorised(c: &mut $crate::prelude::OpCall<'_>) -> $crate::prelude::Result<()> {
            $crate::elementwise::unary_tensor(c, &$slices)
        }
        const KERNELS: &[$crate::prelude::KernelRow] = $crate::join_rows!(
            &[thalweg_core::cpu_row!([("T", DataType::Float)], $crate::prelude::Make::Plain(vectorised))],
            $crate::formula_rows!($crate::elementwise::unary; $t: $bound in $($set),+ => |$x| $body $(; $($more)+)?)
        );
        const TILES: &[$crate::prelude::Tile] =
            &[$crate::prelude::Tile::F32Unary($slices), $crate::prelude::Tile::F64Unary(tile::<f64>)];
        Op { kernels: KERNELS, tiles: TILES, ..$base }
    }};
    ($base:expr, fused, $t:ident: $bound:ident in $($set:ident),+ => |$x:ident| $body:expr $(; $($more:tt)+)?) => {{
        fn tile<$t: $bound>(x: &[$t], y: &mut [$t]) {
            $crate::elementwise::tile1(x, y, |$x: $t| $body)
        }
        const TILES: &[$crate::prelude::Tile] =
            &[$crate::prelude::Tile::F32Unary(tile::<f32>), $crate::prelude::Tile::F64Unary(tile::<f64>)];
        Op { tiles: TILES, ..$crate::unary!($base, $t: $bound in $($set),+ => |$x| $body $(; $($more)+)?) }
    }};
    ($base:expr, $($formulas:tt)+) => {{
        const KERNELS: &[$crate::prelude::KernelRow] = $crate::formula_rows!($crate::elementwise::unary; $($formulas)+);
        Op { kernels: KERNELS, ..$base }
    }};
}

/// An op of two inputs that broadcast.
#[macro_export]
macro_rules! binary {
    ($base:expr, fused, $t:ident: $bound:ident in $($set:ident),+ => |$x:ident, $y:ident| $body:expr $(; $($more:tt)+)?) => {{
        fn tile<$t: $bound>(x: &[$t], y: &[$t], z: &mut [$t]) {
            $crate::elementwise::tile2(x, y, z, |$x: $t, $y: $t| $body)
        }
        const TILES: &[$crate::prelude::Tile] =
            &[$crate::prelude::Tile::F32Binary(tile::<f32>), $crate::prelude::Tile::F64Binary(tile::<f64>)];
        Op { tiles: TILES, ..$crate::binary!($base, $t: $bound in $($set),+ => |$x, $y| $body $(; $($more)+)?) }
    }};
    ($base:expr, f32 by $slices:path, $($formulas:tt)+) => {{
        fn vectorised(c: &mut $crate::prelude::OpCall<'_>) -> $crate::prelude::Result<()> {
            $crate::elementwise::binary_slices(c, $slices)
        }
        const KERNELS: &[$crate::prelude::KernelRow] = $crate::join_rows!(
            &[thalweg_core::cpu_row!([("T", DataType::Float)], $crate::prelude::Make::Plain(vectorised))],
            $crate::formula_rows!($crate::elementwise::binary; $($formulas)+)
        );
        Op { kernels: KERNELS, ..$base }
    }};
    ($base:expr, $($formulas:tt)+) => {{
        const KERNELS: &[$crate::prelude::KernelRow] = $crate::formula_rows!($crate::elementwise::binary; $($formulas)+);
        Op { kernels: KERNELS, ..$base }
    }};
}

/// An op of two inputs of one shape.
#[macro_export]
macro_rules! binary_alike {
    ($base:expr, $($formulas:tt)+) => {{
        const KERNELS: &[$crate::prelude::KernelRow] =
            $crate::formula_rows!($crate::elementwise::binary_alike; $($formulas)+);
        Op { kernels: KERNELS, ..$base }
    }};
}

/// y = f(x).
pub const UNARY: Op = Op {
    inputs: &["x: T"],
    outputs: &["y: T"],
    shape: same_as_input,
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    ..Op::PURE
};

pub const UNARY_FLOAT: Op = Op { attrs: &["T: {bfloat16, half, float, double}"], ..UNARY };

pub const UNARY_COMPLEX: Op =
    Op { attrs: &["T: {bfloat16, half, float, double, complex64, complex128}"], ..UNARY };

/// As `UNARY_COMPLEX`, and signed integers.
pub const UNARY_SIGNED: Op = Op {
    attrs: &["T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}"],
    ..UNARY
};

/// A piecewise constant function: gradients stop here.
pub const ROUNDING: Op = Op { grad: Stops, ..UNARY_FLOAT };

/// Whether something is true of x.
pub const PREDICATE: Op = Op { outputs: &["y: bool"], ..ROUNDING };

/// Functions that are defined, or smooth, for positive numbers only.
pub fn positive_case(r: &mut CaseGen) -> Vec<Case> {
    vec![Case::new(vec![r.positive(&[2, 3])])]
}

/// z = f(x, y); shapes broadcast.
pub const BINARY: Op = Op {
    inputs: &["x: T", "y: T"],
    outputs: &["z: T"],
    shape: broadcast,
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[4, 1]), r.tensor(&[3, 1, 2])]),
        ]
    },
    ..Op::PURE
};

/// Quotients of x and y.
pub const QUOTIENT: Op = Op {
    attrs: &[
        "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}",
    ],
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), r.positive(&[2, 3])]),
            Case::new(vec![r.tensor(&[4, 1]), r.positive(&[3, 1, 2])]),
        ]
    },
    ..BINARY
};

/// 0 where x is 0, whatever y is.
pub const ZERO_AT_ZERO: Op = Op {
    attrs: &["T: {half, bfloat16, float, double, complex64, complex128}"],
    cases: |r| {
        vec![
            Case::new(vec![r.positive(&[2, 3]), r.positive(&[2, 3])]),
            Case::new(vec![r.positive(&[4, 1]), r.positive(&[3, 1, 2])]),
        ]
    },
    ..BINARY
};

pub const COMPARISON: Op = Op {
    outputs: &["z: bool"],
    attrs: &["T: realnumbertype"],
    grad: Stops,
    cases: |r| vec![Case::new(vec![r.ints(&[2, 3], 0, 3), r.ints(&[3], 0, 3)])],
    ..BINARY
};

pub const BITWISE: Op = Op {
    attrs: &["T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}"],
    grad: Stops,
    cases: |r| vec![Case::new(vec![r.ints(&[2, 3], 0, 9), r.ints(&[3], 0, 9)])],
    ..BINARY
};

pub const UNARY_BITWISE: Op = Op {
    inputs: UNARY.inputs,
    outputs: UNARY.outputs,
    shape: same_as_input,
    cases: |r| vec![Case::new(vec![r.ints(&[2, 3], 0, 9)])],
    ..BITWISE
};

/// The gradient of a function of one input, computed from its result y and the gradient dy.
pub const UNARY_GRAD: Op = Op {
    inputs: &["y: T", "dy: T"],
    outputs: &["z: T"],
    attrs: UNARY_COMPLEX.attrs,
    shape: shape_call::all_inputs_alike,
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])])],
    ..Op::PURE
};

pub const ACTIVATION: Op = Op {
    inputs: &["features: T"],
    outputs: &["activations: T"],
    attrs: &["T: {half, bfloat16, float, double}"],
    ..UNARY
};

/// The gradient of an activation, computed from the gradient and the features.
pub const ACTIVATION_GRAD: Op = Op {
    inputs: &["gradients: T", "features: T"],
    outputs: &["backprops: T"],
    attrs: ACTIVATION.attrs,
    ..UNARY_GRAD
};
