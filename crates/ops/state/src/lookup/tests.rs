//! Tables over several ops; values and texts are TensorFlow's.

use crate::prelude::*;
use crate::testing::{call_in, code, step};
use bytes::Bytes;
use thalweg_core::step::StepContext;

struct T {
    step: Arc<StepContext>,
    handle: Tensor,
}

fn words(w: &[&'static str]) -> Tensor {
    Tensor::from_objects(Shape::vector(w.len()), w.iter().map(|w| Bytes::from_static(w.as_bytes())).collect())
        .unwrap()
}

fn longs(v: &[i64]) -> Tensor {
    Tensor::vector(v).unwrap()
}

fn table(op: &str) -> T {
    let step = step(1);
    let types = [("key_dtype", Attr::Type(DataType::String)), ("value_dtype", Attr::Type(DataType::Int64))];
    let handle = call_in(&step, op, &[], &types).unwrap().remove(0);
    T { step, handle }
}

impl T {
    fn call(&self, op: &str, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        call_in(&self.step, op, &[&[self.handle.clone()], inputs].concat(), &[])
    }
    fn find(&self, keys: &[&'static str], default: Tensor) -> Result<Vec<i64>> {
        Ok(self.call("LookupTableFindV2", &[words(keys), default])?[0].as_slice::<i64>()?.to_vec())
    }
    fn export(&self) -> (Vec<Bytes>, Vec<i64>) {
        let types = [("Tkeys", Attr::Type(DataType::String)), ("Tvalues", Attr::Type(DataType::Int64))];
        let got = call_in(&self.step, "LookupTableExportV2", &[self.handle.clone()], &types).unwrap();
        (got[0].strings().unwrap().to_vec(), got[1].as_slice::<i64>().unwrap().to_vec())
    }
}

#[test]
fn a_fixed_table_is_filled_once() {
    let t = table("HashTableV2");
    let none = Tensor::scalar(-1i64);
    assert_eq!(t.find(&["a"], none.clone()).unwrap_err().code(), Code::FailedPrecondition);
    let dup = t.call("InitializeTableV2", &[words(&["a", "a"]), longs(&[1, 2])]);
    assert!(dup.unwrap_err().message().starts_with("HashTable has different value for same key"));
    assert_eq!(code(t.call("InitializeTableV2", &[words(&["a", "b"]), longs(&[1])])), Code::InvalidArgument);
    assert_eq!(code(t.call("InitializeTableV2", &[words(&[]), longs(&[])])), Code::InvalidArgument);
    t.call("InitializeTableV2", &[words(&["a", "b"]), longs(&[1, 2])]).unwrap();
    t.call("InitializeTableV2", &[words(&["z"]), longs(&[9])]).unwrap();
    assert_eq!(t.find(&["a", "z"], none.clone()).unwrap(), [1, -1]);
    assert_eq!(code(t.call("LookupTableInsertV2", &[words(&["a"]), longs(&[1])])), Code::Unimplemented);
    assert_eq!(code(t.call("LookupTableFindV2", &[longs(&[1]), none])), Code::InvalidArgument);
    assert_eq!(
        code(t.call("LookupTableFindV2", &[words(&["a"]), Tensor::scalar(1f32)])),
        Code::InvalidArgument
    );
}

#[test]
fn a_mutable_table_changes() {
    let t = table("MutableHashTableV2");
    t.call("LookupTableInsertV2", &[words(&["a", "b", "a"]), longs(&[1, 2, 3])]).unwrap();
    assert_eq!(t.find(&["a", "z"], Tensor::scalar(-1i64)).unwrap(), [3, -1]);
    assert_eq!(t.find(&["y", "z"], longs(&[-1, -2])).unwrap(), [-1, -2]);
    assert_eq!(
        code(t.call("LookupTableInsertV2", &[words(&["a", "b"]), longs(&[1])])),
        Code::InvalidArgument
    );
    t.call("LookupTableRemoveV2", &[words(&["a", "q"])]).unwrap();
    assert_eq!(t.export(), (vec![Bytes::from_static(b"b")], vec![2]));
    t.call("LookupTableImportV2", &[words(&["x"]), longs(&[9])]).unwrap();
    assert_eq!(t.export(), (vec![Bytes::from_static(b"x")], vec![9]));
    assert_eq!(t.call("LookupTableSizeV2", &[]).unwrap()[0].to_scalar::<i64>().unwrap(), 1);
    assert_eq!(code(t.call("InitializeTableV2", &[words(&["a"]), longs(&[1])])), Code::InvalidArgument);
}

#[test]
fn a_text_file_fills_a_table() {
    let path = std::env::temp_dir().join(format!("thalweg-vocab-{}", std::process::id()));
    std::fs::write(&path, "a\t1\nb\t2\nc\tx\n").unwrap();
    let name = Tensor::string(path.to_str().unwrap());
    let fill = |key: i64, value: i64, vocab: i64| {
        let t = table("HashTableV2");
        let attrs = [
            ("key_index", Attr::Int(key)),
            ("value_index", Attr::Int(value)),
            ("vocab_size", Attr::Int(vocab)),
        ];
        call_in(&t.step, "InitializeTableFromTextFileV2", &[t.handle.clone(), name.clone()], &attrs)
            .map(|_| t)
    };
    assert_eq!(fill(-2, -1, -1).unwrap().export().1, [0, 1, 2]);
    assert_eq!(fill(0, 1, 2).unwrap().export().1, [1, 2]);
    let message = |r: Result<T>| r.err().unwrap().message().to_string();
    assert_eq!(message(fill(0, 1, -1)), "Field x in line 2 is not a valid int64.");
    assert!(message(fill(0, 7, -1)).contains("Invalid number of columns"));
    assert!(message(fill(-2, -1, 9)).contains("expected 9 but got 3"));
    std::fs::remove_file(path).unwrap();
    assert_eq!(fill(-2, -1, -1).err().unwrap().code(), Code::NotFound);
}

#[test]
fn no_keys_fill_a_mutable_table_only() {
    let nothing = [words(&[]), longs(&[])];
    let refused = table("HashTableV2").call("LookupTableImportV2", &nothing).unwrap_err();
    assert!(refused.message().contains("keys and values cannot be empty tensors."), "{refused}");
    table("MutableHashTableV2").call("LookupTableImportV2", &nothing).unwrap();
}

#[test]
fn tensors_in_a_table_are_vectors() {
    let make = |dims: &[i64]| {
        let attrs = [
            ("key_dtype", Attr::Type(DataType::String)),
            ("value_dtype", Attr::Type(DataType::Int64)),
            ("value_shape", Attr::Shape(PartialShape::new(dims).unwrap())),
        ];
        call_in(&step(1), "MutableHashTableOfTensorsV2", &[], &attrs)
    };
    make(&[2]).unwrap();
    for (dims, shape) in [(&[1, 1][..], "[1,1]"), (&[], "[]")] {
        let e = make(dims).unwrap_err();
        assert!(e.message().contains(&format!("Default value must be a vector, got shape {shape}")), "{e}");
    }
}
