//! Rows E: handles, and rows of C that need a variable.

use crate::common::{constant, placeholder};
use crate::*;
use thalweg_core::attr::Attrs;
use thalweg_core::shape::PartialShape;
use thalweg_graph::{Arg, Graph, NodeRequest, Output};

refused! {
    e07_queue_handle_not_one: "QueueSizeV2", [s("x")] => InvalidArgument;
    e10_forged_handle: "ReadVariableOp", [forged("v")], dtype = DataType::Float => FailedPrecondition | InvalidArgument | NotFound;
    e10_forged_handle_gather: "ResourceGather", [forged("v"), v(&[0])], dtype = DataType::Float => FailedPrecondition | InvalidArgument | NotFound;
    e10_forged_handle_assign: "AssignVariableOp", [forged("v"), x(1.0)] => FailedPrecondition | InvalidArgument | NotFound;
    e10_forged_queue_handle: "QueueSizeV2", [forged("q")] => FailedPrecondition | InvalidArgument | NotFound;
    e10_no_handle_at_all: "ReadVariableOp", [no_handles()], dtype = DataType::Float => InvalidArgument | FailedPrecondition;
    e08_tensor_array_read_of_nothing: "TensorArrayReadV3", [forged("a"), n(0), x(0.0)], dtype = DataType::Float => NotFound;
    e08_tensor_array_write_to_nothing: "TensorArrayWriteV3", [forged("a"), n(0), x(1.0), x(0.0)] => NotFound;
    e08_tensor_array_size_of_nothing: "TensorArraySizeV3", [forged("a"), x(0.0)] => NotFound;
    e08_tensor_array_close_of_nothing: "TensorArrayCloseV3", [forged("a")] => NotFound;
    e08_tensor_array_gradient_of_nothing: "TensorArrayGradV3", [forged("a"), x(0.0)], source = "g" => NotFound;
    e08_tensor_array_without_a_handle: "TensorArrayReadV3", [no_handles(), n(0), x(0.0)], dtype = DataType::Float => InvalidArgument;
}

/// A node `name` of the graph.
pub fn add(
    g: &mut Graph,
    op: &str,
    name: &str,
    args: Vec<Arg>,
    attrs: &[(&'static str, Attr)],
) -> Result<Output> {
    let attrs: Attrs = attrs.iter().cloned().collect();
    Ok(g.add_node(NodeRequest { op, name, args, attrs, ..Default::default() })?.output(0))
}

/// A session with a resource variable `v` of this value.
struct WithVariable {
    session: Session,
    graph: Graph,
    handle: Output,
    before: Tensor,
}

impl WithVariable {
    fn new(value: Tensor, optimise: bool) -> WithVariable {
        thalweg_core::buffer::set_limit(LIMIT);
        let mut graph = Graph::new(registry().clone());
        let attrs = [("dtype", value.dtype().into()), ("shape", Attr::Shape(value.shape().into()))];
        let handle = add(&mut graph, "VarHandleOp", "v", vec![], &attrs).unwrap();
        let initial = constant(&mut graph, value.clone()).unwrap();
        let args = vec![handle.into(), initial.into()];
        graph
            .add_node(NodeRequest { op: "AssignVariableOp", name: "init", args, ..Default::default() })
            .unwrap();
        let dtype = [("dtype", value.dtype().into())];
        add(&mut graph, "ReadVariableOp", "read", vec![handle.into()], &dtype).unwrap();
        let session = Session::of(&graph, options(optimise, 2)).unwrap();
        session.run(&[], &[], &["init"]).unwrap();
        WithVariable { session, graph, handle, before: value }
    }

    /// Runs an op on the variable; other inputs constant or fed.
    fn run(
        &mut self,
        op: &str,
        inputs: &[Tensor],
        attrs: &[(&'static str, Attr)],
        how: Inputs,
    ) -> Result<()> {
        let mut args = vec![Arg::One(self.handle)];
        let mut feeds = vec![];
        for t in inputs {
            let input = match how {
                Inputs::Constants => constant(&mut self.graph, t.clone())?,
                _ => placeholder(&mut self.graph, t.dtype(), PartialShape::unknown())?,
            };
            feeds.push(input);
            args.push(input.into());
        }
        let attrs: Attrs = attrs.iter().cloned().collect();
        let node = self.graph.add_node(NodeRequest { op, name: "bad", args, attrs, ..Default::default() })?;
        self.session.extend(&self.graph)?;
        let (feeds, values) =
            if how == Inputs::Constants { (vec![], vec![]) } else { (feeds, inputs.to_vec()) };
        self.session.callable(&feeds, &[], &[node])?.run(values).map(|_| ())
    }

    fn is_unchanged(&self) -> bool {
        self.session.run(&[], &["read:0"], &[]).unwrap()[0].same_bits(&self.before)
    }
}

/// The op on a variable of this value fails, and the variable is unchanged.
fn refused_on(value: Tensor, op: &str, inputs: &[Tensor], attrs: &[(&'static str, Attr)]) {
    for how in [Inputs::Constants, Inputs::Unknown] {
        for optimise in [true, false] {
            let mut v = WithVariable::new(value.clone(), optimise);
            let way = format!("{op}, {how:?}, optimise {optimise}");
            let e = v.run(op, inputs, attrs, how).expect_err(&way);
            assert_eq!(e.code(), InvalidArgument, "{way}: {e}");
            assert!(e.node().is_some(), "{way}: no node is named: {e}");
            assert!(v.is_unchanged(), "{way}: the variable was changed");
        }
    }
}

#[test]
fn c02_gather_with_more_batch_dims_than_dims() {
    let attrs = |batch: i64| [("dtype", DataType::Float.into()), ("batch_dims", batch.into())];
    for batch in [10, 2, -10, i64::MAX, i64::MIN] {
        refused_on(f(&[2, 2]), "ResourceGather", &[i(&[2, 1], &[0, 0])], &attrs(batch));
    }
}

#[test]
fn c03_gather_in_batches_of_an_empty_variable() {
    let attrs = [("dtype", DataType::Float.into()), ("batch_dims", 1i64.into())];
    refused_on(f(&[0, 1]), "ResourceGather", &[v(&[0, 0, 0])], &attrs);
    refused_on(f(&[0, 1]), "ResourceGather", &[v(&[7])], &[("dtype", DataType::Float.into())]);
}

#[test]
fn c05_scatter_of_more_updates_than_indices() {
    for op in ["ResourceScatterUpdate", "ResourceScatterAdd", "ResourceScatterMul", "ResourceScatterMax"] {
        refused_on(f(&[4]), op, &[v(&[0]), f(&[5])], &[]);
        refused_on(f(&[4, 2]), op, &[v(&[0]), f(&[1, 3])], &[]);
    }
}

#[test]
fn c05_scatter_where_only_the_last_index_is_outside() {
    for outside in [4, -1, i32::MAX, i32::MIN] {
        refused_on(f(&[4]), "ResourceScatterUpdate", &[v(&[0, 1, outside]), f(&[3])], &[]);
        refused_on(f(&[4]), "ResourceScatterSub", &[v(&[0, 1, outside]), f(&[3])], &[]);
        refused_on(f(&[4]), "ResourceScatterNdUpdate", &[i(&[3, 1], &[0, 1, outside]), f(&[3])], &[]);
    }
}

#[test]
fn c06_scatter_divided_by_zero() {
    refused_on(v(&[4, 2]), "ResourceScatterDiv", &[v(&[0, 1]), v(&[2, 0])], &[]);
    refused_on(v(&[4, 2]), "ResourceScatterDiv", &[v(&[0]), n(0)], &[]);
}

/// Unwritten elements take no memory until concatenated.
#[test]
fn d02_all_of_a_tensor_array_of_2_to_the_31() {
    for optimise in [true, false] {
        thalweg_core::buffer::set_limit(LIMIT);
        let mut g = Graph::new(registry().clone());
        let size = constant(&mut g, n(i32::MAX)).unwrap();
        let attrs =
            [("dtype", DataType::Float.into()), ("element_shape", Attr::Shape(PartialShape::vector(1)))];
        let array = add(&mut g, "TensorArrayV3", "a", vec![size.into()], &attrs).unwrap();
        let args = vec![array.into(), array.node.output(1).into()];
        add(&mut g, "TensorArrayConcatV3", "all", args, &[("dtype", DataType::Float.into())]).unwrap();
        let session = Session::of(&g, options(optimise, 2)).unwrap();
        session.run(&[], &[], &["a"]).unwrap();
        assert_eq!(session.run(&[], &["all:0"], &[]).unwrap_err().code(), ResourceExhausted);
    }
}

/// Variants that are not TensorLists.
#[test]
fn e07_variant_of_another_kind() {
    let foreign = Tensor::uninit(DataType::Variant, Shape::scalar());
    for t in foreign.into_iter().chain([Tensor::uninit(DataType::Variant, Shape::vector(0)).unwrap()]) {
        for op in ["TensorListLength", "TensorListElementShape"] {
            let attrs =
                if op == "TensorListLength" { vec![] } else { vec![("shape_type", DataType::Int32.into())] };
            check_refused(op, vec![t.clone()], attrs, &[InvalidArgument]);
        }
    }
}

/// Assigning from an uninitialised variable leaves it uninitialised.
#[test]
fn e09_assign_from_a_variable_without_a_value() {
    for optimise in [true, false] {
        let mut g = Graph::new(registry().clone());
        let attrs = [("dtype", DataType::Float.into()), ("shape", Attr::Shape(PartialShape::vector(2)))];
        let reference = |g: &mut Graph, name: &str| add(g, "VariableV2", name, vec![], &attrs).unwrap();
        let (a, b) = (reference(&mut g, "a"), reference(&mut g, "b"));
        add(&mut g, "Assign", "copy", vec![a.into(), b.into()], &[]).unwrap();
        add(&mut g, "Identity", "read", vec![a.into()], &[]).unwrap();
        let handle = |g: &mut Graph, name: &str| add(g, "VarHandleOp", name, vec![], &attrs).unwrap();
        let (r, q) = (handle(&mut g, "r"), handle(&mut g, "q"));
        let dtype = [("dtype", DataType::Float.into())];
        let value = add(&mut g, "ReadVariableOp", "q_read", vec![q.into()], &dtype).unwrap();
        let args = vec![r.into(), value.into()];
        g.add_node(NodeRequest { op: "AssignVariableOp", name: "r_copy", args, ..Default::default() })
            .unwrap();
        add(&mut g, "ReadVariableOp", "r_read", vec![r.into()], &dtype).unwrap();
        let session = Session::of(&g, options(optimise, 2)).unwrap();
        for (copy, read) in [("copy", "read:0"), ("r_copy", "r_read:0")] {
            let e = session.run(&[], &[], &[copy]).unwrap_err();
            assert_eq!(e.code(), FailedPrecondition, "{copy}: {e}");
            assert_eq!(session.run(&[], &[read], &[]).unwrap_err().code(), FailedPrecondition, "{read}");
        }
    }
}
