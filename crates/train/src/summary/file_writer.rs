use std::path::Path;
use std::time::{Duration, Instant};
use thalweg_client::{Code, Error, Result, Scope, Tensor};
use thalweg_io::event::EventWriter;
use thalweg_io::message::decode;
use thalweg_proto::event::What;
use thalweg_proto::session_log::SessionStatus;
use thalweg_proto::{RunMetadata, SessionLog, Summary, TaggedRunMetadata, encode, summary};

/// Writes an event file, which TensorBoard can show while it grows.
pub struct FileWriter {
    events: EventWriter,
    flushed: Instant,
}

/// Events are flushed at least this often.
const FLUSH_AFTER: Duration = Duration::from_secs(2);

impl FileWriter {
    /// A new event file in this directory.
    pub fn new(logdir: impl AsRef<Path>) -> Result<FileWriter> {
        FileWriter::with_suffix(logdir, "")
    }

    /// As `new`, with a suffix of the file name, to distinguish writers.
    pub fn with_suffix(logdir: impl AsRef<Path>, suffix: &str) -> Result<FileWriter> {
        Ok(FileWriter { events: EventWriter::create(logdir.as_ref(), suffix)?, flushed: Instant::now() })
    }

    /// The file that is written.
    pub fn path(&self) -> &Path {
        self.events.path()
    }

    /// Adds the output of a summary op: a serialised Summary.
    pub fn add_summary(&mut self, summary: &Tensor, step: i64) -> Result<()> {
        let [bytes] = summary.strings()? else {
            return Err(invalid(format!("a summary is one string, got shape {}", summary.shape())));
        };
        let message: Summary =
            decode(bytes.clone())?.map_err(|e| invalid(format!("not a serialized Summary: {e}")))?;
        self.add(step, What::Summary(message))
    }

    /// Adds a scalar.
    pub fn add_scalar(&mut self, tag: &str, value: f32, step: i64) -> Result<()> {
        let value = Some(summary::value::Value::SimpleValue(value));
        let value = vec![summary::Value { tag: tag.to_string(), value, ..Default::default() }];
        self.add(step, What::Summary(Summary { value }))
    }

    /// Adds the graph.
    pub fn add_graph(&mut self, g: &Scope) -> Result<()> {
        let graph = encode(&g.to_graph_def_with_shapes()?);
        self.add(0, What::GraphDef(graph.into()))
    }

    /// Adds the metadata of a step, under a tag that was not used before.
    pub fn add_run_metadata(&mut self, metadata: &RunMetadata, tag: &str, step: i64) -> Result<()> {
        let run_metadata = encode(metadata).into();
        self.add(step, What::TaggedRunMetadata(TaggedRunMetadata { tag: tag.to_string(), run_metadata }))
    }

    /// Marks the start of training, or its continuation after this step: TensorBoard drops later steps of earlier runs.
    pub fn add_start(&mut self, restored_step: i64) -> Result<()> {
        let log = SessionLog { status: SessionStatus::Start.into(), ..Default::default() };
        self.add(restored_step.saturating_add(1), What::SessionLog(log))
    }

    fn add(&mut self, step: i64, what: What) -> Result<()> {
        self.events.add(step, what)?;
        if self.flushed.elapsed() >= FLUSH_AFTER { self.flush() } else { Ok(()) }
    }

    /// Writes all buffered events to the file.
    pub fn flush(&mut self) -> Result<()> {
        self.flushed = Instant::now();
        self.events.flush()
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        // Callers that need the error call `flush`.
        drop(self.flush());
    }
}

fn invalid(message: String) -> Error {
    Error::new(Code::InvalidArgument, message)
}
