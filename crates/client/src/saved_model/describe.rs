//! What signatures take and return.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Error, Result, unimplemented};
use thalweg_core::shape::PartialShape;
use thalweg_core::tensor::Tensor;
use thalweg_io::wire::{partial_shape_from_proto, tensor_from_proto};
use thalweg_proto::tensor_info::Encoding;
use thalweg_proto::{MetaGraphDef, SignatureDef};

/// The names under which models keep their initialisers, which nobody calls.
const INTERNAL: [&str; 2] = ["__saved_model_init_op", "__saved_model_train_op"];

/// What a signature takes and returns.
#[derive(Clone, Debug)]
pub struct SignatureInfo {
    /// What it is for: `tensorflow/serving/predict`, `classify` or `regress`.
    pub method_name: String,
    /// In the order of their names.
    pub inputs: Vec<TensorInfo>,
    /// In the order of their names.
    pub outputs: Vec<TensorInfo>,
}

/// An input or output of a signature. A sparse or ragged one is several, named `x/indices`, `x/values`, `x/dense_shape`, or `x/0`, `x/1`.
#[derive(Clone, Debug)]
pub struct TensorInfo {
    /// Its name in the signature.
    pub name: String,
    /// The tensor of the graph.
    pub tensor: String,
    /// Its type.
    pub dtype: DataType,
    /// Its shape, as far as it is known.
    pub shape: PartialShape,
    /// The value of an input that is not given.
    pub default: Option<Tensor>,
}

/// `x (float [?,4])`.
impl fmt::Display for TensorInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} {})", self.name, self.dtype, self.shape)
    }
}

pub(super) fn signatures(meta: &MetaGraphDef) -> Result<BTreeMap<String, Arc<SignatureInfo>>> {
    let callable = meta.signature_def.iter().filter(|(name, _)| !INTERNAL.contains(&name.as_str()));
    callable
        .map(|(name, def)| {
            let info = signature(def).map_err(|e| e.context(format_args!("signature '{name}'")))?;
            Ok((name.clone(), Arc::new(info)))
        })
        .collect()
}

fn signature(def: &SignatureDef) -> Result<SignatureInfo> {
    let mut inputs = tensors(&def.inputs)?;
    for (name, value) in &def.defaults {
        if let Some(input) = inputs.iter_mut().find(|i| i.name == *name) {
            input.default = Some(tensor_from_proto(value).map_err(|e| named(e, name))?);
        }
    }
    Ok(SignatureInfo { method_name: def.method_name.clone(), inputs, outputs: tensors(&def.outputs)? })
}

fn named(e: Error, name: &str) -> Error {
    e.context(format_args!("'{name}'"))
}

fn tensors(all: &BTreeMap<String, thalweg_proto::TensorInfo>) -> Result<Vec<TensorInfo>> {
    let mut found = Vec::new();
    for (name, info) in all {
        add(&mut found, name, info).map_err(|e| named(e, name))?;
    }
    found.sort_by(|a: &TensorInfo, b| a.name.cmp(&b.name));
    Ok(found)
}

fn add(found: &mut Vec<TensorInfo>, name: &str, info: &thalweg_proto::TensorInfo) -> Result<()> {
    match &info.encoding {
        Some(Encoding::CooSparse(sparse)) => {
            let values = one(format!("{name}/values"), &sparse.values_tensor_name, info)?;
            let parts =
                [("indices", &sparse.indices_tensor_name), ("dense_shape", &sparse.dense_shape_tensor_name)];
            found.extend(parts.map(|(part, tensor)| TensorInfo {
                name: format!("{name}/{part}"),
                tensor: tensor.clone(),
                dtype: DataType::Int64,
                shape: PartialShape::unknown(),
                default: None,
            }));
            found.push(TensorInfo { shape: PartialShape::unknown_of_rank(1), ..values });
        }
        Some(Encoding::CompositeTensor(composite)) => {
            for (i, part) in composite.components.iter().enumerate() {
                let Some(Encoding::Name(tensor)) = &part.encoding else {
                    return Err(unimplemented("a composite tensor within another"));
                };
                found.push(one(format!("{name}/{i}"), tensor, part)?);
            }
        }
        Some(Encoding::Name(tensor)) => found.push(one(name.to_string(), tensor, info)?),
        None => found.push(one(name.to_string(), "", info)?),
    }
    Ok(())
}

fn one(name: String, tensor: &str, info: &thalweg_proto::TensorInfo) -> Result<TensorInfo> {
    let dtype = DataType::from_wire(info.dtype)
        .ok_or_else(|| unimplemented(format_args!("data type number {}", info.dtype)))?;
    let shape = match &info.tensor_shape {
        Some(shape) => partial_shape_from_proto(shape)?,
        None => PartialShape::unknown(),
    };
    Ok(TensorInfo { name, tensor: tensor.to_string(), dtype, shape, default: None })
}
