//! Copying runs of neighbouring elements, whatever their type: plain bytes, strings, handles, variants.

use crate::prelude::*;
use bytes::Bytes;
use thalweg_core::resource::ResourceHandle;

/// Runs of `len` elements that begin at these elements.
pub struct Runs {
    pub starts: Vec<usize>,
    pub len: usize,
}

/// The elements of `pieces` one after another, under `shape`, which has as many.
pub fn join(dtype: DataType, shape: Shape, pieces: &[Tensor]) -> Result<Tensor> {
    fn objects<O: Object>(shape: Shape, pieces: &[Tensor]) -> Result<Tensor> {
        let mut items = Vec::with_capacity(shape.elements());
        for p in pieces {
            items.extend_from_slice(O::of(p)?);
        }
        Tensor::from_objects(shape, items)
    }
    let total: usize = pieces.iter().map(Tensor::elements).sum();
    if total != shape.elements() || pieces.iter().any(|p| p.dtype() != dtype) {
        return Err(invalid!(
            "{} tensors with {total} elements do not make a {dtype} tensor of shape {shape}",
            pieces.len()
        ));
    }
    match dtype {
        DataType::String => objects::<Bytes>(shape, pieces),
        DataType::Resource => objects::<ResourceHandle>(shape, pieces),
        DataType::Variant => objects::<Variant>(shape, pieces),
        plain => {
            let mut out = Tensor::uninit(plain, shape)?;
            let mut rest = out.bytes_mut()?;
            for p in pieces {
                let (head, tail) = rest.split_at_mut(p.bytes()?.len());
                head.copy_from_slice(p.bytes()?);
                rest = tail;
            }
            Ok(out)
        }
    }
}

/// Tensors of one shape, stacked along a new first dimension.
pub fn stack(dtype: DataType, each: &Shape, rows: &[Tensor]) -> Result<Tensor> {
    let mut dims = vec![rows.len()];
    dims.extend_from_slice(each);
    if let Some(odd) = rows.iter().find(|r| r.shape() != each) {
        return Err(invalid!("cannot stack a tensor of shape {} with others of shape {each}", odd.shape()));
    }
    join(dtype, Shape::new(&dims)?, rows)
}

/// Row `i` along the first dimension, without that dimension; shares the memory.
pub fn row(t: &Tensor, i: usize) -> Result<Tensor> {
    t.rows(i, 1)?.reshape(t.shape().without(0))
}

/// All rows along the first dimension.
pub fn unstack(t: &Tensor) -> Result<Vec<Tensor>> {
    (0..t.shape().dim(0)?).map(|i| row(t, i)).collect()
}

/// The runs of `t`, one after another, under `shape`. The caller has checked that they lie inside `t`.
pub fn pick(t: &Tensor, shape: Shape, runs: &Runs) -> Result<Tensor> {
    fn objects<O: Object>(t: &Tensor, shape: Shape, runs: &Runs) -> Result<Tensor> {
        let from = O::of(t)?;
        let items = runs.starts.iter().flat_map(|s| &from[*s..*s + runs.len]).cloned().collect();
        Tensor::from_objects(shape, items)
    }
    match t.dtype() {
        DataType::String => objects::<Bytes>(t, shape, runs),
        DataType::Resource => objects::<ResourceHandle>(t, shape, runs),
        DataType::Variant => objects::<Variant>(t, shape, runs),
        plain => {
            let size = runs.len * plain.size();
            let mut out = Tensor::uninit(plain, shape)?;
            let from = t.bytes()?;
            for (s, to) in runs.starts.iter().zip(out.bytes_mut()?.chunks_exact_mut(size.max(1))) {
                to.copy_from_slice(&from[s * plain.size()..][..size]);
            }
            Ok(out)
        }
    }
}

/// Overwrites the runs of `t` with the elements of `from`, which has as many; or with its one element.
pub fn put(t: &mut Tensor, runs: &Runs, from: &Tensor) -> Result<()> {
    fn objects<O: Object>(t: &mut Tensor, runs: &Runs, from: &Tensor) -> Result<()> {
        let mut items = O::of(t)?.to_vec();
        let mut new = O::of(from)?.iter().cycle();
        for s in &runs.starts {
            for item in &mut items[*s..*s + runs.len] {
                item.clone_from(new.next().unwrap_or(&O::default()));
            }
        }
        *t = Tensor::from_objects(t.shape().clone(), items)?;
        Ok(())
    }
    match t.dtype() {
        DataType::String => objects::<Bytes>(t, runs, from),
        DataType::Resource => objects::<ResourceHandle>(t, runs, from),
        DataType::Variant => objects::<Variant>(t, runs, from),
        plain => {
            let (size, one) = (runs.len * plain.size(), from.elements() == 1);
            let (to, new) = (t.bytes_mut()?, from.bytes()?);
            for (i, s) in runs.starts.iter().enumerate() {
                let to = &mut to[s * plain.size()..][..size];
                match one {
                    true => to.chunks_exact_mut(plain.size()).for_each(|e| e.copy_from_slice(new)),
                    false => to.copy_from_slice(&new[i * size..][..size]),
                }
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ints;

    #[test]
    fn runs_are_copied_for_plain_and_other_elements() {
        let t = ints(&[3, 2], &[1, 2, 3, 4, 5, 6]);
        let runs = Runs { starts: vec![4, 0], len: 2 };
        let picked = pick(&t, Shape::new(&[2, 2]).unwrap(), &runs).unwrap();
        assert_eq!(picked.as_slice::<i32>().unwrap(), [5, 6, 1, 2]);
        let s = |v: &[&'static str]| {
            Tensor::from_objects(
                Shape::vector(v.len()),
                v.iter().map(|s| Bytes::from_static(s.as_bytes())).collect(),
            )
            .unwrap()
        };
        let mut t = s(&["a", "b", "c"]);
        put(&mut t, &Runs { starts: vec![2, 0], len: 1 }, &s(&["x", "y"])).unwrap();
        assert!(t.same_bits(&s(&["y", "b", "x"])));
        put(&mut t, &Runs { starts: vec![0], len: 2 }, &s(&["z"])).unwrap();
        assert!(t.same_bits(&s(&["z", "z", "x"])));
        let two = stack(DataType::String, &t.shape().clone(), &[t.clone(), t]).unwrap();
        assert_eq!(two.shape().to_string(), "[2,3]");
        assert_eq!(unstack(&two).unwrap().len(), 2);
    }
}
