//! What all plugins of TensorBoard have in common: metadata that names the plugin, and a tensor.

use thalweg_client::{Result, Tensor};
use thalweg_io::wire::tensor_to_proto;
use thalweg_proto::summary_metadata::PluginData;
use thalweg_proto::{DataClass, Message, SummaryMetadata, encode, summary};

/// Metadata that names the plugin and has its own message.
pub(super) fn metadata(plugin: &str, content: &impl Message, class: DataClass) -> SummaryMetadata {
    let data = PluginData { plugin_name: plugin.to_string(), content: encode(content).into() };
    SummaryMetadata { plugin_data: Some(data), data_class: class.into(), ..Default::default() }
}

/// A tensor for a plugin.
pub(super) fn value(tag: &str, tensor: &Tensor, metadata: SummaryMetadata) -> Result<summary::Value> {
    Ok(summary::Value {
        tag: tag.to_string(),
        value: Some(summary::value::Value::Tensor(tensor_to_proto(tensor)?)),
        metadata: Some(metadata),
        ..Default::default()
    })
}
