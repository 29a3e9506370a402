use super::region::{self, Ranges};
use super::slice::{ShapeAndSlice, TensorSlice};
use super::strings::{self, crc_differs};
use super::variants;
use super::writer::{Entries, slices_of};
use super::{VERSION, data_path, index_path, key};
use crate::crc::{self, Crc};
use crate::message::decode;
use crate::table::Table;
use crate::wire::shape_from_proto;
use crate::{bounded_read, durable, path_hint};
use bytes::Bytes;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use thalweg_core::dtype::DataType;
use thalweg_core::error::{
    Code, Error, Result, data_loss, internal, not_found, resource_exhausted, unimplemented,
};
use thalweg_core::invalid;
use thalweg_core::registry::did_you_mean;
use thalweg_core::reserve;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::{Object, Tensor};
use thalweg_proto::bundle_header_proto::Endianness;
use thalweg_proto::{BundleEntryProto, BundleHeaderProto};

/// Bytes that are read and checksummed at a time: few enough to stay in the cache.
const CHUNK: usize = 256 << 10;

/// Reads tensors of a bundle. `open` reads the whole index; the CRC of data is checked as it is read.
pub struct BundleReader {
    prefix: PathBuf,
    table: Table,
    /// Shards, opened lazily, with their lengths.
    shards: Vec<Option<(File, u64)>>,
}

/// The index entry of a tensor.
#[derive(Clone, Debug)]
pub struct Entry {
    pub dtype: DataType,
    pub shape: Shape,
    /// The stored slices; empty if it is stored whole.
    pub slices: Vec<TensorSlice>,
    pub bytes: u64,
}

impl BundleReader {
    pub fn open(prefix: &Path) -> Result<BundleReader> {
        let path = index_path(prefix);
        let file = bounded_read::read(&path).map_err(|e| match e.code() {
            Code::NotFound => not_found(format_args!(
                "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {}",
                prefix.display()
            ))
            .hint(path_hint::hint(&path).unwrap_or_default()),
            _ => e,
        })?;
        let table = Table::read(&file.into()).map_err(|e| durable::with_path(&path, e))?;
        let shards = shards(&table).map_err(|e| durable::with_path(&path, e))?;
        Ok(BundleReader { prefix: prefix.to_path_buf(), table, shards })
    }

    pub fn contains(&self, name: &str) -> bool {
        !name.is_empty() && self.table.get(name.as_bytes()).is_some()
    }

    /// The names of all tensors, sorted.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let keys = self.table.iter().map(|(key, _)| key);
        let keys = keys.filter(|key| !key.is_empty() && !key::is_of_slice(key));
        keys.map(|key| String::from_utf8_lossy(key).into_owned())
    }

    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    pub fn entry(&self, name: &str) -> Result<Entry> {
        let found = self.find(name)?;
        parse_entry(&found).map_err(|e| self.damaged(name, e))
    }

    /// The tensor of that name.
    pub fn read(&mut self, name: &str) -> Result<Tensor> {
        let entry = self.entry(name)?;
        if entry.slices.is_empty() {
            let found = self.find(name)?;
            return self.data(name, &found, &entry);
        }
        let all = entry.shape.iter().map(|d| (0, *d)).collect();
        self.assemble(name, &entry, &all, &entry.shape)
    }

    /// A slice of the tensor of that name, however it is stored.
    pub fn read_slice(&mut self, name: &str, part: &ShapeAndSlice) -> Result<Tensor> {
        let entry = self.entry(name)?;
        if entry.shape != part.shape {
            return Err(invalid!(
                "tensor_name = {name}; shape in shape_and_slice spec {} does not match the shape stored in checkpoint: {}",
                part.shape,
                entry.shape
            ));
        }
        let wanted = part.slice.ranges(&part.shape)?;
        self.assemble(name, &entry, &wanted, &part.slice_shape)
    }

    /// Assembles a region from the stored slices.
    fn assemble(&mut self, name: &str, entry: &Entry, wanted: &Ranges, shape: &Shape) -> Result<Tensor> {
        let parts = self.parts(name, entry)?.into_iter();
        let parts =
            parts.filter_map(|(key, at)| region::intersection(&at, wanted).map(|part| (key, at, part)));
        let parts: Vec<_> = parts.collect();
        // Before the allocation: the declared shape may be absurd.
        let filled = parts.iter().fold(0usize, |sum, (.., part)| sum.saturating_add(region::elements(part)));
        if filled != shape.elements() {
            let e = invalid!(
                "Does not have sufficient slices for partitioned tensor {name} to restore in slice_spec: {shape}"
            );
            return Err(e.context(self.prefix.display()));
        }
        let stored: Vec<_> =
            parts.iter().map(|(key, at, _)| self.stored(name, entry, key, at)).collect::<Result<_>>()?;
        let mut out = Tensor::zeros(entry.dtype, shape.clone()).map_err(|e| self.damaged(name, e))?;
        for ((_, at, part), (found, own)) in parts.iter().zip(&stored) {
            let piece = self.data(name, found, own)?;
            copy(&piece, &mut out, part, at, wanted)?;
        }
        Ok(out)
    }

    /// The tensor stored under a key, whose entry must match the tensor that it is a slice of.
    fn stored(
        &mut self,
        name: &str,
        entry: &Entry,
        key: &[u8],
        at: &Ranges,
    ) -> Result<(BundleEntryProto, Entry)> {
        let found = self.find_key(key)?;
        let own = parse_entry(&found).map_err(|e| self.damaged(name, e))?;
        let nested = !entry.slices.is_empty() && !own.slices.is_empty();
        let sizes = at.iter().map(|(start, end)| end - start);
        if nested || own.dtype != entry.dtype || !own.shape.iter().copied().eq(sizes) {
            return Err(self.damaged(name, data_loss("a slice differs from what its tensor says of it")));
        }
        self.locate(&found, &own).map_err(|e| self.damaged(name, e))?;
        Ok((found, own))
    }

    /// Keys and regions of the stored parts: the tensor itself, or its slices, which must not overlap.
    fn parts(&self, name: &str, entry: &Entry) -> Result<Vec<(Vec<u8>, Ranges)>> {
        if entry.slices.is_empty() {
            return Ok(vec![(name.as_bytes().to_vec(), entry.shape.iter().map(|d| (0, *d)).collect())]);
        }
        if entry.slices.len() > MAX_SLICES {
            let e = format!("{} slices are more than the {MAX_SLICES} that are read", entry.slices.len());
            return Err(self.damaged(name, resource_exhausted(e)));
        }
        let mut parts: Vec<(Vec<u8>, Ranges)> = Vec::new();
        for slice in &entry.slices {
            let at = slice.ranges(&entry.shape).map_err(|e| self.damaged(name, data_loss(e.message())))?;
            if parts.iter().any(|(_, other)| region::overlap(other, &at)) {
                return Err(self.damaged(name, data_loss("its slices overlap")));
            }
            parts.push((key::of_slice(name, slice), at));
        }
        Ok(parts)
    }

    /// Reads all data and verifies the checksums.
    pub fn verify(&mut self) -> Result<()> {
        let entries = self.entries()?;
        for (key, found) in &entries {
            let name = String::from_utf8_lossy(key);
            let entry = parse_entry(found).map_err(|e| self.damaged(&name, e))?;
            if entry.slices.is_empty() {
                self.verify_data(found, &entry).map_err(|e| self.damaged(&name, e))?;
            } else {
                for (part, at) in self.parts(&name, &entry)? {
                    self.stored(&name, &entry, &part, &at)?;
                }
            }
        }
        Ok(())
    }

    fn verify_data(&mut self, found: &BundleEntryProto, entry: &Entry) -> Result<()> {
        match entry.dtype {
            DataType::Resource => self.locate(found, entry).map(|_| ()),
            DataType::Variant | DataType::String => self.load(found, entry).map(|_| ()),
            _ => {
                let mut left = self.locate(found, entry)?;
                let mut chunk = reserve::filled(CHUNK.min(left), 0)?;
                let mut crc = Crc::default();
                while left > 0 {
                    let next = left.min(chunk.len());
                    self.read_exact(found, &mut chunk[..next])?;
                    crc.add(&chunk[..next]);
                    left -= next;
                }
                check_crc(found, crc)
            }
        }
    }

    /// The tensor of an entry.
    fn data(&mut self, name: &str, found: &BundleEntryProto, entry: &Entry) -> Result<Tensor> {
        self.load(found, entry).map_err(|e| self.damaged(name, e))
    }

    fn load(&mut self, found: &BundleEntryProto, entry: &Entry) -> Result<Tensor> {
        let (dtype, shape) = (entry.dtype, entry.shape.clone());
        let size = self.locate(found, entry)?;
        match dtype {
            DataType::String => {
                let mut bytes = reserve::filled(size, 0)?;
                self.read_exact(found, &mut bytes)?;
                let items = strings::decode(&Bytes::from(bytes), shape.elements(), found.crc32c)?;
                Tensor::from_objects(shape, items)
            }
            DataType::Variant => {
                let mut bytes = reserve::filled(size, 0)?;
                self.read_exact(found, &mut bytes)?;
                let items = variants::decode(&Bytes::from(bytes), shape.elements(), found.crc32c)?;
                Tensor::from_objects(shape, items)
            }
            DataType::Resource => {
                Err(unimplemented(format_args!("{dtype} tensors cannot be read from checkpoints")))
            }
            _ => {
                let mut t = Tensor::uninit(dtype, shape)?;
                let mut crc = Crc::default();
                for chunk in t.bytes_mut()?.chunks_mut(CHUNK) {
                    self.read_exact(found, chunk)?;
                    crc.add(chunk);
                }
                check_crc(found, crc)?;
                if dtype == DataType::Bool {
                    t.bytes_mut()?.iter_mut().for_each(|b| *b = (*b != 0) as u8);
                }
                Ok(t)
            }
        }
    }

    /// Seeks to an entry's data; returns its size, validated against the shard's length and the tensor's shape.
    fn locate(&mut self, found: &BundleEntryProto, entry: &Entry) -> Result<usize> {
        let wrong = || data_loss(format_args!("stored at {} with size {}", found.offset, found.size));
        let (offset, size) = (u64::try_from(found.offset), u64::try_from(found.size));
        let (Ok(offset), Ok(size)) = (offset, size) else { return Err(wrong()) };
        let (file, length) = self.shard(found)?;
        if offset.checked_add(size).is_none_or(|end| end > *length) {
            let e = format!("its {size} bytes from {offset} on are past the end of the data, at {length}");
            return Err(data_loss(e));
        }
        file.seek(SeekFrom::Start(offset))?;
        let size = usize::try_from(size).map_err(|_| wrong())?;
        let (dtype, shape) = (entry.dtype, &entry.shape);
        let fits = match dtype {
            // At least one byte of length per string, and the checksum of the lengths.
            DataType::String => shape.elements().saturating_add(4) <= size,
            // At least the length and the checksum of each.
            DataType::Variant => shape.elements().checked_mul(5).is_some_and(|least| least <= size),
            DataType::Resource => true,
            _ => shape.elements().checked_mul(dtype.size()) == Some(size),
        };
        if !fits {
            return Err(data_loss(format_args!(
                "{size} bytes are stored for a {dtype} tensor of shape {shape}"
            )));
        }
        Ok(size)
    }

    fn read_exact(&mut self, found: &BundleEntryProto, out: &mut [u8]) -> Result<()> {
        Ok(self.shard(found)?.0.read_exact(out)?)
    }

    fn shard(&mut self, found: &BundleEntryProto) -> Result<&mut (File, u64)> {
        let (prefix, count, id) = (&self.prefix, self.shards.len(), found.shard_id);
        let slot = usize::try_from(id).ok().and_then(|i| Some((i, self.shards.get_mut(i)?)));
        let Some((i, slot)) = slot else {
            return Err(data_loss(format_args!("it is said to lie in shard {id} of {count}")));
        };
        if slot.is_none() {
            let path = data_path(prefix, i, count);
            let opened = File::open(&path).and_then(|f| Ok((f.metadata()?.len(), f)));
            // An index without its data is a corrupt checkpoint, not a missing one.
            let (length, file) = opened.map_err(|e| match e.kind() {
                ErrorKind::NotFound => data_loss(format_args!("{} is missing", path.display())),
                _ => durable::with_path(&path, e),
            })?;
            *slot = Some((file, length));
        }
        slot.as_mut().ok_or_else(|| internal("no shard"))
    }

    fn find(&self, name: &str) -> Result<BundleEntryProto> {
        if !self.contains(name) {
            let names: Vec<String> = self.names().collect();
            let near = did_you_mean(names.iter().map(String::as_str), name);
            return Err(not_found(format_args!("Key {name} not found in checkpoint{near}")));
        }
        self.find_key(name.as_bytes())
    }

    fn find_key(&self, key: &[u8]) -> Result<BundleEntryProto> {
        let value = self.table.get(key).ok_or_else(|| {
            data_loss(format_args!("{}: slice '{}' is missing", self.prefix.display(), key.escape_ascii()))
        })?;
        parse(value).map_err(|e| self.damaged(&key.escape_ascii().to_string(), e))
    }

    /// All entries of the index but the header entry.
    pub(super) fn entries(&self) -> Result<Entries> {
        let entries = self.table.iter().filter(|(key, _)| !key.is_empty());
        // Not `collect`, which would build a vector of all of them first.
        let mut all = Entries::new();
        for (key, value) in entries {
            let parsed = parse(value).map_err(|e| self.damaged(&String::from_utf8_lossy(key), e))?;
            all.insert(reserve::copied(key)?, parsed);
        }
        Ok(all)
    }

    fn damaged(&self, name: &str, e: Error) -> Error {
        e.context(format_args!("{}: tensor '{name}'", self.prefix.display()))
    }
}

/// DataType numbers that TensorFlow has or may have soon; others are corruption.
const TYPE_NUMBERS: std::ops::Range<i32> = 1..64;

/// Validates an entry.
fn parse_entry(found: &BundleEntryProto) -> Result<Entry> {
    let number = found.dtype;
    let dtype = DataType::from_wire(number).ok_or_else(|| {
        let e = format!("has data type number {number}");
        if TYPE_NUMBERS.contains(&number) { unimplemented(e) } else { data_loss(e) }
    })?;
    let sense = |e: Error| data_loss(e.message());
    let shape = shape_from_proto(found.shape.as_ref()).map_err(sense)?;
    let slices = slices_of(found).map_err(sense)?;
    Ok(Entry { dtype, shape, slices, bytes: found.size.max(0) as u64 })
}

fn check_crc(found: &BundleEntryProto, crc: Crc) -> Result<()> {
    if crc::agrees(&found.crc32c.to_le_bytes(), crc.masked()) {
        return Ok(());
    }
    Err(crc_differs(found.crc32c, crc.masked()))
}

fn parse(value: &Bytes) -> Result<BundleEntryProto> {
    decode(value.clone())?.map_err(|e| data_loss(format_args!("a damaged entry: {e}")))
}

/// One unopened shard for each that the header entry counts.
fn shards(table: &Table) -> Result<Vec<Option<(File, u64)>>> {
    let header =
        table.get(b"").ok_or_else(|| data_loss("a table, but not of a checkpoint: it has no header"))?;
    let header: BundleHeaderProto =
        decode(header.clone())?.map_err(|e| data_loss(format_args!("a damaged header: {e}")))?;
    if header.endianness == Endianness::Big as i32 {
        return Err(unimplemented("written on a big-endian machine"));
    }
    let version = header.version.unwrap_or_default();
    if version.min_consumer > VERSION {
        return Err(unimplemented(format_args!(
            "needs a reader of version {}, this is version {VERSION}",
            version.min_consumer
        )));
    }
    // A shard holds a tensor at least, or there is one.
    match usize::try_from(header.num_shards) {
        Ok(n) if n >= 1 && n <= table.len().max(1) + MAX_EMPTY_SHARDS => Ok((0..n).map(|_| None).collect()),
        _ => Err(data_loss(format_args!("the header says there are {} shards", header.num_shards))),
    }
}

/// The limit on slices, which are compared pairwise.
const MAX_SLICES: usize = 10_000;

/// The limit on shards without tensors, which tasks without variables write.
const MAX_EMPTY_SHARDS: usize = 100_000;

pub(super) fn copy(
    from: &Tensor,
    to: &mut Tensor,
    part: &Ranges,
    at: &Ranges,
    wanted: &Ranges,
) -> Result<()> {
    if from.dtype() == DataType::String {
        let (source, target) = (from.strings()?, Bytes::of_mut(to)?);
        region::runs(part, at, wanted, |a, b| target[b].clone_from_slice(&source[a]));
        return Ok(());
    }
    let size = from.dtype().size();
    let (source, target) = (from.bytes()?, to.bytes_mut()?);
    region::runs(part, at, wanted, |a, b| {
        target[b.start * size..b.end * size].copy_from_slice(&source[a.start * size..a.end * size]);
    });
    Ok(())
}
