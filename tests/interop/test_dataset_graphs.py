"""Datasets as graphs: what TensorFlow writes is read on `thalweg server`, and the reverse."""

import pytest
import tensorflow as tf

from test_datasets import FAILING, PIPELINES, Dataset, dataset_ops, elements, errors, files, numbers, tf1  # noqa: F401

# Not of TensorFlow's: what has a resource that only its session has, or is of no node.
EXCEPT = {
    "not serializable",
    "generator",
    "generator repeated",
    "thread pool",
    "stats",
    *FAILING,
}


def session_on(target):
    return tf1.Session(target, config=tf1.ConfigProto(isolate_session_state=True) if target else None)


def written(target, make, path):
    """The graph of a dataset, and its types and shapes."""
    with tf1.Graph().as_default(), session_on(target) as session:
        tf1.set_random_seed(11)
        dataset = make(path)
        graph = tf.raw_ops.DatasetToGraph(input_dataset=dataset._variant_tensor, allow_stateful=True)
        return session.run(graph), dataset.element_spec


def read(target, graph, spec):
    with tf1.Graph().as_default(), session_on(target) as session:
        # Fed: TensorFlow folds a constant graph, and then has no dataset.
        fed = tf1.placeholder(tf.string, [])
        dataset = dataset_ops._VariantDataset(tf.raw_ops.DatasetFromGraph(graph_def=fed), spec)
        iterator = tf1.data.make_initializable_iterator(dataset)
        try:
            session.run(iterator.initializer, {fed: graph})
        except errors.OpError as e:
            return type(e).__name__
        return elements(session, iterator.get_next())


@pytest.mark.parametrize("name", [n for n in PIPELINES if n not in EXCEPT])
def test_a_graph_that_either_writes_is_read_by_both(server, files, name):  # noqa: F811
    theirs, spec = written("", PIPELINES[name], files)
    ours, _ = written(server.target, PIPELINES[name], files)
    want = read("", theirs, spec)
    assert read(server.target, theirs, spec) == want
    assert read(server.target, ours, spec) == want
    assert read("", ours, spec) == want


def test_nodes_have_tensorflows_names(server):
    make = lambda _: numbers(3).concatenate(numbers(3)).batch(2)  # noqa: E731
    graphs = [tf1.GraphDef.FromString(written(target, make, None)[0]) for target in ("", server.target)]
    want, got = ([(n.name, n.op, list(n.input)) for n in g.node] for g in graphs)
    assert got == want


def test_a_dataset_that_several_have_as_input_is_one_node(server):
    def make(_):
        dataset = numbers(3)
        for _ in range(30):
            dataset = dataset.concatenate(dataset)
        return dataset.take(4)

    graph, spec = written(server.target, make, None)
    assert len(tf1.GraphDef.FromString(graph).node) < 50
    assert [e[0][2] for e in read(server.target, graph, spec)[:4]] == [0, 1, 2, 0]


def test_state_outside_of_the_dataset_is_an_error_if_it_is_not_allowed(server):
    with tf1.Graph().as_default(), session_on(server.target) as session:
        dataset = numbers(3).map(lambda x: tf.random.uniform([]))._variant_tensor
        refusals = [
            tf.raw_ops.DatasetToGraph(input_dataset=dataset),
            tf.raw_ops.DatasetToGraphV2(input_dataset=dataset, external_state_policy=2),
        ]
        for refused in refusals:
            with pytest.raises(errors.FailedPreconditionError, match="RandomUniform is stateful"):
                session.run(refused)
        session.run(tf.raw_ops.DatasetToGraphV2(input_dataset=dataset))
        session.run(tf.raw_ops.DatasetToGraph(input_dataset=numbers(3).flat_map(Dataset.from_tensors)._variant_tensor))


@pytest.mark.parametrize("graph", [b"", b"xx", tf1.GraphDef().SerializeToString()])
def test_what_is_no_graph_of_a_dataset(server, graph):
    with tf1.Graph().as_default(), session_on(server.target) as session:
        with pytest.raises(errors.OpError, match="_Retval|GraphDef"):
            session.run(tf.raw_ops.DatasetCardinality(input_dataset=tf.raw_ops.DatasetFromGraph(graph_def=graph)))
