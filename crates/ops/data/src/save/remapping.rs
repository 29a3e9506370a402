//! `GenerateVocabRemapping`, `LoadAndRemapMatrix`: a saved embedding or weight matrix for a changed vocabulary.

use super::{path, text};
use crate::files;
use crate::prelude::*;
use std::collections::HashMap;
use thalweg_io::bundle::ShapeAndSlice;

pub static OPS: &[&Op] = &[&GENERATE_VOCAB_REMAPPING, &LOAD_AND_REMAP_MATRIX];

static GENERATE_VOCAB_REMAPPING: Op = Op {
    name: "GenerateVocabRemapping",
    doc: "The line of each word of a new vocabulary file in an old one, or -1, and how many words are in both.",
    inputs: &["new_vocab_file: string", "old_vocab_file: string"],
    outputs: &["remapping: int64", "num_present: int32"],
    attrs: &["new_vocab_offset: int >= 0", "num_new_vocab: int >= 0", "old_vocab_size: int >= -1 = -1"],
    shape: |c| {
        c.scalar(0)?;
        c.scalar(1)?;
        Ok(vec![PartialShape::vector(c.attrs.int("num_new_vocab")?), PartialShape::scalar()])
    },
    kernels: cpu!(generate),
    expensive: true,
    // Files may change between steps.
    ..Op::STATEFUL
};

fn generate(c: &mut OpCall<'_>) -> Result<()> {
    let size = |name: &str| c.attrs().int(name).map(|n| usize::try_from(n).ok());
    let (offset, count) = (size("new_vocab_offset")?.unwrap_or(0), size("num_new_vocab")?.unwrap_or(0));
    let access = &c.step.device.access;
    let old_path = path(c, 1)?;
    let old_file = files::read(access, &old_path)?;
    let mut old: HashMap<&[u8], i64> = HashMap::new();
    let (limit, mut read) = (size("old_vocab_size")?, 0);
    for (i, word) in lines(&old_file).take(limit.unwrap_or(usize::MAX)).enumerate() {
        reserve::room(&mut old, 1)?;
        if let Some(first) = old.insert(word, i as i64) {
            return Err(failed_precondition(format_args!(
                "HashTable has different value for same key. Key {} has {first} and trying to add value {i}",
                Lossy(word)
            )));
        }
        read = i + 1;
    }
    if let Some(limit) = limit.filter(|n| *n != read) {
        return Err(invalid!(
            "Invalid vocab_size in {}: expected {limit} but got {read}",
            old_path.display()
        ));
    }
    let new_file = files::read(access, &path(c, 0)?)?;
    let found = lines(&new_file).skip(offset).take(count).map(|w| old.get(w).copied().unwrap_or(-1));
    let remapping = reserve::collect(found)?;
    if remapping.len() != count {
        return Err(invalid!("lookup table size must be larger than last new vocab entry's line"));
    }
    let present = remapping.iter().filter(|i| **i >= 0).count();
    c.set(0, Tensor::vector(&remapping)?);
    c.set(1, Tensor::scalar(present as i32));
    Ok(())
}

/// The lines of a file; one after the last line end only if there is something in it.
fn lines(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let body = file.strip_suffix(b"\n").unwrap_or(file);
    let none = file.is_empty();
    body.split(|b| *b == b'\n').filter(move |_| !none).map(|l| l.strip_suffix(b"\r").unwrap_or(l))
}

static LOAD_AND_REMAP_MATRIX: Op = Op {
    name: "LoadAndRemapMatrix",
    doc: "A matrix of a checkpoint with its rows and columns in another order; what has no place in the old one is initialized.",
    inputs: &[
        "ckpt_path: string",
        "old_tensor_name: string",
        "row_remapping: int64",
        "col_remapping: int64",
        "initializing_values: float",
    ],
    outputs: &["output_matrix: float"],
    attrs: &["num_rows: int >= 0", "num_cols: int >= 1", "max_rows_in_memory: int = -1"],
    shape: |c| {
        c.rank(2, 1)?;
        c.rank(3, 1)?;
        Ok(vec![[c.attrs.int("num_rows")?, c.attrs.int("num_cols")?].into_iter().collect()])
    },
    kernels: cpu!(load),
    expensive: true,
    ..Op::STATEFUL
};

fn load(c: &mut OpCall<'_>) -> Result<()> {
    let size = |name: &str| Ok::<usize, Error>(usize::try_from(c.attrs().int(name)?).unwrap_or(0));
    let (rows, cols) = (size("num_rows")?, size("num_cols")?);
    let vector = |i: usize, name: &str| match c.shape(i)?.rank() {
        1 => c.input(i)?.to_i64s(),
        _ => Err(invalid!("The `{name}` tensor must be 1-D, got a tensor of shape {}", c.shape(i)?)),
    };
    let (row_map, col_map) = (vector(2, "row_remapping")?, vector(3, "col_remapping")?);
    if row_map.len() != rows {
        return Err(invalid!(
            "Size of row_remapping is {} instead of being equal to num_rows={rows}",
            row_map.len()
        ));
    }
    if !col_map.is_empty() && col_map.len() != cols {
        return Err(invalid!(
            "Provided col_remapping, but its size is {} instead of being equal to num_cols={cols}",
            col_map.len()
        ));
    }
    let name = text(c, 1)?;
    let mut reader = files::read_checkpoint(&c.step.device.access, &path(c, 0)?)?;
    let entry = reader.entry(&name)?;
    let [old_rows, old_cols] = entry.shape.dims()[..] else {
        return Err(invalid!(
            "Tensor {name} has shape {} of invalid rank {} instead of expected shape of rank 2.",
            entry.shape,
            entry.shape.rank()
        ));
    };
    if col_map.is_empty() && old_cols != cols {
        return Err(invalid!(
            "Tensor {name} has shape {}, where the size of its 2nd dimension is {old_cols} instead of being equal to num_cols={cols}",
            entry.shape
        ));
    }
    let (row_map, col_map) = (checked(&row_map, old_rows)?, checked(&col_map, old_cols)?);
    let mut out = Tensor::zeros(DataType::Float, Shape::new(&[rows, cols])?)?;
    let mut initial = c.slice::<f32>(4)?.iter();
    let given = initial.len();
    let mut next = || {
        initial.next().copied().ok_or_else(|| {
            invalid!("initializing_values contained {given} elements, but more missing values remain.")
        })
    };
    for (row, old) in out.as_mut_slice::<f32>()?.chunks_exact_mut(cols.max(1)).zip(&row_map) {
        let Some(old) = old else {
            row.iter_mut().try_for_each(|v| next().map(|x| *v = x))?;
            continue;
        };
        // One row at a time: the old matrix may be larger than memory.
        let part = ShapeAndSlice::parse(&format!("{old_rows} {old_cols} {old},1:-"))?;
        let stored = reader.read_slice(&name, &part)?;
        let stored = stored.as_slice::<f32>()?;
        if col_map.is_empty() {
            row.iter_mut().zip(stored).for_each(|(v, x)| *v = *x);
            continue;
        }
        for (v, column) in row.iter_mut().zip(&col_map) {
            *v = match column.and_then(|i| stored.get(i)) {
                Some(x) => *x,
                None => next()?,
            };
        }
    }
    let used = given - initial.len();
    if used != given {
        return Err(invalid!(
            "initializing_values contained {given} elements, but only {used} elements were used to fill in missing values."
        ));
    }
    c.set(0, out);
    Ok(())
}

/// Old places by new ones; negative ones have none. An old place may be used once.
fn checked(map: &[i64], old: usize) -> Result<Vec<Option<usize>>> {
    let mut users: HashMap<i64, usize> = HashMap::new();
    reserve::room(&mut users, map.len())?;
    reserve::try_collect(map.iter().enumerate().map(|(new, id)| {
        let Ok(place) = usize::try_from(*id) else { return Ok(None) };
        if place >= old {
            return Err(invalid!("Old ID {id} is out of bounds: there are {old}"));
        }
        match users.insert(*id, new) {
            Some(other) => Err(unimplemented(format_args!(
                "Old ID {id} is mapped to both new ID {other} and {new}, which is not supported."
            ))),
            None => Ok(Some(place)),
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, code};
    use thalweg_io::bundle::BundleWriter;
    use thalweg_io::scratch::Scratch;

    /// What TensorFlow 2.21 gives.
    #[test]
    fn words_are_found_in_the_old_vocabulary() {
        let folder = Scratch::new();
        let file = |name: &str, contents: &str| {
            std::fs::write(folder.path(name), contents).unwrap();
            Tensor::string(folder.path(name).to_str().unwrap())
        };
        let (old, new) = (file("old", "a\nb\nc\nd\n"), file("new", "c\nx\na\nd\nb\n"));
        let of = |offset: i64, count: i64, size: i64| {
            let attrs = [
                ("new_vocab_offset", offset.into()),
                ("num_new_vocab", count.into()),
                ("old_vocab_size", size.into()),
            ];
            call("GenerateVocabRemapping", &[new.clone(), old.clone()], &attrs)
        };
        let got = of(0, 5, -1).unwrap();
        assert_eq!(
            (got[0].to_i64s().unwrap(), got[1].to_scalar::<i32>().unwrap()),
            (vec![2, -1, 0, 3, 1], 4)
        );
        assert_eq!(of(1, 3, -1).unwrap()[0].to_i64s().unwrap(), [-1, 0, 3]);
        assert_eq!(of(0, 5, 2).unwrap()[0].to_i64s().unwrap(), [-1, -1, 0, -1, 1]);
        assert_eq!(code(of(3, 5, -1)), Code::InvalidArgument);
        assert_eq!(code(of(0, 5, 9)), Code::InvalidArgument);
    }

    #[test]
    fn rows_and_columns_move_and_the_rest_is_initialized() {
        let folder = Scratch::new();
        let matrix: Vec<f32> = (0..12).map(|i| i as f32).collect();
        let mut writer = BundleWriter::create(&folder.path("m")).unwrap();
        writer.add("m", &Tensor::from_slice(Shape::new(&[4, 3]).unwrap(), &matrix).unwrap()).unwrap();
        writer.finish().unwrap();
        let of = |rows: &[i64], cols: &[i64], initial: &[f32], shape: (i64, i64)| {
            let inputs = [
                Tensor::string(folder.path("m").to_str().unwrap()),
                Tensor::string("m"),
                Tensor::vector(rows).unwrap(),
                Tensor::vector(cols).unwrap(),
                Tensor::vector(initial).unwrap(),
            ];
            call("LoadAndRemapMatrix", &inputs, &[("num_rows", shape.0.into()), ("num_cols", shape.1.into())])
        };
        let values = |r: Result<Vec<Tensor>>| r.unwrap()[0].as_slice::<f32>().unwrap().to_vec();
        assert_eq!(values(of(&[1, -1, 3], &[2, 0], &[7.0, 8.0], (3, 2))), [5.0, 3.0, 7.0, 8.0, 11.0, 9.0]);
        assert_eq!(values(of(&[1, -1], &[0, -1], &[1.0, 2.0, 3.0], (2, 2))), [3.0, 1.0, 2.0, 3.0]);
        assert_eq!(values(of(&[3], &[], &[], (1, 3))), [9.0, 10.0, 11.0]);
        for bad in [
            of(&[1, -1], &[0], &[], (2, 1)),
            of(&[1], &[0], &[5.0], (1, 1)),
            of(&[9], &[0], &[], (1, 1)),
            of(&[1], &[9], &[], (1, 1)),
            of(&[1], &[0], &[], (2, 1)),
            of(&[1], &[], &[], (1, 2)),
        ] {
            assert_eq!(code(bad), Code::InvalidArgument);
        }
        assert_eq!(code(of(&[1, 1], &[0], &[], (2, 1))), Code::Unimplemented);
    }
}
