//! File formats.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use thalweg_core::error::Result;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_io::bundle::{BundleReader, BundleWriter, index_path};
use thalweg_io::record::{Compression, RecordReader};
use thalweg_io::scratch::Scratch;
use thalweg_proto::Bytes;

/// The temporary directory of this process, with a checkpoint `good` in it. Parallel fuzzers are separate processes.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<Scratch> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = Scratch::new();
        good(&folder.path("good")).expect("a checkpoint is written");
        folder
    });
    folder.root()
}

fn good(prefix: &Path) -> Result<()> {
    let mut writer = BundleWriter::create(prefix)?;
    writer.add("weights", &Tensor::from_slice(Shape::new(&[3, 4])?, &[0.5f32; 12])?)?;
    writer.add("count", &Tensor::scalar(7i64))?;
    let words = vec![Bytes::from("some"), Bytes::from("words")];
    writer.add("text", &Tensor::from_objects(Shape::new(&[2])?, words)?)?;
    writer.finish()
}

fn read_all(prefix: &Path) {
    let Ok(mut reader) = BundleReader::open(prefix) else { return };
    let names: Vec<String> = reader.names().take(100).collect();
    for name in names {
        let _ = reader.read(&name);
    }
    let _ = reader.verify();
}

fn data_path(prefix: &Path) -> PathBuf {
    prefix.with_extension("data-00000-of-00001")
}

/// The index of a checkpoint with valid data.
pub fn checkpoint_index(bytes: &[u8]) {
    let (good, bad) = (folder().join("good"), folder().join("index"));
    if !data_path(&bad).exists() {
        let _ = std::fs::copy(data_path(&good), data_path(&bad));
    }
    let _ = std::fs::write(index_path(&bad), bytes);
    read_all(&bad);
}

/// The data of a checkpoint with a valid index.
pub fn checkpoint_data(bytes: &[u8]) {
    let (good, bad) = (folder().join("good"), folder().join("data"));
    if !index_path(&bad).exists() {
        let _ = std::fs::copy(index_path(&good), index_path(&bad));
    }
    let _ = std::fs::write(data_path(&bad), bytes);
    read_all(&bad);
}

/// Records, plain or compressed: the first byte selects.
pub fn tfrecord(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else { return };
    let compression = [Compression::None, Compression::Gzip, Compression::Zlib][usize::from(*kind) % 3];
    let reader = RecordReader::new(rest, compression, "fuzzed");
    reader.take(1000).take_while(Result::is_ok).for_each(drop);
}

/// An event file.
pub fn event(bytes: &[u8]) {
    let path = folder().join("events");
    let _ = std::fs::write(&path, bytes);
    if let Ok(events) = thalweg_io::event::EventReader::open(&path) {
        events.take(1000).take_while(Result::is_ok).for_each(drop);
    }
}

pub fn npy(bytes: &[u8]) {
    if let Ok(read) = thalweg_io::npy::read(bytes)
        && let Ok(written) = thalweg_io::npy::write(&read)
    {
        let again = thalweg_io::npy::read(&written);
        assert!(again.is_ok_and(|t| t.same_bits(&read)), "what was read is not written as it was");
    }
}

pub fn idx(bytes: &[u8]) {
    let _ = thalweg_io::idx::parse(bytes);
}

/// A JPEG file; the first byte selects how it is decoded.
pub fn jpeg(bytes: &[u8]) {
    use thalweg_io::jpeg::{Decode, decode, dimensions};
    let Some((form, rest)) = bytes.split_first() else { return };
    let _ = dimensions(rest);
    let options = Decode {
        channels: [0, 1, 3, 0][usize::from(form >> 3 & 3)],
        ratio: 1 << (form & 3),
        fancy: form & 4 == 0,
        fast: form & 32 == 0,
        recover: form & 64 == 0,
        ..Decode::default()
    };
    let _ = decode(rest, &options);
}

pub fn gif(bytes: &[u8]) {
    let _ = thalweg_io::gif::decode(bytes, true);
}

pub fn bmp(bytes: &[u8]) {
    let _ = thalweg_io::bmp::decode(bytes, 0);
}

/// What is read is written so that it is read again as it was.
pub fn wav(bytes: &[u8]) {
    use thalweg_io::wav::{decode, encode};
    if let Ok((audio, rate)) = decode(bytes, -1, -1)
        && let (Ok(samples), &[_, channels]) = (audio.as_slice::<f32>(), audio.shape().dims())
        && let Ok(file) = encode(samples, rate, channels)
    {
        assert!(decode(&file, -1, -1).is_ok_and(|(again, _)| again.same_bits(&audio)));
    }
}
