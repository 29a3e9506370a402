//! `InvertPermutation`: the inverse of a permutation.

use crate::convert::int_tensor;
use crate::prelude::*;

pub static INVERT_PERMUTATION: Op = Op {
    name: "InvertPermutation",
    doc: "y with y[x[i]] = i, for a permutation x of 0, 1, ...",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {int32, int64} = DT_INT32"],
    shape: |c| Ok(vec![c.rank(0, 1)?]),
    grad: Stops,
    kernels: cpu!(run),
    cases: |_| vec![Case::new(vec![int_vector(&[3, 4, 0, 2, 1])]), Case::new(vec![int_vector(&[])])],
    host_inputs: &["x"],
    host_outputs: &["y"],
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let x = c.int_vector(0)?;
    let mut y = reserve::filled(x.len(), -1i64)?;
    for (i, p) in x.iter().enumerate() {
        let slot = usize::try_from(*p).ok().and_then(|p| y.get_mut(p));
        match slot {
            None => return Err(invalid!("{p} is not between 0 and {}", x.len())),
            Some(slot) if *slot >= 0 => return Err(invalid!("{p} is duplicated in the input.")),
            Some(slot) => *slot = i as i64,
        }
    }
    let out = int_tensor(c.output_type(0)?, &y)?;
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, ints};

    #[test]
    fn what_is_no_permutation_is_refused() {
        for x in [[0, 0], [0, 2], [-1, 0]] {
            assert_eq!(code(call("InvertPermutation", &[ints(&[2], &x)], &[])), Code::InvalidArgument);
        }
    }
}
