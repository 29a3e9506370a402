//! `Substr`: substrings.

use super::mapped::{begins_char, words};
use crate::broadcast::BroadcastPlan;
use crate::prelude::*;
use bytes::Bytes;

pub static SUBSTR: Op = Op {
    name: "Substr",
    doc: "`len` bytes or characters of each string from `pos` on, which counts from the end if negative.",
    inputs: &["input: string", "pos: T", "len: T"],
    outputs: &["output: string"],
    attrs: &["T: {int32, int64}", "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'"],
    shape: |c| {
        let pos = c.input(1).merge(&c.input(2))?;
        Ok(vec![shape_call::broadcast_shapes(&c.input(0), &pos)?])
    },
    grad: Stops,
    kernels: cpu!(make prepare),
    cases: |_| {
        vec![
            Case::new(vec![words(&[2], &["hello", "ab"]), int_vector(&[1, -1]), int_vector(&[2, 1])]),
            Case::new(vec![words(&[2, 1], &["hello", "abc"]), int_vector(&[1, 2]), int_vector(&[1, 2])]),
            Case::new(vec![words(&[1], &["héllo"]), Tensor::scalar(-4i32), Tensor::scalar(2i32)])
                .attr("unit", "UTF8_CHAR"),
        ]
    },
    ..Op::PURE
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let chars = node.attrs.str("unit")? == "UTF8_CHAR";
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (input, pos, len) = (c.input(0)?, c.input(1)?, c.input(2)?);
        if pos.shape() != len.shape() {
            return Err(invalid!(
                "pos and len should have the same shape, got: {} vs. {}",
                pos.shape(),
                len.shape()
            ));
        }
        let plan = BroadcastPlan::new(input.shape(), pos.shape())?;
        let (strings, pos, len) = (input.strings()?, pos.to_i64s()?, len.to_i64s()?);
        let total = plan.shape().elements();
        let mut items: Vec<Bytes> = reserve::with_capacity(total)?;
        let (mut walk, (i_step, p_step)) = (plan.walk(), plan.row_steps());
        while items.len() < total {
            let (i, p) = walk.next_offsets();
            for k in 0..plan.row() {
                let (i, p) = (i + k * i_step, p + k * p_step);
                items.push(part(&strings[i], pos[p], len[p], chars, items.len())?);
            }
        }
        let out = Tensor::from_objects(plan.shape().clone(), items)?;
        c.set(0, out);
        Ok(())
    }))
}

fn part(s: &Bytes, pos: i64, len: i64, chars: bool, index: usize) -> Result<Bytes> {
    let n = if chars { s.iter().filter(|b| begins_char(b)).count() } else { s.len() };
    let start = if pos < 0 { pos.checked_add(n as i64) } else { Some(pos) };
    let Some(start) = start.and_then(|p| usize::try_from(p).ok()).filter(|p| *p <= n) else {
        return Err(invalid!("pos {pos} out of range for string b'{}' at index {index}", Lossy(s)));
    };
    let len = usize::try_from(len).unwrap_or(usize::MAX).min(n - start);
    if !chars {
        return Ok(s.slice(start..start + len));
    }
    let mut starts = s.iter().enumerate().filter(|(_, b)| begins_char(b)).map(|(at, _)| at).chain([s.len()]);
    let from = starts.nth(start).unwrap_or(s.len());
    let to = if len == 0 { from } else { starts.nth(len - 1).unwrap_or(s.len()) };
    Ok(s.slice(from..to))
}
