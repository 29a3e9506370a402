//! Lists over several ops; values and texts are TensorFlow's.

use super::list::TensorList;
use crate::by_value::ByValue;
use crate::prelude::*;
use crate::testing::{call, code, floats, ints};
use crate::variants;

const FLOAT: (&str, Attr) = ("element_dtype", Attr::Type(DataType::Float));

fn any() -> Tensor {
    Tensor::scalar(-1i32)
}

fn one(op: &str, inputs: &[Tensor]) -> Result<Tensor> {
    let typed = crate::testing::registry().find(op)?.attrs.iter().any(|a| a.starts_with("element_dtype"));
    Ok(call(op, inputs, if typed { std::slice::from_ref(&FLOAT) } else { &[] })?.remove(0))
}

fn reserve(n: i32, shape: Tensor) -> Tensor {
    one("TensorListReserve", &[shape, Tensor::scalar(n)]).unwrap()
}

fn from(t: Tensor) -> Tensor {
    one("TensorListFromTensor", &[t, any()]).unwrap()
}

fn stack(list: Tensor) -> Result<Vec<f32>> {
    Ok(one("TensorListStack", &[list, any()])?.as_slice::<f32>()?.to_vec())
}

fn two_rows() -> Tensor {
    floats(&[2, 2], &[1., 2., 3., 4.])
}

fn text<T: std::fmt::Debug>(r: Result<T>) -> String {
    r.unwrap_err().message().to_string()
}

#[test]
fn pushing_leaves_the_old_list_alone() {
    let a = one("EmptyTensorList", &[ints(&[1], &[2]), Tensor::scalar(2i32)]).unwrap();
    let b = one("TensorListPushBack", &[a.clone(), floats(&[2], &[1., 2.])]).unwrap();
    let c = one("TensorListPushBack", &[b.clone(), floats(&[2], &[3., 4.])]).unwrap();
    assert_eq!(stack(c.clone()).unwrap(), [1., 2., 3., 4.]);
    assert_eq!(stack(b).unwrap(), [1., 2.]);
    assert!(text(one("TensorListPushBack", &[c.clone(), floats(&[2], &[3., 4.])])).contains("full list"));
    assert!(text(one("TensorListPushBack", &[a.clone(), floats(&[], &[3.])])).contains("incompatible shape"));
    let popped = call("TensorListPopBack", &[c, any()], &[FLOAT]).unwrap();
    assert_eq!(popped[1].as_slice::<f32>().unwrap(), [3., 4.]);
    assert_eq!(stack(popped[0].clone()).unwrap(), [1., 2.]);
    assert_eq!(text(one("TensorListPopBack", &[a, any()])), "Trying to pop from an empty list.");
}

#[test]
fn elements_not_set_read_as_zeros_where_their_shape_is_known() {
    let list = reserve(3, ints(&[1], &[-1]));
    assert!(
        text(one("TensorListGetItem", &[list.clone(), ints(&[], &[0]), any()])).contains("uninitialized")
    );
    let given = one("TensorListGetItem", &[list.clone(), ints(&[], &[0]), ints(&[1], &[2])]).unwrap();
    assert_eq!(given.as_slice::<f32>().unwrap(), [0., 0.]);
    let set = one("TensorListSetItem", &[list.clone(), ints(&[], &[1]), floats(&[2], &[1., 2.])]).unwrap();
    assert_eq!(stack(set).unwrap(), [0., 0., 1., 2., 0., 0.]);
    let oob = one("TensorListSetItem", &[list.clone(), ints(&[], &[3]), floats(&[2], &[1., 2.])]);
    assert_eq!(text(oob), "Trying to modify element 3 in a list with 3 elements.");
    let oob = one("TensorListGetItem", &[list, ints(&[], &[3]), any()]);
    assert_eq!(text(oob), "Trying to access element 3 in a list with 3 elements.");
    assert_eq!(
        code(call("TensorListReserve", &[any(), Tensor::scalar(-1i32)], &[FLOAT])),
        Code::InvalidArgument
    );
    assert!(text(stack(reserve(0, any()))).contains("empty list with non-fully-defined"));
}

#[test]
fn chosen_elements() {
    let got = one("TensorListGather", &[from(two_rows()), ints(&[3], &[1, 0, 1]), any()]).unwrap();
    assert_eq!(got.as_slice::<f32>().unwrap(), [3., 4., 1., 2., 3., 4.]);
    assert!(one("TensorListGather", &[from(two_rows()), ints(&[1], &[2]), any()]).is_err());
    let scattered = one("TensorListScatter", &[two_rows(), ints(&[2], &[3, 0]), ints(&[1], &[2])]).unwrap();
    assert_eq!(stack(scattered).unwrap(), [3., 4., 0., 0., 0., 0., 1., 2.]);
    let v2 = |n: i32| {
        one("TensorListScatterV2", &[two_rows(), ints(&[2], &[3, 0]), ints(&[1], &[2]), Tensor::scalar(n)])
    };
    assert_eq!(stack(v2(5).unwrap()).unwrap().len(), 10);
    assert!(text(v2(2)).contains("Trying to scatter at index 3 in list with size 2"));
    assert!(one("TensorListScatter", &[two_rows(), ints(&[2], &[-1, 0]), any()]).is_err());
}

#[test]
fn pieces_and_lists() {
    let lengths = |l: &[i64]| Tensor::vector(l).unwrap();
    let list = one("TensorListSplit", &[two_rows(), ints(&[2], &[-1, 2]), lengths(&[1, 0, 1])]).unwrap();
    let got = call("TensorListConcatV2", &[list, any(), lengths(&[])], &[FLOAT]).unwrap();
    assert_eq!(got[0].as_slice::<f32>().unwrap(), [1., 2., 3., 4.]);
    assert_eq!(got[1].as_slice::<i64>().unwrap(), [1, 0, 1]);
    for bad in [[1, 0], [1, 5], [-1, 3]] {
        assert!(one("TensorListSplit", &[two_rows(), any(), lengths(&bad)]).is_err());
    }
    let set = [reserve(3, any()), ints(&[], &[0]), floats(&[1, 2], &[1., 2.])];
    let set = one("TensorListSetItem", &set).unwrap();
    let got =
        call("TensorListConcatV2", &[set, ints(&[2], &[-1, 2]), lengths(&[1, 2, 1])], &[FLOAT]).unwrap();
    assert_eq!(got[1].as_slice::<i64>().unwrap(), [1, 2, 1]);
    let both = one("TensorListConcatLists", &[from(two_rows()), from(two_rows())]).unwrap();
    assert_eq!(stack(both).unwrap().len(), 8);
    let resized = one("TensorListResize", &[from(two_rows()), Tensor::scalar(3i32)]).unwrap();
    assert_eq!(stack(resized).unwrap(), [1., 2., 3., 4., 0., 0.]);
    assert!(one("TensorListResize", &[from(two_rows()), Tensor::scalar(-3i32)]).is_err());
    let scalars = from(floats(&[2], &[1., 2.]));
    assert!(
        text(one("TensorListConcatV2", &[scalars, any(), lengths(&[])]))
            .contains("requires at least vectors")
    );
}

#[test]
fn other_variants_are_refused() {
    let empty = Tensor::zeros(DataType::Variant, Shape::scalar()).unwrap();
    assert!(text(one("TensorListLength", &[empty])).contains("Input handle is not a list"));
    let shape = [("shape_type", Attr::Type(DataType::Int32))];
    let known = one("TensorListReserve", &[ints(&[2], &[-1, 2]), ints(&[], &[0])]).unwrap();
    let dims = call("TensorListElementShape", &[known], &shape).unwrap();
    assert_eq!(dims[0].as_slice::<i32>().unwrap(), [-1, 2]);
    assert_eq!(call("TensorListElementShape", &[from(two_rows())], &shape).unwrap()[0].rank(), 0);
}

#[test]
fn lists_are_summed_by_element_and_what_is_not_set_is_zero() {
    let list = |items: Vec<Option<Tensor>>| {
        let list = TensorList::new(DataType::Float, PartialShape::unknown());
        TensorList { items, ..list }.into_tensor()
    };
    let item = |v: f32| Some(Tensor::scalar(v));
    let (a, b) = (list(vec![item(1.0), None, None]), list(vec![item(2.0), item(3.0), None]));
    let sum = variants::sum(a.clone(), b, 0).unwrap();
    let zeros = variants::zeros_like(&a, 0).unwrap();
    let float = [("element_dtype", Attr::Type(DataType::Float))];
    let get = |list: &Tensor, i: i32| {
        let args = [list.clone(), Tensor::scalar(i), int_vector(&[])];
        call("TensorListGetItem", &args, &float).unwrap()[0].to_scalar::<f32>().unwrap()
    };
    assert_eq!([0, 1, 2].map(|i| get(&sum, i)), [3.0, 3.0, 0.0]);
    assert_eq!(get(&zeros, 0), 0.0);
    let shorter = list(vec![item(1.0)]);
    assert_eq!(variants::sum(a, shorter, 0).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn errors_have_the_words_that_users_search_for() {
    let empty = |shape: Tensor| one("EmptyTensorList", &[shape, Tensor::scalar(-1i32)]).unwrap();
    let push = |list: Tensor, t: Tensor| one("TensorListPushBack", &[list, t]).unwrap();
    let two = |a: Tensor, b: Tensor| push(push(empty(any()), a), b);
    let words = |r: Result<Tensor>, want: &str| {
        let text = text(r);
        assert!(text.contains(want), "{text}, not {want}");
    };
    let gather = |list: Tensor, at: &[i32]| one("TensorListGather", &[list, ints(&[at.len()], at), any()]);
    let ranks = two(floats(&[], &[1.]), floats(&[1], &[1.]));
    let sizes = two(floats(&[1], &[1.]), floats(&[2], &[1., 2.]));
    words(gather(ranks.clone(), &[0, 1]), "PartialTensorShape: Incompatible ranks during merge: 0 vs. 1");
    words(
        gather(sizes.clone(), &[0, 1]),
        "PartialTensorShape: Incompatible shapes during merge: [1] vs. [2]",
    );
    words(one("TensorListStack", &[ranks, any()]), "Incompatible ranks during merge: 0 vs. 1");
    words(gather(sizes, &[-1]), "Trying to gather element -1 in a list with 2 elements.");
    words(
        gather(reserve(2, any()), &[0]),
        "Tried to gather uninitialized tensors from a list with non-fully-defined element_shape: <unknown>",
    );
    let concat = |list: Tensor, shape: Tensor| {
        let none = Tensor::vector(&[0i64; 0]).unwrap();
        one("TensorListConcatV2", &[list, shape, none])
    };
    let rows = two(floats(&[1, 2], &[1.; 2]), floats(&[1, 1], &[1.]));
    words(concat(rows, any()), "PartialTensorShape: Incompatible shapes during merge: [2] vs. [1]");
    words(
        concat(empty(ints(&[0], &[])), any()),
        "Concat requires elements to be at least vectors, found scalars",
    );
    words(concat(reserve(1, any()), any()), "element_shape_except_first_dim is not fully defined: <unknown>");
    words(
        concat(reserve(1, ints(&[2], &[-1, 2])), any()),
        "List contains uninitialized tensor at index 0 but leading_dims has only 0 elements.",
    );
    let list = push(empty(ints(&[2], &[-1, 2])), floats(&[1, 2], &[1.; 2]));
    words(
        one("TensorListPopBack", &[list, ints(&[2], &[1, 3])]),
        "PartialTensorShape: Incompatible shapes during merge: [1,3] vs. [?,2]",
    );
    let scalar = one("EmptyTensorList", &[ints(&[0], &[]), Tensor::scalar(-1i32)]).unwrap();
    let lists = scalar.reshape(Shape::vector(1)).unwrap();
    words(
        one("TensorListPushBackBatch", &[lists, floats(&[1, 1], &[1.])]),
        "to a list at index 0. Op element shape: [1] list shape: []",
    );
}
