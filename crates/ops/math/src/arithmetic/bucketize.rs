//! `Bucketize`: the interval of each number.

use crate::elementwise::unary_tensor;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&BUCKETIZE];

static BUCKETIZE: Op = Op {
    name: "Bucketize",
    doc: "The bucket of each element: the number of sorted boundaries <= it.",
    inputs: &["input: T"],
    outputs: &["output: int32"],
    attrs: &["T: {int32, int64, float, double}", "boundaries: list(float)"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(make prepare: T in i32, i64, f32, f64),
    cases: |r| {
        let bounds = |v: &[f32]| Attr::List(v.iter().map(|b| Attr::Float(*b)).collect());
        vec![
            Case::new(vec![r.tensor(&[2, 5])]).attr("boundaries", bounds(&[-0.5, 0.0, 0.25, 0.25])),
            Case::new(vec![r.tensor(&[3])]).attr("boundaries", bounds(&[])),
        ]
    },
    ..Op::PURE
};

/// Whether a number is below a boundary, compared in the type that C++ promotes to.
trait Before: Element {
    fn before(self, boundary: f32) -> bool;
}

impl Before for i32 {
    fn before(self, boundary: f32) -> bool {
        (self as f32) < boundary
    }
}

impl Before for i64 {
    fn before(self, boundary: f32) -> bool {
        (self as f32) < boundary
    }
}

impl Before for f32 {
    fn before(self, boundary: f32) -> bool {
        self < boundary
    }
}

impl Before for f64 {
    fn before(self, boundary: f32) -> bool {
        self < f64::from(boundary)
    }
}

/// So few boundaries are compared with every number, which takes no branches, in tiles that stay in the first-level cache.
const FEW: usize = 24;
const TILE: usize = 1024;

fn prepare<T: Before>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let boundaries = node.attrs.floats("boundaries")?;
    if !boundaries.is_sorted() {
        return Err(invalid!("Expected sorted boundaries, got {boundaries:?}"));
    }
    // NaN is below none of them.
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let bounds = boundaries.as_slice();
        if bounds.len() > FEW {
            return unary(c, |x: T| bounds.partition_point(|b| !x.before(*b)) as i32);
        }
        unary_tensor(c, &|x: &[T], y: &mut [i32]| {
            for (x, y) in x.chunks(TILE).zip(y.chunks_mut(TILE)) {
                y.fill(0);
                for bound in bounds {
                    x.iter().zip(y.iter_mut()).for_each(|(x, y)| *y += i32::from(!x.before(*bound)));
                }
            }
        })
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats};

    #[test]
    fn a_boundary_belongs_to_the_interval_after_it() {
        let bounds = |v: &[f32]| [("boundaries", Attr::List(v.iter().map(|b| Attr::Float(*b)).collect()))];
        let x = floats(&[6], &[-5.0, 0.0, 9.5, 10.0, f32::INFINITY, f32::NAN]);
        let y = call("Bucketize", &[x], &bounds(&[0.0, 10.0, 100.0])).unwrap();
        assert_eq!(y[0].as_slice::<i32>().unwrap(), &[0, 1, 1, 2, 3, 3]);
        assert_eq!(
            code(call("Bucketize", &[floats(&[1], &[1.0])], &bounds(&[1.0, 0.0]))),
            Code::InvalidArgument
        );
    }
}
