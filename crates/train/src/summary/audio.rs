//! Sounds.

use super::file_writer::invalid;
use super::{FileWriter, plugin};
use thalweg_client::{IntoTensor, Result, Shape, Tensor};
use thalweg_io::wav;
use thalweg_proto::tensorboard::{AudioPluginData, audio_plugin_data::Encoding};
use thalweg_proto::{Bytes, DataClass};

impl FileWriter {
    /// Adds the sounds of a batch, [count, frames] or [count, frames, channels], of samples from -1 to 1; `rate` is in samples per second.
    pub fn add_audio(&mut self, tag: &str, sounds: impl IntoTensor, rate: u32, step: i64) -> Result<()> {
        let batch = sounds.into_tensor()?;
        let (count, channels) = match batch.shape().dims()[..] {
            [count, _] => (count, 1),
            [count, _, channels] => (count, channels),
            _ => {
                let text = "sounds are [count, frames] or [count, frames, channels], got shape";
                return Err(invalid(format!("{text} {}", batch.shape())));
            }
        };
        let mut files = Vec::new();
        for i in 0..count {
            let one = batch.rows(i, 1)?;
            files.push(Bytes::from(wav::encode(one.as_slice::<f32>()?, rate, channels)?));
        }
        let tensor = Tensor::from_objects(Shape::vector(count), files)?;
        let content = AudioPluginData { encoding: Encoding::Wav.into(), ..Default::default() };
        let metadata = plugin::metadata("audio", &content, DataClass::BlobSequence);
        self.add_values(vec![plugin::value(tag, &tensor, metadata)?], step)
    }
}
