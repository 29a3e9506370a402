//! Text, which TensorBoard shows as Markdown.

use super::{FileWriter, plugin};
use thalweg_client::{IntoTensor, Result};
use thalweg_proto::{DataClass, SummaryMetadata};

impl FileWriter {
    /// Adds text, in Markdown: a string, or strings of one or two dimensions, which are shown as a table.
    pub fn add_text(&mut self, tag: &str, text: impl IntoTensor, step: i64) -> Result<()> {
        let text = text.into_tensor()?;
        // Strings only: other tensors would be shown as nothing.
        text.strings()?;
        self.add_values(vec![plugin::value(tag, &text, metadata())?], step)
    }
}

pub(super) fn metadata() -> SummaryMetadata {
    plugin::metadata("text", &(), DataClass::Tensor)
}
