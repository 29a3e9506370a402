//! Checkpoints of the first format: one table, whose first entry lists the tensors and whose others are their slices, as messages.

use super::region::{self, Ranges};
use super::slice::{ShapeAndSlice, TensorSlice};
use super::{key, reader};
use crate::message::decode;
use crate::table::{Table, TableBuilder};
use crate::wire::{partial_shape_from_proto, shape_to_proto, tensor_from_proto, tensor_to_proto};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, data_loss, not_found};
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_core::{invalid, reserve};
use thalweg_proto::{
    SavedSlice, SavedSliceMeta, SavedTensorSliceMeta, SavedTensorSlices, TensorProto, VersionDef, encode,
};

/// Collects tensors and slices of them.
#[derive(Default)]
pub struct SliceWriter {
    metas: BTreeMap<String, SavedSliceMeta>,
    slices: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl SliceWriter {
    /// Adds a whole tensor.
    pub fn add(&mut self, name: &str, t: &Tensor) -> Result<()> {
        let all = vec!["-"; t.rank()].join(":");
        let slice = TensorSlice::parse(&all)?;
        self.put(name, t.shape(), &slice, t)
    }

    /// Adds a slice of a tensor.
    pub fn add_slice(&mut self, name: &str, part: &ShapeAndSlice, t: &Tensor) -> Result<()> {
        if *t.shape() != part.slice_shape {
            return Err(invalid!(
                "Slice in shape_and_slice specification does not match the shape of the tensor to save: {}, tensor: {}",
                part.slice_shape,
                t.shape()
            ));
        }
        self.put(name, &part.shape, &part.slice, t)
    }

    fn put(&mut self, name: &str, shape: &Shape, slice: &TensorSlice, t: &Tensor) -> Result<()> {
        let meta = self.metas.entry(name.to_string()).or_insert_with(|| SavedSliceMeta {
            name: name.to_string(),
            shape: Some(shape_to_proto(shape)),
            r#type: t.dtype().wire(),
            slice: vec![],
        });
        if meta.r#type != t.dtype().wire() || meta.shape.as_ref() != Some(&shape_to_proto(shape)) {
            return Err(invalid!("the slices of '{name}' are of tensors of several types or shapes"));
        }
        reserve::push(&mut meta.slice, slice.to_proto())?;
        let data =
            SavedSlice { name: name.to_string(), slice: Some(slice.to_proto()), data: Some(typed(t)?) };
        let message = SavedTensorSlices { data: Some(data), ..Default::default() };
        self.slices.insert(key::of_slice(name, slice), encode(&message));
        Ok(())
    }

    /// The bytes of the file.
    pub fn finish(self) -> Result<Vec<u8>> {
        let versions = Some(VersionDef { producer: 1, ..Default::default() });
        let meta = SavedTensorSliceMeta { tensor: self.metas.into_values().collect(), versions };
        let mut table = TableBuilder::new();
        table.add(b"", &encode(&SavedTensorSlices { meta: Some(meta), ..Default::default() }))?;
        for (key, value) in &self.slices {
            table.add(key, value)?;
        }
        Ok(table.finish())
    }
}

/// A tensor as the values of its message, without type and shape.
fn typed(t: &Tensor) -> Result<TensorProto> {
    let mut p = TensorProto::default();
    match t.dtype() {
        DataType::Float => p.float_val = reserve::copied(t.as_slice()?)?,
        DataType::Double => p.double_val = reserve::copied(t.as_slice()?)?,
        DataType::Int32 => p.int_val = reserve::copied(t.as_slice()?)?,
        DataType::Uint8 => p.int_val = reserve::collect(t.as_slice::<u8>()?.iter().map(|v| i32::from(*v)))?,
        DataType::Int8 => p.int_val = reserve::collect(t.as_slice::<i8>()?.iter().map(|v| i32::from(*v)))?,
        DataType::Int16 => p.int_val = reserve::collect(t.as_slice::<i16>()?.iter().map(|v| i32::from(*v)))?,
        DataType::Uint16 => p.int_val = reserve::collect(t.as_slice::<u16>()?.iter().map(|v| i32::from(*v)))?,
        DataType::Int64 => p.int64_val = reserve::copied(t.as_slice()?)?,
        DataType::Bool => p.bool_val = reserve::copied(t.as_slice()?)?,
        DataType::Half | DataType::Bfloat16 => {
            let halves = t.bytes()?.as_chunks::<2>().0;
            p.half_val = reserve::collect(halves.iter().map(|b| i32::from(u16::from_ne_bytes(*b))))?;
        }
        DataType::String => p = TensorProto { dtype: 0, tensor_shape: None, ..tensor_to_proto(t)? },
        other => return Err(invalid!("a checkpoint of the first format has no tensors of type {other}")),
    }
    Ok(p)
}

/// Reads the files of such a checkpoint.
pub struct SliceReader {
    tables: Vec<Table>,
}

/// A tensor of the checkpoint: its type, shape, and where its slices are.
struct Stored {
    dtype: DataType,
    shape: Shape,
    slices: Vec<(TensorSlice, usize)>,
}

/// The tensors that the first entry of a file lists.
fn listed(table: &Table) -> Result<Vec<SavedSliceMeta>> {
    let bytes = table.get(b"").ok_or_else(|| data_loss("the checkpoint has no list of tensors"))?;
    let message: SavedTensorSlices =
        decode(bytes.clone())?.map_err(|e| data_loss(format_args!("the list of tensors: {e}")))?;
    Ok(message.meta.unwrap_or_default().tensor)
}

impl SliceReader {
    /// From the contents of all files.
    pub fn new(files: Vec<Bytes>) -> Result<SliceReader> {
        Ok(SliceReader { tables: reserve::try_collect(files.iter().map(Table::read))? })
    }

    fn find(&self, name: &str) -> Result<Stored> {
        let mut found: Option<Stored> = None;
        for (i, table) in self.tables.iter().enumerate() {
            let tensors = listed(table)?;
            for meta in tensors.iter().filter(|t| t.name == name) {
                let dtype = DataType::from_wire(meta.r#type);
                let shape = partial_shape_from_proto(&meta.shape.clone().unwrap_or_default())?.to_shape();
                let (Some(dtype), Some(shape)) = (dtype, shape) else {
                    return Err(data_loss(format_args!("'{name}' has no type or shape")));
                };
                let stored =
                    found.get_or_insert_with(|| Stored { dtype, shape: shape.clone(), slices: vec![] });
                if stored.dtype != dtype || stored.shape != shape {
                    return Err(data_loss(format_args!(
                        "'{name}' has another type or shape in another file"
                    )));
                }
                for slice in &meta.slice {
                    reserve::push(&mut stored.slices, (TensorSlice::from_proto(slice)?, i))?;
                }
            }
        }
        found.ok_or_else(|| not_found(format_args!("Tensor name \"{name}\" not found in checkpoint files")))
    }

    /// The names of all tensors, sorted.
    pub fn names(&self) -> Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for table in &self.tables {
            names.extend(listed(table)?.into_iter().map(|meta| meta.name));
        }
        Ok(names)
    }

    pub fn dtype(&self, name: &str) -> Result<DataType> {
        Ok(self.find(name)?.dtype)
    }

    pub fn read(&self, name: &str) -> Result<Tensor> {
        let stored = self.find(name)?;
        let all = reserve::collect(stored.shape.iter().map(|d| (0, *d)))?;
        self.assemble(name, &stored, &all, &stored.shape)
    }

    pub fn read_slice(&self, name: &str, part: &ShapeAndSlice) -> Result<Tensor> {
        let stored = self.find(name)?;
        if stored.shape != part.shape {
            return Err(invalid!(
                "Shape in shape_and_slice spec does not match the shape in the save file: {}, save file shape: {}",
                part.shape,
                stored.shape
            ));
        }
        self.assemble(name, &stored, &part.slice.ranges(&part.shape)?, &part.slice_shape)
    }

    fn assemble(&self, name: &str, stored: &Stored, wanted: &Ranges, shape: &Shape) -> Result<Tensor> {
        let mut parts: Vec<(&TensorSlice, usize, Ranges, Ranges)> = Vec::new();
        for (slice, file) in &stored.slices {
            let at = slice.ranges(&stored.shape).map_err(|e| data_loss(e.message()))?;
            if parts.iter().any(|(.., other, _)| region::overlap(other, &at)) {
                return Err(data_loss(format_args!("the slices of '{name}' overlap")));
            }
            if let Some(part) = region::intersection(&at, wanted) {
                reserve::push(&mut parts, (slice, *file, at, part))?;
            }
        }
        // Before the allocation: the declared shape may be absurd.
        let filled = parts.iter().fold(0usize, |sum, (.., part)| sum.saturating_add(region::elements(part)));
        if filled != shape.elements() {
            return Err(invalid!(
                "Restored slice of '{name}' is not covered by the slices of the checkpoint"
            ));
        }
        let pieces = reserve::try_collect(
            parts.iter().map(|(slice, file, at, _)| self.piece(name, stored, slice, *file, at)),
        )?;
        let mut out = Tensor::zeros(stored.dtype, shape.clone())?;
        for ((.., at, part), piece) in parts.iter().zip(&pieces) {
            reader::copy(piece, &mut out, part, at, wanted)?;
        }
        Ok(out)
    }

    fn piece(
        &self,
        name: &str,
        stored: &Stored,
        slice: &TensorSlice,
        file: usize,
        at: &Ranges,
    ) -> Result<Tensor> {
        let damaged = || data_loss(format_args!("a slice of '{name}' is missing or damaged"));
        let bytes =
            self.tables.get(file).and_then(|t| t.get(&key::of_slice(name, slice))).ok_or_else(damaged)?;
        let message: SavedTensorSlices = decode(bytes.clone())?.map_err(|_| damaged())?;
        let mut data = message.data.and_then(|d| d.data).ok_or_else(damaged)?;
        let sizes = reserve::collect(at.iter().map(|(start, end)| end - start))?;
        let shape = Shape::new(&sizes)?;
        if shape.elements() > 0 && values(&data) != shape.elements() {
            return Err(damaged());
        }
        data.dtype = stored.dtype.wire();
        data.tensor_shape = Some(shape_to_proto(&shape));
        tensor_from_proto(&data)
    }
}

/// How many values a message has.
fn values(p: &TensorProto) -> usize {
    let complex = (p.scomplex_val.len() + p.dcomplex_val.len()) / 2;
    let numbers =
        p.float_val.len() + p.double_val.len() + p.int_val.len() + p.int64_val.len() + p.half_val.len();
    numbers + complex + p.bool_val.len() + p.string_val.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_and_slices_come_back() {
        let whole = Tensor::from_slice(Shape::new(&[2, 3]).unwrap(), &[1f32, 2., 3., 4., 5., 6.]).unwrap();
        let mut writer = SliceWriter::default();
        writer.add("whole", &whole).unwrap();
        writer.add("text", &Tensor::string("words")).unwrap();
        for (spec, row) in [("2 3 0,1:-", 0), ("2 3 1,1:-", 1)] {
            writer
                .add_slice("parts", &ShapeAndSlice::parse(spec).unwrap(), &whole.rows(row, 1).unwrap())
                .unwrap();
        }
        let reader = SliceReader::new(vec![writer.finish().unwrap().into()]).unwrap();
        assert!(reader.read("whole").unwrap().same_bits(&whole));
        assert!(reader.read("parts").unwrap().same_bits(&whole));
        assert!(reader.read("text").unwrap().same_bits(&Tensor::string("words")));
        let column = reader.read_slice("parts", &ShapeAndSlice::parse("2 3 -:1,1").unwrap()).unwrap();
        assert_eq!(column.as_slice::<f32>().unwrap(), [2.0, 5.0]);
        assert!(reader.read("none").is_err() && SliceReader::new(vec![Bytes::new()]).is_err());
    }
}
