"""Graphs as messages, changed."""

from . import _engine
from ._session import GraphDef


def extract_sub_graph(graph_def, dest_nodes):
    """The part of a graph that these nodes need."""
    return GraphDef(_engine.frozen(graph_def.SerializeToString(), list(dest_nodes), {}))


def convert_variables_to_constants(sess, input_graph_def, output_node_names, variable_names_whitelist=None, variable_names_blacklist=None):
    """The graph of these nodes, with the values that variables have in the session."""
    reads = {}
    handles = {node.name for node in input_graph_def.node if node.op == "VarHandleOp"}
    needed = extract_sub_graph(input_graph_def, output_node_names)
    for node in needed.node:
        if node.op == "ReadVariableOp" and node.input[0] in handles:
            reads[node.name] = sess.graph.get_tensor_by_name(node.name + ":0")
        elif node.input and node.input[0] in handles and node.op not in ("ReadVariableOp",):
            gather = sess.graph.get_operation_by_name(node.name)
            if node.op != "ResourceGather":
                raise ValueError(f"the variable '{node.input[0]}' is used by {node.name} ({gather.type}), which cannot be a constant")
            raise NotImplementedError(f"convert_variables_to_constants: the rows of a variable ({node.name})")
    values = dict(zip(reads, sess.run(list(reads.values())))) if reads else {}
    return GraphDef(_engine.frozen(input_graph_def.SerializeToString(), list(output_node_names), values))


def remove_training_nodes(input_graph, protected_nodes=None):
    return input_graph
