//! TFRecord files: how many, how large, and the features if they are examples.

use super::{count, titled};
use std::collections::BTreeMap;
use std::path::Path;
use thalweg_core::error::{Result, data_loss};
use thalweg_io::event::VERSION;
use thalweg_io::message::decode;
use thalweg_io::record::{Compression, RecordReader};
use thalweg_proto::event::What;
use thalweg_proto::feature::Kind;
use thalweg_proto::{Bytes, Event, Example};

/// Whether the first record states the version of an event file.
pub fn is_events(path: &Path, compression: Compression) -> bool {
    let first = RecordReader::open(path, compression).ok().and_then(|mut r| r.next()?.ok());
    let event = first.and_then(|bytes| decode::<Event>(bytes).ok()?.ok());
    let prefix = VERSION.split(':').next().unwrap_or(VERSION);
    matches!(event.and_then(|e| e.what), Some(What::FileVersion(v)) if v.starts_with(prefix))
}

#[derive(Default)]
struct Sizes {
    records: usize,
    bytes: usize,
    smallest: Option<usize>,
    largest: usize,
}

/// One feature over all examples.
struct Feature {
    kind: &'static str,
    examples: usize,
    fewest: usize,
    most: usize,
}

pub fn show(path: &Path, compression: Compression) -> Result<String> {
    let (mut sizes, mut features, mut all_examples) = (Sizes::default(), BTreeMap::new(), true);
    let mut damage: Option<String> = None;
    for record in RecordReader::open(path, compression)? {
        match record {
            Ok(bytes) => {
                sizes.add(bytes.len());
                all_examples = all_examples && add_example(&mut features, bytes);
            }
            Err(e) => damage = Some(e.message().to_string()),
        }
    }
    // Any data may be compressed so, and the first record tells.
    if let (0, Some(e), true) = (sizes.records, &damage, compression != Compression::None) {
        return Err(data_loss(format_args!(
            "{e}; it is compressed data without TFRecords: decompress it first"
        )));
    }
    let how = match compression {
        Compression::None => "",
        Compression::Zlib => ", compressed with zlib",
        Compression::Gzip => ", compressed with gzip",
        Compression::Snappy => ", compressed with snappy",
    };
    let mut text = format!(
        "{}{how}: {} bytes, from {} to {} each\n",
        count(sizes.records, "record"),
        sizes.bytes,
        sizes.smallest.unwrap_or(0),
        sizes.largest
    );
    if all_examples && !features.is_empty() {
        let row = |(name, f): (&String, &Feature)| {
            let values =
                if f.fewest == f.most { f.most.to_string() } else { format!("{} to {}", f.fewest, f.most) };
            vec![name.clone(), f.kind.into(), f.examples.to_string(), values]
        };
        text.push('\n');
        text.push_str(&titled(&["feature", "kind", "examples", "values"], "LLRL", features.iter().map(row)));
    }
    Ok(text + &damage.map_or_else(String::new, |e| format!("DAMAGED: {e}\n")))
}

impl Sizes {
    fn add(&mut self, n: usize) {
        self.records += 1;
        self.bytes += n;
        self.smallest = Some(self.smallest.map_or(n, |s| s.min(n)));
        self.largest = self.largest.max(n);
    }
}

/// Adds the features of an Example; false if the record is none.
fn add_example(features: &mut BTreeMap<String, Feature>, bytes: Bytes) -> bool {
    let Ok(Ok(Example { features: Some(found) })) = decode::<Example>(bytes) else { return false };
    for (name, feature) in found.feature {
        let (kind, n) = match feature.kind {
            Some(Kind::BytesList(l)) => ("bytes", l.value.len()),
            Some(Kind::FloatList(l)) => ("float", l.value.len()),
            Some(Kind::Int64List(l)) => ("int64", l.value.len()),
            None => ("none", 0),
        };
        let slot = features.entry(name).or_insert(Feature { kind, examples: 0, fewest: n, most: n });
        slot.examples += 1;
        slot.fewest = slot.fewest.min(n);
        slot.most = slot.most.max(n);
        if slot.kind != kind {
            slot.kind = "mixed";
        }
    }
    true
}
