//! Tensors for plugins of others.

use super::{FileWriter, plugin};
use thalweg_client::{IntoTensor, Result};
use thalweg_proto::{DataClass, SummaryMetadata};

impl FileWriter {
    /// Adds a tensor for the plugin that its metadata names.
    pub fn add_tensor(
        &mut self,
        tag: &str,
        tensor: impl IntoTensor,
        metadata: SummaryMetadata,
        step: i64,
    ) -> Result<()> {
        // TensorBoard drops values without a class.
        let data_class = match metadata.data_class() {
            DataClass::Unknown => DataClass::Tensor,
            known => known,
        };
        let metadata = SummaryMetadata { data_class: data_class.into(), ..metadata };
        self.add_values(vec![plugin::value(tag, &tensor.into_tensor()?, metadata)?], step)
    }
}
