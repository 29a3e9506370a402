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

/// Events wait no longer than this for others before they are handed to the system.
const FLUSH_AFTER: Duration = Duration::from_secs(2);

impl FileWriter {
    /// A new event file in this directory.
    pub fn new(logdir: impl AsRef<Path>) -> Result<FileWriter> {
        FileWriter::with_suffix(logdir, "")
    }

    /// As `new`, with something at the end of the file's name: to tell writers apart.
    pub fn with_suffix(logdir: impl AsRef<Path>, suffix: &str) -> Result<FileWriter> {
        Ok(FileWriter { events: EventWriter::create(logdir.as_ref(), suffix)?, flushed: Instant::now() })
    }

    /// The file that is written.
    pub fn path(&self) -> &Path {
        self.events.path()
    }

    /// A summary as summary ops give it: a string.
    pub fn add_summary(&mut self, summary: &Tensor, step: i64) -> Result<()> {
        let [bytes] = summary.strings()? else {
            return Err(invalid(format!("a summary is one string, got shape {}", summary.shape())));
        };
        let message: Summary =
            decode(bytes.clone())?.map_err(|e| invalid(format!("not a serialized Summary: {e}")))?;
        self.add(step, What::Summary(message))
    }

    /// A number that the program itself knows.
    pub fn add_scalar(&mut self, tag: &str, value: f32, step: i64) -> Result<()> {
        let value = Some(summary::value::Value::SimpleValue(value));
        let value = vec![summary::Value { tag: tag.to_string(), value, ..Default::default() }];
        self.add(step, What::Summary(Summary { value }))
    }

    /// The graph, as it is now.
    pub fn add_graph(&mut self, g: &Scope) -> Result<()> {
        let graph = encode(&g.to_graph_def_with_shapes()?);
        self.add(0, What::GraphDef(graph.into()))
    }

    /// What a step told about itself, under a tag that was not used before.
    pub fn add_run_metadata(&mut self, metadata: &RunMetadata, tag: &str, step: i64) -> Result<()> {
        let run_metadata = encode(metadata).into();
        self.add(step, What::TaggedRunMetadata(TaggedRunMetadata { tag: tag.to_string(), run_metadata }))
    }

    /// Training begins, or goes on after this step. What a run that was lost had written of later steps, TensorBoard forgets.
    pub fn add_start(&mut self, restored_step: i64) -> Result<()> {
        let log = SessionLog { status: SessionStatus::Start.into(), ..Default::default() };
        self.add(restored_step.saturating_add(1), What::SessionLog(log))
    }

    fn add(&mut self, step: i64, what: What) -> Result<()> {
        self.events.add(step, what)?;
        if self.flushed.elapsed() >= FLUSH_AFTER { self.flush() } else { Ok(()) }
    }

    /// Hands all events so far to the system.
    pub fn flush(&mut self) -> Result<()> {
        self.flushed = Instant::now();
        self.events.flush()
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        // Whoever needs to know calls `flush`.
        drop(self.flush());
    }
}

fn invalid(message: String) -> Error {
    Error::new(Code::InvalidArgument, message)
}
