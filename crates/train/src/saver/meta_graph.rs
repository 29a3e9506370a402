//! The graph beside a checkpoint: what `tf.train.import_meta_graph` reads.

use super::keep::Keep;
use super::nodes::Nodes;
use std::collections::{BTreeMap, HashMap};
use thalweg_client::{Result, Scope, Slice, Variable};
use thalweg_proto::collection_def::{BytesList, Kind};
use thalweg_proto::meta_graph_def::MetaInfoDef;
use thalweg_proto::saver_def::CheckpointFormatVersion;
use thalweg_proto::{CollectionDef, GraphDef, MetaGraphDef, SaveSliceInfoDef, SaverDef, VariableDef, encode};

/// A MetaGraphDef with the graph, its variables and this saver.
pub(super) fn of(g: &Scope, nodes: &Nodes, keep: Keep) -> Result<MetaGraphDef> {
    let graph = g.to_graph_def()?;
    let variables = g.global_variables();
    let collection_def = BTreeMap::from([
        ("variables".to_string(), collection(&graph, variables.iter())),
        ("trainable_variables".to_string(), collection(&graph, variables.iter().filter(|v| v.trainable))),
    ]);
    let saver = SaverDef {
        filename_tensor_name: nodes.filename.name(),
        save_tensor_name: nodes.save.name(),
        restore_op_name: nodes.restore.name(),
        max_to_keep: i32::try_from(keep.newest).unwrap_or(i32::MAX),
        keep_checkpoint_every_n_hours: keep.every_n_hours as f32,
        version: CheckpointFormatVersion::V2.into(),
        ..Default::default()
    };
    Ok(MetaGraphDef {
        meta_info_def: Some(MetaInfoDef::default()),
        graph_def: Some(graph),
        saver_def: Some(saver),
        collection_def,
        ..Default::default()
    })
}

fn collection<'a>(graph: &GraphDef, variables: impl Iterator<Item = &'a Variable>) -> CollectionDef {
    let first_values: HashMap<&str, &str> =
        graph.node.iter().filter_map(|n| Some((n.name.as_str(), n.input.get(1)?.as_str()))).collect();
    let def = |v: &Variable| {
        let initializer_name = v.init.name();
        let first = first_values.get(initializer_name.as_str()).copied().unwrap_or_default();
        let initial_value_name = if first.contains(':') { first.to_string() } else { format!("{first}:0") };
        VariableDef {
            variable_name: v.handle.name(),
            snapshot_name: v.value.name(),
            initializer_name,
            initial_value_name,
            is_resource: true,
            trainable: v.trainable,
            save_slice_info_def: v.slice.as_deref().map(slice_info),
            ..Default::default()
        }
    };
    let value = variables.map(|v| encode(&def(v)).into()).collect();
    CollectionDef { kind: Some(Kind::BytesList(BytesList { value })) }
}

fn slice_info(slice: &Slice) -> SaveSliceInfoDef {
    let wide = |list: &[usize]| list.iter().map(|d| *d as i64).collect();
    SaveSliceInfoDef {
        full_name: slice.full_name.clone(),
        full_shape: wide(&slice.full_dims),
        var_offset: wide(&slice.offset),
        var_shape: wide(&slice.dims),
    }
}
