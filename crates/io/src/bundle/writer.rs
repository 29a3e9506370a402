use super::slice::{ShapeAndSlice, TensorSlice};
use super::{VERSION, data_path, index_path, key, strings, variants};
use crate::crc;
use crate::durable::{self, AtomicFile};
use crate::table::TableBuilder;
use crate::wire::shape_to_proto;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_proto::{BundleEntryProto, BundleHeaderProto, VersionDef, encode};

pub(super) type Entries = BTreeMap<Vec<u8>, BundleEntryProto>;

/// Writes a bundle of one shard. No file of the prefix exists before `finish`, and none is left behind without it.
pub struct BundleWriter {
    prefix: PathBuf,
    data: AtomicFile,
    offset: i64,
    entries: Entries,
}

impl BundleWriter {
    /// Creates the directory if only its last component is missing.
    pub fn create(prefix: &Path) -> Result<BundleWriter> {
        let directory = durable::directory(prefix);
        match std::fs::create_dir(&directory) {
            // A file is where the directory should be.
            Err(e) if e.kind() == ErrorKind::AlreadyExists && !directory.is_dir() => {
                return Err(durable::with_path(&directory, std::io::Error::from(ErrorKind::NotADirectory)));
            }
            Err(e) if !directory.is_dir() => return Err(durable::with_path(&directory, e)),
            _ => {}
        }
        let data = AtomicFile::create(&data_path(prefix, 0, 1))?;
        Ok(BundleWriter { prefix: prefix.to_path_buf(), data, offset: 0, entries: Entries::new() })
    }

    /// Adds a whole tensor.
    pub fn add(&mut self, name: &str, t: &Tensor) -> Result<()> {
        self.store(check_name(name)?.as_bytes().to_vec(), t)
    }

    /// Adds a slice of a tensor. The others may follow, or be in bundles that this one is merged with.
    pub fn add_slice(&mut self, name: &str, part: &ShapeAndSlice, t: &Tensor) -> Result<()> {
        if *t.shape() != part.slice_shape {
            return Err(invalid!(
                "Slice in shape_and_slice specification does not match the shape of the tensor to  save: {} {}, tensor: {}",
                part.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" "),
                part.slice,
                t.shape()
            ));
        }
        if part.slice.extents().iter().all(|e| e.length.is_none()) {
            return self.add(name, t);
        }
        let whole = self.entries.get(check_name(name)?.as_bytes());
        if let Some(whole) = whole
            && (whole.slices.is_empty() || *whole != as_whole(t.dtype(), &part.shape, whole.slices.clone()))
        {
            return Err(invalid!("slices of '{name}' differ in type or whole shape, or it was saved whole"));
        }
        self.store(key::of_slice(name, &part.slice), t)?;
        let fresh = || as_whole(t.dtype(), &part.shape, Vec::new());
        let whole = self.entries.entry(name.as_bytes().to_vec()).or_insert_with(fresh);
        whole.slices.push(part.slice.to_proto());
        Ok(())
    }

    fn store(&mut self, key: Vec<u8>, t: &Tensor) -> Result<()> {
        if self.entries.contains_key(&key) {
            return Err(invalid!("Adding duplicate key: {}", key.escape_ascii()));
        }
        let (size, crc32c) = match t.dtype() {
            DataType::String => {
                let (bytes, crc) = strings::encode(t.strings()?)?;
                self.data.write(&bytes)?;
                (bytes.len(), crc)
            }
            DataType::Variant => {
                let (bytes, crc) = variants::encode(t.variants()?)?;
                self.data.write(&bytes)?;
                (bytes.len(), crc)
            }
            DataType::Resource => {
                return Err(invalid!("a {} tensor cannot be saved ('{}')", t.dtype(), key.escape_ascii()));
            }
            _ => {
                let bytes = t.bytes()?;
                self.data.write(bytes)?;
                (bytes.len(), crc::masked(bytes))
            }
        };
        let entry = BundleEntryProto {
            offset: self.offset,
            size: size as i64,
            crc32c,
            ..as_whole(t.dtype(), t.shape(), Vec::new())
        };
        self.offset += size as i64;
        self.entries.insert(key, entry);
        Ok(())
    }

    /// Commits the bundle: first the data, then the index, without which it does not exist.
    pub fn finish(self) -> Result<()> {
        self.data.commit()?;
        write_index(&self.prefix, 1, &self.entries)
    }
}

/// Rejects names that the index cannot have: the header's key, and those that look like a slice's.
fn check_name(name: &str) -> Result<&str> {
    if name.is_empty() || name.starts_with('\0') {
        return Err(invalid!("a tensor cannot be saved under the name '{}'", name.escape_debug()));
    }
    Ok(name)
}

fn as_whole(
    dtype: DataType,
    shape: &Shape,
    slices: Vec<thalweg_proto::TensorSliceProto>,
) -> BundleEntryProto {
    BundleEntryProto { dtype: dtype.wire(), shape: Some(shape_to_proto(shape)), slices, ..Default::default() }
}

/// Writes the index, and syncs the directory.
pub(super) fn write_index(prefix: &Path, shards: usize, entries: &Entries) -> Result<()> {
    let header = BundleHeaderProto {
        num_shards: i32::try_from(shards).map_err(|_| invalid!("{shards} shards are too many"))?,
        version: Some(VersionDef { producer: VERSION, ..Default::default() }),
        ..Default::default()
    };
    let mut table = TableBuilder::new();
    table.add(b"", &encode(&header))?;
    for (key, entry) in entries {
        table.add(key, &encode(entry))?;
    }
    durable::write(&index_path(prefix), &table.finish())
}

/// The slices listed under a tensor's name.
pub(super) fn slices_of(entry: &BundleEntryProto) -> Result<Vec<TensorSlice>> {
    entry.slices.iter().map(TensorSlice::from_proto).collect()
}
