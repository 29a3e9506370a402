use super::plugin;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use thalweg_client::{Code, Error, Result, Scope, Session, Tensor};
use thalweg_io::event::EventWriter;
use thalweg_io::message::decode;
use thalweg_proto::event::What;
use thalweg_proto::session_log::SessionStatus;
use thalweg_proto::{
    DataClass, RunMetadata, SessionLog, Summary, SummaryMetadata, TaggedRunMetadata, encode, summary,
};

/// Writes an event file, which TensorBoard can show while it grows.
pub struct FileWriter {
    events: EventWriter,
    flushed: Instant,
    /// By tag.
    descriptions: BTreeMap<String, String>,
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
        let events = EventWriter::create(logdir.as_ref(), suffix)?;
        Ok(FileWriter { events, flushed: Instant::now(), descriptions: BTreeMap::new() })
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
        self.add_value(tag, summary::value::Value::SimpleValue(value), step)
    }

    /// From now on, values with this tag have a description, in Markdown. TensorBoard shows that of the first value.
    pub fn describe(&mut self, tag: &str, description: &str) {
        self.descriptions.insert(tag.to_string(), description.to_string());
    }

    /// Adds a value that is no tensor.
    pub(super) fn add_value(&mut self, tag: &str, value: summary::value::Value, step: i64) -> Result<()> {
        let value = summary::Value { tag: tag.to_string(), value: Some(value), ..Default::default() };
        self.add_values(vec![value], step)
    }

    /// Adds values, with their descriptions.
    pub(super) fn add_values(&mut self, mut value: Vec<summary::Value>, step: i64) -> Result<()> {
        for v in &mut value {
            if let Some(description) = self.descriptions.get(&v.tag) {
                let metadata = v.metadata.get_or_insert_with(|| metadata_of(&v.value));
                metadata.summary_description = description.clone();
            }
        }
        self.add(step, What::Summary(Summary { value }))
    }

    /// Adds the graph, with the devices that its program asks for.
    pub fn add_graph(&mut self, g: &Scope) -> Result<()> {
        let graph = encode(&g.to_graph_def_with_shapes()?);
        self.add(0, What::GraphDef(graph.into()))
    }

    /// Adds the graph of a session, with the devices that its nodes were placed on.
    pub fn add_session_graph(&mut self, session: &Session) -> Result<()> {
        let graph = encode(&session.to_graph_def()?);
        self.add(0, What::GraphDef(graph.into()))
    }

    /// Adds the metadata of a step, which [`Session::trace`] returns, under a tag that was not used before: the graph dashboard colours nodes by
    /// their time and memory.
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

/// The metadata of a value that needs none but for its description: TensorBoard's loader drops the description of values without a class.
fn metadata_of(value: &Option<summary::value::Value>) -> SummaryMetadata {
    match value {
        Some(summary::value::Value::SimpleValue(_)) => plugin::metadata("scalars", &(), DataClass::Scalar),
        Some(summary::value::Value::Histo(_)) => plugin::metadata("histograms", &(), DataClass::Tensor),
        _ => SummaryMetadata::default(),
    }
}

/// The current time in seconds.
pub(super) fn since_1970() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

pub(super) fn invalid(message: String) -> Error {
    Error::new(Code::InvalidArgument, message)
}
