use crate::prelude::*;
use crate::testing::{call, code, floats};
use bytes::Bytes;
use thalweg_io::scratch::Scratch;

fn words(items: &[&str]) -> Tensor {
    let items: Vec<Bytes> = items.iter().map(|s| Bytes::copy_from_slice(s.as_bytes())).collect();
    Tensor::from_objects(Shape::vector(items.len()), items).unwrap()
}

fn name(dir: &Scratch, file: &str) -> Tensor {
    Tensor::string(dir.path(file).to_str().unwrap())
}

fn save(prefix: Tensor, names: &[&str], slices: &[&str], tensors: &[Tensor]) -> Result<Vec<Tensor>> {
    let inputs = [&[prefix, words(names), words(slices)], tensors].concat();
    let types: Vec<DataType> = tensors.iter().map(Tensor::dtype).collect();
    call("SaveV2", &inputs, &[("dtypes", Attr::types(&types))])
}

fn restore(prefix: Tensor, names: &[&str], slices: &[&str], types: &[DataType]) -> Result<Vec<Tensor>> {
    call("RestoreV2", &[prefix, words(names), words(slices)], &[("dtypes", Attr::types(types))])
}

const FLOAT: &[DataType] = &[DataType::Float];

#[test]
fn what_is_saved_is_restored() {
    let dir = Scratch::new();
    let (w, s) = (floats(&[4, 2], &[0., 1., 2., 3., 4., 5., 6., 7.]), words(&["x", ""]));
    save(name(&dir, "m"), &["w", "s"], &["", ""], &[w.clone(), s.clone()]).unwrap();
    let types = [DataType::String, DataType::Float, DataType::Float];
    let got = restore(name(&dir, "m"), &["s", "w", "w"], &["", "", "4 2 1,2:-"], &types).unwrap();
    assert!(got[0].same_bits(&s) && got[1].same_bits(&w));
    assert!(got[2].same_bits(&floats(&[2, 2], &[2., 3., 4., 5.])));
}

#[test]
fn errors_are_tensorflows() {
    let dir = Scratch::new();
    let w = floats(&[2], &[1., 2.]);
    save(name(&dir, "m"), &["w"], &[""], &[w.clone()]).unwrap();
    let fails = |r: Result<Vec<Tensor>>, want: Code, text: &str| {
        let e = r.map(|_| ()).unwrap_err();
        assert!(e.code() == want && e.message().contains(text), "{e}");
    };
    let m = || name(&dir, "m");
    fails(restore(m(), &["nope"], &[""], FLOAT), Code::NotFound, "Key nope not found in checkpoint");
    fails(
        restore(name(&dir, "n"), &["w"], &[""], FLOAT),
        Code::NotFound,
        "Failed to find any matching files for",
    );
    let text = "tensor_name = w; expected dtype int32 does not equal original dtype float";
    fails(restore(m(), &["w"], &[""], &[DataType::Int32]), Code::InvalidArgument, text);
    let text = "tensor_name = w; shape in shape_and_slice spec [3] does not match the shape stored in checkpoint: [2]";
    fails(restore(m(), &["w"], &["3 0,1"], FLOAT), Code::InvalidArgument, text);
    fails(
        restore(m(), &["w"], &["2 1,2"], FLOAT),
        Code::InvalidArgument,
        "Extent in dimension 0 out of bounds",
    );
    fails(restore(m(), &["w"], &["x"], FLOAT), Code::InvalidArgument, "Need least two elements");
    fails(restore(words(&["a"]), &["w"], &[""], FLOAT), Code::InvalidArgument, "must be a scalar");
    fails(
        restore(m(), &["w"], &["", ""], FLOAT),
        Code::InvalidArgument,
        "one element for each of the 1 tensors",
    );
    let twice = [w.clone(), w.clone()];
    fails(save(m(), &["w", "w"], &["", ""], &twice), Code::InvalidArgument, "Adding duplicate key: w");
    fails(
        save(m(), &["w"], &["4 0,1"], &twice[..1]),
        Code::InvalidArgument,
        "does not match the shape of the tensor",
    );
    // A failed save leaves the old checkpoint.
    assert!(restore(m(), &["w"], &[""], FLOAT).unwrap()[0].same_bits(&w));
    assert_eq!(code(save(name(&dir, "no/such/dir/m"), &["w"], &[""], &twice[..1])), Code::NotFound);
}

#[test]
fn parts_are_merged() {
    let dir = Scratch::new();
    let shard = |i: i32| {
        let inputs = [name(&dir, "m_temp/part"), Tensor::scalar(i), Tensor::scalar(2i32)];
        call("ShardedFilename", &inputs, &[]).unwrap().remove(0)
    };
    assert!(shard(1).strings().unwrap()[0].ends_with(b"m_temp/part-00001-of-00002"));
    save(shard(0), &["p"], &["2 2 0,1:-"], &[floats(&[1, 2], &[1., 2.])]).unwrap();
    save(shard(1), &["p"], &["2 2 1,1:-"], &[floats(&[1, 2], &[3., 4.])]).unwrap();
    let parts = [shard(0), shard(1)].map(|t| t.strings().unwrap()[0].clone()).to_vec();
    let parts = Tensor::from_objects(Shape::vector(2), parts).unwrap();
    call("MergeV2Checkpoints", &[parts.clone(), name(&dir, "m")], &[]).unwrap();
    assert!(
        restore(name(&dir, "m"), &["p"], &[""], FLOAT).unwrap()[0]
            .same_bits(&floats(&[2, 2], &[1., 2., 3., 4.]))
    );
    assert!(!dir.path("m_temp").exists());
    assert_eq!(code(call("MergeV2Checkpoints", &[parts, name(&dir, "m")], &[])), Code::InvalidArgument);
}

#[test]
fn files_are_written_found_and_read() {
    let dir = Scratch::new();
    call("WriteFile", &[name(&dir, "new/a.txt"), Tensor::string("hello")], &[]).unwrap();
    call("WriteFile", &[name(&dir, "new/b.txt"), Tensor::string("")], &[]).unwrap();
    let read = call("ReadFile", &[name(&dir, "new/a.txt")], &[]).unwrap();
    assert_eq!(&read[0].strings().unwrap()[0][..], b"hello");
    assert_eq!(code(call("ReadFile", &[name(&dir, "none")], &[])), Code::NotFound);
    let found = call("MatchingFiles", &[name(&dir, "new/*.txt")], &[]).unwrap();
    let want = ["new/a.txt", "new/b.txt"].map(|f| name(&dir, f).strings().unwrap()[0].clone());
    assert_eq!(found[0].strings().unwrap(), want);
    assert_eq!(call("MatchingFiles", &[name(&dir, "x*")], &[]).unwrap()[0].elements(), 0);
}
