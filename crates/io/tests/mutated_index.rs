//! Checkpoint indexes with valid CRCs but corrupt entries: reading returns the tensors that were written, or an error that names
//! the file and the tensor; and no allocation exceeds what the data fills.
//!
//! `THALWEG_FUZZ_CASES` is the number of cases, `THALWEG_FUZZ_SEED` the seed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use thalweg_core::case::CaseGen;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Code, Result};
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_io::bundle::{BundleReader, BundleWriter, ShapeAndSlice, index_path};
use thalweg_io::scratch::Scratch;
use thalweg_io::table::{Table, TableBuilder};
use thalweg_proto::tensor_shape_proto::Dim;
use thalweg_proto::tensor_slice_proto::{Extent, extent::HasLengthHack};
use thalweg_proto::{
    BundleEntryProto, BundleHeaderProto, Bytes, Message, TensorShapeProto, TensorSliceProto, decode,
};

/// Records the largest allocation.
struct RecordingAllocator;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: RecordingAllocator = RecordingAllocator;

// SAFETY: forwards to the system allocator.
unsafe impl GlobalAlloc for RecordingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The limit on an allocation: the checkpoint has a few hundred bytes, so only read buffers are larger.
const MOST: usize = 1 << 20;

const NAMES: [&str; 4] = ["count", "cut", "text", "weights"];

fn write(prefix: &Path) -> Result<()> {
    let mut writer = BundleWriter::create(prefix)?;
    writer.add("weights", &Tensor::from_slice(Shape::new(&[3, 4])?, &[0.5f32; 12])?)?;
    writer.add("count", &Tensor::scalar(7i64))?;
    let words = vec![Bytes::from("some"), Bytes::from("words")];
    writer.add("text", &Tensor::from_objects(Shape::vector(2), words)?)?;
    for (spec, values) in [("6 0,2", vec![1.0, 2.0]), ("6 2,4", vec![3.0, 4.0, 5.0, 6.0])] {
        writer.add_slice("cut", &ShapeAndSlice::parse(spec)?, &Tensor::vector::<f64>(&values)?)?;
    }
    writer.finish()
}

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

fn entries(prefix: &Path) -> Entries {
    let table = Table::read(&std::fs::read(index_path(prefix)).unwrap().into()).unwrap();
    table.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

const NUMBERS: [i64; 14] =
    [0, 1, -1, 2, 3, 4, 8, 48, 64, i32::MAX as i64, 1 << 31, 1 << 40, i64::MAX, i64::MIN];

fn number(r: &mut CaseGen) -> i64 {
    NUMBERS[r.below(NUMBERS.len())]
}

fn any_shape(r: &mut CaseGen) -> TensorShapeProto {
    let dim = (0..r.below(4)).map(|_| Dim { size: number(r), ..Default::default() }).collect();
    TensorShapeProto { dim, unknown_rank: r.below(8) == 0 }
}

fn any_slice(r: &mut CaseGen) -> TensorSliceProto {
    let extent = |r: &mut CaseGen| {
        let has_length_hack = (r.below(4) > 0).then(|| HasLengthHack::Length(number(r)));
        Extent { start: number(r), has_length_hack }
    };
    TensorSliceProto { extent: (0..1 + r.below(2)).map(|_| extent(r)).collect() }
}

fn change_entry(entry: &mut BundleEntryProto, r: &mut CaseGen) {
    match r.below(9) {
        0 => entry.dtype = if r.below(2) == 0 { number(r) as i32 } else { r.below(40) as i32 },
        1 => entry.shape = Some(any_shape(r)),
        2 => match entry.shape.as_mut().and_then(|s| s.dim.first_mut()) {
            Some(dim) => dim.size = number(r),
            None => entry.shape = None,
        },
        3 => entry.shard_id = number(r) as i32,
        4 => entry.offset = number(r),
        5 => entry.size = number(r),
        6 => entry.crc32c ^= 1 << r.below(32),
        7 => entry.slices.push(any_slice(r)),
        _ => match entry.slices.pop() {
            // A duplicate overlaps itself.
            Some(slice) if r.below(2) == 0 => entry.slices.extend([slice.clone(), slice]),
            Some(_) => {}
            None => entry.slices = vec![any_slice(r), any_slice(r)],
        },
    }
}

fn change(entries: &mut Entries, r: &mut CaseGen) {
    let at = r.below(entries.len());
    let bytes = &mut entries[at].1;
    match at {
        _ if r.below(6) == 0 => match bytes.len() {
            0 => bytes.push(r.bits() as u8),
            n => bytes[r.below(n)] = r.bits() as u8,
        },
        0 => {
            let mut header = decode::<BundleHeaderProto>(bytes.clone()).unwrap_or_default();
            header.num_shards = number(r) as i32;
            *bytes = header.encode_to_vec();
        }
        _ if r.below(12) == 0 => drop(entries.remove(at)),
        _ => {
            let mut entry = decode::<BundleEntryProto>(bytes.clone()).unwrap_or_default();
            change_entry(&mut entry, r);
            *bytes = entry.encode_to_vec();
        }
    }
}

fn save(prefix: &Path, entries: &Entries) {
    let mut table = TableBuilder::new();
    entries.iter().for_each(|(key, value)| table.add(key, value).unwrap());
    std::fs::write(index_path(prefix), table.finish()).unwrap();
}

fn from_env(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(usual)
}

fn same_bytes(got: &Tensor, good: &Tensor) -> bool {
    match (got.bytes(), good.bytes()) {
        (Ok(_), Ok(_)) if got.dtype() == DataType::Bool => true,
        (Ok(a), Ok(b)) => a == b,
        _ => got.strings().is_ok_and(|a| good.strings().is_ok_and(|b| a == b)),
    }
}

#[test]
fn entries_that_lie_are_errors_that_name_file_and_tensor() {
    let dir = Scratch::new();
    let prefix = dir.path("model");
    write(&prefix).unwrap();
    let whole = entries(&prefix);
    let good: Vec<Tensor> =
        NAMES.iter().map(|n| BundleReader::open(&prefix).unwrap().read(n).unwrap()).collect();
    let (first, cases) = (from_env("THALWEG_FUZZ_SEED", 1), from_env("THALWEG_FUZZ_CASES", 1500));
    let mut failed = 0;
    for case in first..first + cases {
        let r = &mut CaseGen::new(case);
        let mut changed = whole.clone();
        for _ in 0..1 + r.below(3) {
            change(&mut changed, r);
        }
        save(&prefix, &changed);
        LARGEST.store(0, Ordering::Relaxed);
        let opened = BundleReader::open(&prefix);
        let mut reader = match opened {
            Ok(reader) => reader,
            Err(e) => {
                failed += 1;
                assert!(matches!(e.code(), Code::DataLoss | Code::Unimplemented), "{case}: {e}");
                assert!(e.message().contains("model.index"), "{case}: {e}");
                continue;
            }
        };
        let (mut wrong, mut errors) = (0, Vec::new());
        for (name, good) in NAMES.iter().zip(&good) {
            match reader.read(name) {
                // Another dtype or shape of the same size is undetectable, other bytes are not.
                Ok(got) => assert!(same_bytes(&got, good), "{case}: {name} is {got:?}"),
                Err(e) => {
                    // A shard of a checkpoint need not have all slices, and may have types that only TensorFlow reads.
                    wrong += usize::from(!matches!(e.code(), Code::InvalidArgument | Code::Unimplemented));
                    errors.push(e.to_string());
                    let told = match e.code() {
                        Code::DataLoss | Code::Unimplemented => true,
                        Code::InvalidArgument => e.message().contains("sufficient slices"),
                        Code::NotFound => e.message().starts_with("Key "),
                        _ => false,
                    };
                    assert!(told && e.message().contains(name), "{case}: {e}");
                    assert!(e.code() == Code::NotFound || e.message().contains("model"), "{case}: {e}");
                }
            }
        }
        failed += usize::from(!errors.is_empty());
        // `verify` must reject a checkpoint that cannot be read.
        let there = NAMES.iter().all(|n| reader.contains(n));
        assert!(wrong == 0 || !there || reader.verify().is_err(), "{case}: verified, but {errors:?}");
        let largest = LARGEST.load(Ordering::Relaxed);
        assert!(largest <= MOST, "{case}: {largest} bytes were asked for");
    }
    println!("{cases} indexes, {failed} of them with errors");
    assert!(failed as u64 > cases / 2, "too few of the changes matter");
}
