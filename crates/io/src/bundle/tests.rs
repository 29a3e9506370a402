use super::*;
use crate::scratch::Scratch;
use bytes::Bytes;
use std::fs;
use thalweg_core::case::CaseGen;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Code, Result};
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;

fn shape(dims: &[usize]) -> Shape {
    Shape::new(dims).unwrap()
}

fn random(r: &mut CaseGen, dtype: DataType, dims: &[usize]) -> Tensor {
    if dtype == DataType::String {
        let item = |r: &mut CaseGen| (0..r.below(20)).map(|_| r.bits() as u8).collect::<Vec<u8>>().into();
        let items: Vec<Bytes> = (0..shape(dims).elements()).map(|_| item(r)).collect();
        return Tensor::from_objects(shape(dims), items).unwrap();
    }
    let bytes: Vec<u8> = (0..shape(dims).elements() * dtype.size()).map(|_| r.bits() as u8).collect();
    Tensor::from_bytes(dtype, shape(dims), &bytes).unwrap()
}

fn written(dir: &Scratch, tensors: &[(&str, Tensor)]) -> PathBuf {
    let prefix = dir.path("model");
    let mut writer = BundleWriter::create(&prefix).unwrap();
    tensors.iter().for_each(|(name, t)| writer.add(name, t).unwrap());
    writer.finish().unwrap();
    prefix
}

fn part(text: &str) -> ShapeAndSlice {
    ShapeAndSlice::parse(text).unwrap()
}

fn files(dir: &Scratch) -> Vec<String> {
    let name = |e: std::io::Result<fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(dir.root()).unwrap().map(name).collect();
    names.sort();
    names
}

/// Reads everything, as a restore would.
fn read_all(prefix: &Path) -> Result<Vec<Tensor>> {
    let mut reader = BundleReader::open(prefix)?;
    let names: Vec<String> = reader.names().collect();
    names.iter().map(|n| reader.read(n)).collect()
}

#[test]
fn every_type_and_rank_comes_back() {
    let (dir, mut r) = (Scratch::new(), CaseGen::new(5));
    let kept = |t: &DataType| t.is_plain() || *t == DataType::String;
    let mut tensors = Vec::new();
    for dtype in DataType::all().filter(kept) {
        for dims in [&[][..], &[0], &[7], &[2, 3, 4], &[3, 0]] {
            tensors.push((format!("{dtype}/{dims:?}"), random(&mut r, dtype, dims)));
        }
    }
    let named: Vec<(&str, Tensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t.clone())).collect();
    let prefix = written(&dir, &named);
    assert_eq!(files(&dir), ["model.data-00000-of-00001", "model.index"]);
    let mut reader = BundleReader::open(&prefix).unwrap();
    reader.verify().unwrap();
    assert_eq!(reader.names().count(), tensors.len());
    for (name, t) in &tensors {
        assert!(reader.read(name).unwrap().same_bits(t), "{name}");
        assert_eq!(reader.entry(name).unwrap().shape, *t.shape());
    }
    assert_eq!(reader.read("nope").unwrap_err().code(), Code::NotFound);
    assert_eq!(reader.read("").unwrap_err().code(), Code::NotFound);
}

#[test]
fn the_index_is_byte_for_byte_what_tensorflow_writes() {
    let dir = Scratch::new();
    let prefix = dir.path("sl");
    let mut writer = BundleWriter::create(&prefix).unwrap();
    let column = |a: f32, b: f32| Tensor::from_slice(shape(&[2, 1]), &[a, b]).unwrap();
    writer.add_slice("q", &part("4 2 0,2:0,1"), &column(1.0, 2.0)).unwrap();
    writer.add_slice("q", &part("4 2 2,2:0,1"), &column(3.0, 4.0)).unwrap();
    let words = ["a", "bc"].map(|s| Bytes::from_static(s.as_bytes())).to_vec();
    writer.add("z", &Tensor::from_objects(shape(&[2]), words).unwrap()).unwrap();
    writer.finish().unwrap();
    // The bytes that SaveV2 of TensorFlow 2.21 wrote for the same tensors.
    let theirs = b"\x00\x00\x06\x08\x01\x1a\x02\x08\x01\x00\n\x13\x00q\x00\x01\x01\x02\x80\x82\x80\x81\x08\x01\x12\x08\x12\x02\x08\x02\x12\x02\x08\x01(\x085Y<\xe55\x06\x04\x15\x82\x82\x80\x81\x08\x01\x12\x08\x12\x02\x08\x02\x12\x02\x08\x01 \x08(\x085b\n\x97k\x00\x01\"q\x08\x01\x12\x08\x12\x02\x08\x04\x12\x02\x08\x02:\x08\n\x02\x10\x02\n\x02\x10\x01:\n\n\x04\x08\x02\x10\x02\n\x02\x10\x01\x00\x01\x11z\x08\x07\x12\x04\x12\x02\x08\x02 \x10(\t5\xe9\xe46\x85\x00\x00\x00\x00\x01\x00\x00\x00\x00\x9a\x9cv\xac\x00\x00\x00\x00\x01\x00\x00\x00\x00\xc0\xf2\xa1\xb0\x00\x01\x03{\x00\x88\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00R`f$\x8d\x01\x08\x9a\x01\x0f\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00W\xfb\x80\x8b$uG\xdb";
    assert_eq!(
        fs::read(index_path(&prefix)).unwrap().escape_ascii().to_string(),
        theirs.escape_ascii().to_string()
    );
}

#[test]
fn slices_are_put_together_and_cut_anew() {
    let dir = Scratch::new();
    let prefix = dir.path("model");
    let whole: Vec<i32> = (0..30).collect();
    let rows = |from: usize, to: usize| {
        Tensor::from_slice(shape(&[to - from, 3]), &whole[from * 3..to * 3]).unwrap()
    };
    let mut writer = BundleWriter::create(&prefix).unwrap();
    writer.add_slice("v", &part("10 3 0,4:-"), &rows(0, 4)).unwrap();
    writer.add_slice("v", &part("10 3 4,5:-"), &rows(4, 9)).unwrap();
    assert_eq!(
        writer.add_slice("v", &part("10 3 4,5:-"), &rows(4, 9)).unwrap_err().code(),
        Code::InvalidArgument
    );
    assert_eq!(
        writer.add_slice("v", &part("9 3 0,1:-"), &rows(0, 1)).unwrap_err().code(),
        Code::InvalidArgument
    );
    assert_eq!(writer.add("v", &rows(0, 1)).unwrap_err().code(), Code::InvalidArgument);
    writer.finish().unwrap();

    let mut reader = BundleReader::open(&prefix).unwrap();
    reader.verify().unwrap();
    let got = reader.read_slice("v", &part("10 3 2,5:1,2")).unwrap();
    assert_eq!(got.as_slice::<i32>().unwrap(), [7, 8, 10, 11, 13, 14, 16, 17, 19, 20]);
    // The last row was not saved.
    let e = reader.read("v").unwrap_err();
    assert!(e.message().contains("Does not have sufficient slices"), "{e}");
    let e = reader.read_slice("v", &part("9 3 -:-")).unwrap_err();
    assert!(e.message().contains("does not match the shape stored in checkpoint: [10,3]"), "{e}");
}

#[test]
fn parts_of_a_cluster_merge_into_one() {
    let dir = Scratch::new();
    let rows = |v: [f32; 2]| Tensor::from_slice(shape(&[1, 2]), &v).unwrap();
    let parts: Vec<PathBuf> = (0..3).map(|i| dir.path(&format!("model_temp/part-{i}"))).collect();
    for (i, prefix) in parts.iter().enumerate() {
        let mut writer = BundleWriter::create(prefix).unwrap();
        writer.add_slice("p", &part(&format!("3 2 {i},1:-")), &rows([i as f32, 9.0])).unwrap();
        writer.add(&format!("own{i}"), &Tensor::scalar(i as i64)).unwrap();
        writer.finish().unwrap();
    }
    merge(&parts, &dir.path("model"), &Merge::default()).unwrap();
    assert_eq!(
        files(&dir),
        [
            "model.data-00000-of-00003",
            "model.data-00001-of-00003",
            "model.data-00002-of-00003",
            "model.index"
        ]
    );
    let mut reader = BundleReader::open(&dir.path("model")).unwrap();
    reader.verify().unwrap();
    assert_eq!(reader.read("p").unwrap().as_slice::<f32>().unwrap(), [0.0, 9.0, 1.0, 9.0, 2.0, 9.0]);
    assert_eq!(reader.shards(), 3);
    assert_eq!(reader.read("own2").unwrap().to_scalar::<i64>().unwrap(), 2);
}

#[test]
fn what_cannot_be_merged_is_left_as_it_was() {
    let dir = Scratch::new();
    let parts = [dir.path("a"), dir.path("b")];
    for p in &parts {
        let mut writer = BundleWriter::create(p).unwrap();
        writer.add("same", &Tensor::scalar(1i32)).unwrap();
        writer.finish().unwrap();
    }
    let before = files(&dir);
    let options = Merge { delete_old_dirs: false, allow_missing_files: false };
    assert_eq!(merge(&parts, &dir.path("m"), &options).unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(
        merge(&[dir.path("none")], &dir.path("m"), &options).unwrap_err().code(),
        Code::InvalidArgument
    );
    let mut writer = BundleWriter::create(&dir.path("c")).unwrap();
    writer.add_slice("same", &part("3 1,1"), &Tensor::from_slice(shape(&[1]), &[1i32]).unwrap()).unwrap();
    writer.add_slice("other", &part("3 1,1"), &Tensor::from_slice(shape(&[1]), &[1i32]).unwrap()).unwrap();
    writer.finish().unwrap();
    for (name, dims, value) in [("d", "4 2,1", Tensor::scalar(1i32)), ("e", "3 2,1", Tensor::scalar(1f32))] {
        let mut writer = BundleWriter::create(&dir.path(name)).unwrap();
        writer.add_slice("other", &part(dims), &value.reshape(shape(&[1])).unwrap()).unwrap();
        writer.finish().unwrap();
    }
    let before = [
        before,
        ["c", "d", "e"]
            .iter()
            .flat_map(|n| [format!("{n}.data-00000-of-00001"), format!("{n}.index")])
            .collect(),
    ]
    .concat();
    for pair in [["a", "c"], ["c", "a"], ["c", "d"], ["c", "e"]] {
        let e = merge(&pair.map(|n| dir.path(n)), &dir.path("m"), &options).unwrap_err();
        assert_eq!(e.code(), Code::InvalidArgument, "{pair:?}");
    }
    assert_eq!(files(&dir), before);
    std::fs::write(dir.path("broken.index"), "text").unwrap();
    let damaged = Merge { allow_missing_files: true, ..options };
    let e = merge(&[dir.path("broken"), dir.path("a")], &dir.path("m"), &damaged).unwrap_err();
    assert_eq!(e.code(), Code::DataLoss, "what is damaged is not missing: {e}");
    let lenient = Merge { allow_missing_files: true, ..options };
    merge(&[dir.path("none"), dir.path("a")], &dir.path("m"), &lenient).unwrap();
    assert!(read_all(&dir.path("m")).is_ok());
}

#[test]
fn a_writer_that_stops_leaves_what_was_there() {
    let dir = Scratch::new();
    let prefix = written(&dir, &[("w", Tensor::scalar(1f32))]);
    let mut writer = BundleWriter::create(&prefix).unwrap();
    writer.add("w", &Tensor::scalar(2f32)).unwrap();
    assert_eq!(writer.add("w", &Tensor::scalar(2f32)).unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(writer.add("", &Tensor::scalar(2f32)).unwrap_err().code(), Code::InvalidArgument);
    drop(writer);
    assert_eq!(files(&dir), ["model.data-00000-of-00001", "model.index"]);
    assert_eq!(read_all(&prefix).unwrap()[0].to_scalar::<f32>().unwrap(), 1.0);
}

#[test]
fn damage_anywhere_is_data_loss_and_names_the_file() {
    let (dir, mut r) = (Scratch::new(), CaseGen::new(9));
    let tensors = [
        ("a", random(&mut r, DataType::Float, &[5])),
        ("b", random(&mut r, DataType::String, &[2])),
        ("c", random(&mut r, DataType::Bool, &[3])),
    ];
    let prefix = written(&dir, &tensors);
    let good = read_all(&prefix).unwrap();
    for path in [data_path(&prefix, 0, 1), index_path(&prefix)] {
        let whole = fs::read(&path).unwrap();
        let check = |what: String| {
            let read = read_all(&prefix);
            let verified = BundleReader::open(&prefix).and_then(|mut b| b.verify());
            assert_eq!(read.is_ok(), verified.is_ok(), "{what}");
            match read {
                // Bytes that no reader uses: a bool's, the padding of the footer.
                Ok(got) => assert!(got.iter().zip(&good).all(|(a, b)| a.same_bits(b)), "{what}"),
                Err(e) => {
                    assert_eq!(e.code(), Code::DataLoss, "{what}: {e}");
                    assert!(e.message().contains("model"), "{e}");
                }
            }
        };
        for len in 0..whole.len() {
            fs::write(&path, &whole[..len]).unwrap();
            check(format!("{} cut at {len}", path.display()));
        }
        for bit in 0..whole.len() * 8 {
            let mut bad = whole.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bad).unwrap();
            check(format!("{} bit {bit}", path.display()));
        }
        fs::write(&path, &whole).unwrap();
    }
    fs::remove_file(data_path(&prefix, 0, 1)).unwrap();
    assert_eq!(read_all(&prefix).unwrap_err().code(), Code::DataLoss);
    assert_eq!(read_all(&dir.path("none")).unwrap_err().code(), Code::NotFound);
}

#[test]
fn an_index_that_lies_about_sizes_reserves_no_memory() {
    use thalweg_proto::{
        BundleEntryProto, BundleHeaderProto, Message, TensorShapeProto, tensor_shape_proto::Dim,
    };
    let dir = Scratch::new();
    let prefix = dir.path("model");
    fs::write(data_path(&prefix, 0, 1), [0; 16]).unwrap();
    let entry = |dtype: i32, dims: &[i64], offset: i64, size: i64, shard_id: i32| BundleEntryProto {
        dtype,
        shape: Some(TensorShapeProto {
            dim: dims.iter().map(|d| Dim { size: *d, ..Default::default() }).collect(),
            unknown_rank: false,
        }),
        offset,
        size,
        shard_id,
        ..Default::default()
    };
    for (lie, code) in [
        (entry(1, &[1 << 40], 0, 1 << 42, 0), Code::DataLoss),
        (entry(1, &[1 << 40], 0, 16, 0), Code::DataLoss),
        (entry(7, &[1 << 40], 0, 16, 0), Code::DataLoss),
        (entry(1, &[4], i64::MAX, 16, 0), Code::DataLoss),
        (entry(1, &[4], -1, 16, 0), Code::DataLoss),
        (entry(1, &[4], 0, -16, 0), Code::DataLoss),
        (entry(1, &[4], 0, 16, 7), Code::DataLoss),
        (entry(1, &[4], 0, 16, -1), Code::DataLoss),
        (entry(1, &[-4], 0, 16, 0), Code::DataLoss),
        (entry(1, &[1 << 40, 1 << 40], 0, 16, 0), Code::DataLoss),
        (entry(1, &[3], 0, 16, 0), Code::DataLoss),
        (entry(99, &[4], 0, 16, 0), Code::DataLoss),
        (entry(-1, &[4], 0, 16, 0), Code::DataLoss),
        (entry(40, &[4], 0, 16, 0), Code::Unimplemented),
        (entry(20, &[], 0, 16, 0), Code::Unimplemented),
    ] {
        let mut table = crate::table::TableBuilder::new();
        table.add(b"", &BundleHeaderProto { num_shards: 1, ..Default::default() }.encode_to_vec()).unwrap();
        table.add(b"t", &lie.encode_to_vec()).unwrap();
        fs::write(index_path(&prefix), table.finish()).unwrap();
        let e = read_all(&prefix).unwrap_err();
        assert!(e.code() == code && e.message().contains("model: tensor 't'"), "{lie:?}: {e}");
    }
    for shards in [0, -1, i32::MAX] {
        let mut table = crate::table::TableBuilder::new();
        table
            .add(b"", &BundleHeaderProto { num_shards: shards, ..Default::default() }.encode_to_vec())
            .unwrap();
        fs::write(index_path(&prefix), table.finish()).unwrap();
        assert_eq!(read_all(&prefix).unwrap_err().code(), Code::DataLoss);
    }
}

/// Writes an index of one tensor with this declared shape, stored in these slices.
fn index_with_slices(prefix: &std::path::Path, dims: &[i64], slices: &[(i64, i64)]) {
    use thalweg_proto::tensor_slice_proto::{Extent, extent::HasLengthHack};
    use thalweg_proto::{BundleEntryProto, BundleHeaderProto, Message, TensorSliceProto};
    let slice = |(start, length): &(i64, i64)| {
        let extent = Extent { start: *start, has_length_hack: Some(HasLengthHack::Length(*length)) };
        TensorSliceProto { extent: vec![extent] }
    };
    let shape = crate::wire::shape_to_proto(&Shape::from_i64(dims).unwrap());
    let entry = BundleEntryProto {
        dtype: DataType::Double.wire(),
        shape: Some(shape),
        slices: slices.iter().map(slice).collect(),
        ..Default::default()
    };
    let mut table = crate::table::TableBuilder::new();
    table.add(b"", &BundleHeaderProto { num_shards: 1, ..Default::default() }.encode_to_vec()).unwrap();
    table.add(b"t", &entry.encode_to_vec()).unwrap();
    fs::write(index_path(prefix), table.finish()).unwrap();
}

/// Memory used to be allocated before the slices were validated to cover the tensor.
#[test]
fn slices_that_are_not_there_reserve_no_memory() {
    let dir = Scratch::new();
    let prefix = dir.path("model");
    for slices in [&[(0, 1)][..], &[(0, 1), (5, 7)]] {
        index_with_slices(&prefix, &[1 << 50], slices);
        let e = BundleReader::open(&prefix).unwrap().read("t").unwrap_err();
        assert!(e.code() == Code::InvalidArgument && e.message().contains("sufficient slices"), "{e}");
    }
}

/// Slices are compared pairwise, so a file of a few megabytes used to take hours.
#[test]
fn more_slices_than_can_be_compared_are_refused() {
    let dir = Scratch::new();
    let prefix = dir.path("model");
    let slices: Vec<(i64, i64)> = (0..1_000_000).map(|i| (i, 1)).collect();
    index_with_slices(&prefix, &[1_000_000], &slices);
    let e = BundleReader::open(&prefix).unwrap().read("t").unwrap_err();
    assert_eq!(e.code(), Code::ResourceExhausted, "{e}");
}

#[test]
fn a_name_that_is_not_there_is_answered_with_one_like_it() {
    let dir = Scratch::new();
    let prefix = dir.path("model");
    let mut writer = BundleWriter::create(&prefix).unwrap();
    writer.add("layer/weights", &Tensor::scalar(1f32)).unwrap();
    writer.finish().unwrap();
    let e = BundleReader::open(&prefix).unwrap().read("layer/weight").unwrap_err();
    assert_eq!(e.code(), Code::NotFound);
    assert_eq!(e.message(), "Key layer/weight not found in checkpoint; did you mean 'layer/weights'?");
}

#[test]
fn what_cannot_be_saved_says_why() {
    let dir = Scratch::new();
    let e = BundleWriter::create(&dir.path("no/such/model")).map(drop).unwrap_err();
    assert!(e.code() == Code::NotFound && e.to_string().contains("no/such"), "{e}");
    let mut writer = BundleWriter::create(&dir.path("new/model")).unwrap();
    let handle = Tensor::uninit(DataType::Resource, shape(&[0])).unwrap();
    let e = writer.add("v", &handle).unwrap_err();
    assert!(e.code() == Code::InvalidArgument && e.message().contains("cannot be saved"), "{e}");
    for name in ["", "\0x"] {
        assert_eq!(
            writer.add(name, &random(&mut CaseGen::new(1), DataType::Float, &[])).unwrap_err().code(),
            Code::InvalidArgument
        );
    }
}
