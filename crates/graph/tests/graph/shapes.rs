//! Shape inference through values that are partly known.

use crate::{add, constant, graph, partial, placeholder};
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::dtype::DataType;
use thalweg_core::node::Output;
use thalweg_core::shape::PartialShape;
use thalweg_core::tensor::Tensor;
use thalweg_graph::{Arg, Graph};

/// The shape that a Reshape to this one infers.
fn reshaped(g: &mut Graph, shape: Output) -> PartialShape {
    let x = placeholder(g, DataType::Float, PartialShape::unknown());
    let y = add(g, "Reshape", vec![x.into(), shape.into()], &[]);
    g.shape(y)
}

fn ints(g: &mut Graph, values: &[i32]) -> Output {
    constant(g, Tensor::vector(values).unwrap())
}

/// `x[i]` of a vector.
fn element(g: &mut Graph, x: Output, i: i32) -> Output {
    let (begin, end, one) = (ints(g, &[i]), ints(g, &[i + 1]), ints(g, &[1]));
    let args = vec![x.into(), begin.into(), end.into(), one.into()];
    add(g, "StridedSlice", args, &[("shrink_axis_mask", Attr::Int(1))])
}

#[test]
fn sizes_are_followed_through_the_ops_that_move_them() {
    let mut g = graph();
    let x = placeholder(&mut g, DataType::Float, partial(&[-1, 3]));
    let shape = add(&mut g, "Shape", vec![x.into()], &[]);
    assert_eq!(reshaped(&mut g, shape), partial(&[-1, 3]));
    let wide = add(&mut g, "Cast", vec![shape.into()], &[("DstT", DataType::Int64.into())]);
    let same = add(&mut g, "Identity", vec![wide.into()], &[]);
    assert_eq!(reshaped(&mut g, same), partial(&[-1, 3]));
    let (rows, columns, five) =
        (element(&mut g, shape, 0), element(&mut g, shape, 1), constant(&mut g, Tensor::scalar(5i32)));
    let packed = add(&mut g, "Pack", vec![Arg::List(vec![five, columns, rows])], &[]);
    assert_eq!(reshaped(&mut g, packed), partial(&[5, 3, -1]));
    let (tail, axis) = (ints(&mut g, &[7]), constant(&mut g, Tensor::scalar(0i32)));
    let joined = add(&mut g, "ConcatV2", vec![Arg::List(vec![packed, tail]), axis.into()], &[]);
    assert_eq!(reshaped(&mut g, joined), partial(&[5, 3, -1, 7]));
}

#[test]
fn each_output_of_shape_n_has_the_sizes_of_its_input() {
    let mut g = graph();
    let (x, y) = (
        placeholder(&mut g, DataType::Float, partial(&[-1, 3])),
        placeholder(&mut g, DataType::Float, partial(&[2])),
    );
    let shapes = add(&mut g, "ShapeN", vec![Arg::List(vec![x, y])], &[]).node;
    assert_eq!(reshaped(&mut g, shapes.output(0)), partial(&[-1, 3]));
    assert_eq!(reshaped(&mut g, shapes.output(1)), partial(&[2]));
    assert!(g.constant(shapes.output(0)).is_none());
    assert_eq!(g.constant(shapes.output(1)).unwrap().as_slice::<i32>().unwrap(), &[2]);
}

#[test]
fn what_only_shapes_decide_is_constant() {
    let mut g = graph();
    let x = placeholder(&mut g, DataType::Float, partial(&[2, 3]));
    let partly = placeholder(&mut g, DataType::Float, partial(&[-1, 3]));
    let value = |g: &mut Graph, op: &str, x: Output| {
        let o = add(g, op, vec![x.into()], &[]);
        g.constant(o).map(|t| t.to_i64s().unwrap())
    };
    assert_eq!(value(&mut g, "Shape", x), Some(vec![2, 3]));
    assert_eq!(value(&mut g, "Size", x), Some(vec![6]));
    assert_eq!(value(&mut g, "Rank", partly), Some(vec![2]));
    assert_eq!((value(&mut g, "Shape", partly), value(&mut g, "Size", partly)), (None, None));
}

/// The search is limited: infinite or exponential ones end.
#[test]
fn deep_and_wide_values_stay_unknown() {
    let mut g = graph();
    let x = placeholder(&mut g, DataType::Float, partial(&[-1]));
    let shape = add(&mut g, "Shape", vec![x.into()], &[]);
    let mut deep = shape;
    for _ in 0..100 {
        deep = add(&mut g, "Identity", vec![deep.into()], &[]);
    }
    assert_eq!(reshaped(&mut g, deep).rank(), Some(1), "the length is that of the vector");
    let axis = constant(&mut g, Tensor::scalar(0i32));
    let mut wide = shape;
    for _ in 0..10 {
        wide = add(&mut g, "ConcatV2", vec![Arg::List(vec![wide, wide]), axis.into()], &[]);
    }
    assert_eq!(reshaped(&mut g, wide), PartialShape::unknown());
}

#[test]
fn a_scalar_or_a_matrix_is_no_shape() {
    let mut g = graph();
    let x = placeholder(&mut g, DataType::Float, partial(&[-1, 3]));
    let shape = add(&mut g, "Shape", vec![x.into()], &[]);
    let scalar = element(&mut g, shape, 1);
    let matrix = add(&mut g, "Pack", vec![Arg::List(vec![shape, shape])], &[]);
    let float: Attrs = [("dtype", DataType::Float)].into_iter().collect();
    for dims in [scalar, matrix] {
        let args = vec![dims.into()];
        let request =
            thalweg_graph::NodeRequest { op: "Empty", args, attrs: float.clone(), ..Default::default() };
        assert!(g.add_node(request).unwrap_err().message().contains("rank 1"));
    }
}

#[test]
fn variables_have_the_shape_that_their_handle_declares() {
    let mut g = graph();
    let float = ("dtype", Attr::from(DataType::Float));
    let handle =
        add(&mut g, "VarHandleOp", vec![], &[float.clone(), ("shape", Attr::Shape(partial(&[2, -1])))]);
    let other = add(&mut g, "Identity", vec![handle.into()], &[]);
    let read = add(&mut g, "ReadVariableOp", vec![other.into()], std::slice::from_ref(&float));
    assert_eq!(g.shape(read), partial(&[2, -1]));
}
