//! Round-trips a file, for comparison with TensorFlow: `copy checkpoint FROM TO`,
//! `copy records FROM TO [COMPRESSION [COMPRESSION]]`, `copy events FROM TO`.

use std::path::Path;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_io::bundle::{BundleReader, BundleWriter};
use thalweg_io::event::EventReader;
use thalweg_io::record::{Compression, RecordReader, RecordWriter};
use thalweg_proto::Message;

fn checkpoint(from: &Path, to: &Path) -> Result<()> {
    let mut reader = BundleReader::open(from)?;
    reader.verify()?;
    let mut writer = BundleWriter::create(to)?;
    let names: Vec<String> = reader.names().collect();
    for name in names {
        writer.add(&name, &reader.read(&name)?)?;
    }
    writer.finish()
}

fn records(from: &Path, to: &Path, compressions: [Compression; 2]) -> Result<()> {
    let mut writer = RecordWriter::create(to, compressions[1])?;
    for record in RecordReader::open(from, compressions[0])? {
        writer.write(&record?)?;
    }
    writer.finish().map(|_| ())
}

fn events(from: &Path, to: &Path) -> Result<()> {
    let mut writer = RecordWriter::create(to, Compression::None)?;
    for event in EventReader::open(from)? {
        writer.write(&event?.encode_to_vec())?;
    }
    writer.finish().map(|_| ())
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["checkpoint", from, to] => checkpoint(Path::new(from), Path::new(to)),
        ["records", from, to, compressions @ ..] => {
            let of = |i: usize| Compression::from_name(compressions.get(i).copied().unwrap_or_default());
            records(Path::new(from), Path::new(to), [of(0)?, of(1)?])
        }
        ["events", from, to] => events(Path::new(from), Path::new(to)),
        _ => Err(invalid!("copy checkpoint|records|events FROM TO [COMPRESSION [COMPRESSION]]")),
    }
}
