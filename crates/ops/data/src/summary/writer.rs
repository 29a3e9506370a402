//! Writers of event files, as resources: `SummaryWriter` and the ops that use one.

use super::audio_summary::sounds;
use super::image_summary::images;
use super::{as_tag, scalar_bytes, tag, value};
use crate::files;
use crate::named::OwnedResource;
use crate::prelude::*;
use bytes::Bytes;
use std::any::Any;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use thalweg_core::resource::Resource;
use thalweg_core::sync::lock;
use thalweg_io::event::{EventWriter, Histogram};
use thalweg_io::message::decode;
use thalweg_io::wire::tensor_to_proto;
use thalweg_proto::event::What;
use thalweg_proto::{Event, GraphDef, Summary, SummaryMetadata, summary};

pub static OPS: &[&Op] = &[
    &SUMMARY_WRITER,
    &CREATE_SUMMARY_FILE_WRITER,
    &FLUSH_SUMMARY_WRITER,
    &CLOSE_SUMMARY_WRITER,
    &WRITE_SUMMARY,
    &WRITE_SCALAR_SUMMARY,
    &WRITE_HISTOGRAM_SUMMARY,
    &WRITE_IMAGE_SUMMARY,
    &WRITE_AUDIO_SUMMARY,
    &WRITE_GRAPH_SUMMARY,
    &WRITE_RAW_PROTO_SUMMARY,
    &IMPORT_EVENT,
];

/// The resource: a file, from its creation until it is closed.
#[derive(Default)]
struct Writer(Mutex<Option<Open>>);

struct Open {
    file: EventWriter,
    /// Events that may wait in memory, and for how long.
    most: usize,
    longest: Duration,
    waiting: usize,
    flushed: Instant,
}

impl Resource for Writer {
    fn kind(&self) -> &'static str {
        "SummaryWriter"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Writer {
    fn with(&self, f: impl FnOnce(&mut Open) -> Result<()>) -> Result<()> {
        match &mut *lock(&self.0) {
            Some(open) => f(open),
            None => {
                Err(not_found("the summary writer has no file: it was never created, or has been closed"))
            }
        }
    }

    fn write(&self, event: impl FnOnce(&mut EventWriter) -> Result<()>) -> Result<()> {
        self.with(|open| {
            event(&mut open.file)?;
            open.waiting += 1;
            if open.waiting > open.most || open.flushed.elapsed() >= open.longest {
                open.flush()?;
            }
            Ok(())
        })
    }
}

impl Open {
    fn flush(&mut self) -> Result<()> {
        (self.waiting, self.flushed) = (0, Instant::now());
        self.file.flush()
    }
}

static SUMMARY_WRITER: Op = Op {
    name: "SummaryWriter",
    doc: "A handle to a writer of summaries.",
    outputs: &["writer: resource"],
    attrs: &["shared_name: string = ''", "container: string = ''"],
    shape: shape_call::scalar,
    kernels: cpu!(make make_writer),
    ..Op::STATEFUL
};

fn make_writer(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let owner = OwnedResource::<Writer>::new(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let writer = owner.get(c, |_| Ok(Writer::default()))?;
        owner.output_handle(c, writer);
        Ok(())
    }))
}

static CREATE_SUMMARY_FILE_WRITER: Op = Op {
    name: "CreateSummaryFileWriter",
    doc: "Lets a writer write to a new event file in a directory, unless it writes to one already.",
    inputs: &[
        "writer: resource",
        "logdir: string",
        "max_queue: int32",
        "flush_millis: int32",
        "filename_suffix: string",
    ],
    shape: |_| Ok(vec![]),
    kernels: cpu!(create),
    expensive: true,
    ..Op::STATEFUL
};

fn create(c: &mut OpCall<'_>) -> Result<()> {
    let scalar = |i: usize, name: &str| match c.shape(i)?.is_scalar() {
        true => Ok(()),
        false => Err(invalid!("{name} must be a scalar, got shape {}", c.shape(i)?)),
    };
    scalar(1, "logdir")?;
    scalar(2, "max_queue")?;
    scalar(3, "flush_millis")?;
    scalar(4, "filename_suffix")?;
    let writer: Arc<Writer> = c.resource(0)?;
    let (directory, suffix) = (PathBuf::from(as_tag(scalar_bytes(c, 1)?)?), as_tag(scalar_bytes(c, 4)?)?);
    if suffix.contains('/') {
        return Err(invalid!("filename_suffix must not name another directory, got '{suffix}'"));
    }
    let mut open = lock(&writer.0);
    if open.is_none() {
        *open = Some(Open {
            file: files::write_events(&c.step.device.access, &directory, &suffix)?,
            most: usize::try_from(c.scalar_int(2)?).unwrap_or(0),
            longest: Duration::from_millis(u64::try_from(c.scalar_int(3)?).unwrap_or(0)),
            waiting: 0,
            flushed: Instant::now(),
        });
    }
    Ok(())
}

static FLUSH_SUMMARY_WRITER: Op = Op {
    name: "FlushSummaryWriter",
    doc: "Writes what waits in memory to the file.",
    inputs: &["writer: resource"],
    shape: |_| Ok(vec![]),
    kernels: cpu!(flush),
    expensive: true,
    ..Op::STATEFUL
};

fn flush(c: &mut OpCall<'_>) -> Result<()> {
    c.resource::<Writer>(0)?.with(Open::flush)
}

static CLOSE_SUMMARY_WRITER: Op = Op {
    name: "CloseSummaryWriter",
    doc: "Flushes and closes the file of a writer.",
    kernels: cpu!(close),
    ..FLUSH_SUMMARY_WRITER
};

fn close(c: &mut OpCall<'_>) -> Result<()> {
    let writer: Arc<Writer> = c.resource(0)?;
    writer.with(Open::flush)?;
    lock(&writer.0).take();
    Ok(())
}

/// An op that writes one event.
const WRITE: Op = Op { shape: |_| Ok(vec![]), expensive: true, ..Op::STATEFUL };

/// Writes values of a step.
fn write_values(c: &OpCall<'_>, values: Summary) -> Result<()> {
    let step = c.input(1)?.to_scalar::<i64>()?;
    c.resource::<Writer>(0)?.write(|file| file.add(step, What::Summary(values)))
}

fn write_value(c: &OpCall<'_>, tag: String, v: summary::value::Value) -> Result<()> {
    write_values(c, Summary { value: vec![value(tag, v)] })
}

static WRITE_SUMMARY: Op = Op {
    name: "WriteSummary",
    doc: "Writes a whole tensor, with metadata that says how to show it.",
    inputs: &["writer: resource", "step: int64", "tensor: T", "tag: string", "summary_metadata: string"],
    attrs: &["T: type"],
    kernels: cpu!(write_tensor),
    ..WRITE
};

fn write_tensor(c: &mut OpCall<'_>) -> Result<()> {
    let metadata = scalar_bytes(c, 4)?;
    // As in TensorFlow, what is no metadata says nothing.
    let metadata: Option<SummaryMetadata> = match metadata.is_empty() {
        true => None,
        false => Some(decode(metadata.clone())?.unwrap_or_default()),
    };
    let tensor = Some(summary::value::Value::Tensor(tensor_to_proto(c.input(2)?)?));
    let value = summary::Value { tag: tag(c, 3)?, value: tensor, metadata, ..Default::default() };
    write_values(c, Summary { value: vec![value] })
}

static WRITE_SCALAR_SUMMARY: Op = Op {
    name: "WriteScalarSummary",
    doc: "Writes a number.",
    inputs: &["writer: resource", "step: int64", "tag: string", "value: T"],
    attrs: &["T: realnumbertype"],
    kernels: cpu!(write_scalar: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
    ..WRITE
};

fn write_scalar<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let v = c.input(3)?.to_scalar::<T>()?.to_f64() as f32;
    write_value(c, tag(c, 2)?, summary::value::Value::SimpleValue(v))
}

static WRITE_HISTOGRAM_SUMMARY: Op = Op {
    name: "WriteHistogramSummary",
    doc: "Writes a histogram of the values.",
    inputs: &["writer: resource", "step: int64", "tag: string", "values: T"],
    attrs: &[
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, bool} = DT_FLOAT",
    ],
    kernels: cpu!(write_flags for T = Bool, write_histogram: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
    ..WRITE
};

fn write_histogram<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let tag = tag(c, 2)?;
    let histogram = Histogram::of(c.slice::<T>(3)?.iter().map(|v| v.to_f64()), &tag)?.to_proto();
    write_value(c, tag, summary::value::Value::Histo(histogram))
}

fn write_flags(c: &mut OpCall<'_>) -> Result<()> {
    let tag = tag(c, 2)?;
    let histogram =
        Histogram::of(c.slice::<bool>(3)?.iter().map(|v| f64::from(u8::from(*v))), &tag)?.to_proto();
    write_value(c, tag, summary::value::Value::Histo(histogram))
}

static WRITE_IMAGE_SUMMARY: Op = Op {
    name: "WriteImageSummary",
    doc: "Writes up to `max_images` images of the batch.",
    inputs: &["writer: resource", "step: int64", "tag: string", "tensor: T", "bad_color: uint8"],
    attrs: &["max_images: int >= 1 = 3", "T: {uint8, double, float, half} = DT_FLOAT"],
    kernels: cpu!(write_images),
    ..WRITE
};

fn write_images(c: &mut OpCall<'_>) -> Result<()> {
    let most = usize::try_from(c.attrs().int("max_images")?).unwrap_or(0);
    write_values(c, images(&tag(c, 2)?, c.input(3)?, most, c.input(4)?)?)
}

static WRITE_AUDIO_SUMMARY: Op = Op {
    name: "WriteAudioSummary",
    doc: "Writes up to `max_outputs` sounds of the batch.",
    inputs: &["writer: resource", "step: int64", "tag: string", "tensor: float", "sample_rate: float"],
    attrs: &["max_outputs: int >= 1 = 3"],
    kernels: cpu!(write_sounds),
    ..WRITE
};

fn write_sounds(c: &mut OpCall<'_>) -> Result<()> {
    let most = usize::try_from(c.attrs().int("max_outputs")?).unwrap_or(0);
    write_values(c, sounds(&tag(c, 2)?, c.input(3)?, most, c.input(4)?.to_scalar()?)?)
}

static WRITE_GRAPH_SUMMARY: Op = Op {
    name: "WriteGraphSummary",
    doc: "Writes a serialized GraphDef.",
    inputs: &["writer: resource", "step: int64", "tensor: string"],
    kernels: cpu!(write_graph),
    ..WRITE
};

fn write_graph(c: &mut OpCall<'_>) -> Result<()> {
    let graph: Bytes = scalar_bytes(c, 2)?.clone();
    decode::<GraphDef>(graph.clone())?
        .map_err(|e| data_loss(format_args!("Bad tf.GraphDef binary proto tensor string: {e}")))?;
    let step = c.input(1)?.to_scalar::<i64>()?;
    c.resource::<Writer>(0)?.write(|file| file.add(step, What::GraphDef(graph)))
}

static WRITE_RAW_PROTO_SUMMARY: Op = Op {
    name: "WriteRawProtoSummary",
    doc: "Writes the values of serialized Summary messages.",
    inputs: &["writer: resource", "step: int64", "tensor: string"],
    kernels: cpu!(write_raw),
    ..WRITE
};

fn write_raw(c: &mut OpCall<'_>) -> Result<()> {
    let mut all = Summary::default();
    for (i, bytes) in c.input(2)?.strings()?.iter().enumerate() {
        let one: Summary = decode(bytes.clone())?.map_err(|e| {
            data_loss(format_args!("Bad tf.compat.v1.Summary binary proto tensor string at index {i}: {e}"))
        })?;
        reserve::room(&mut all.value, one.value.len())?;
        all.value.extend(one.value);
    }
    write_values(c, all)
}

static IMPORT_EVENT: Op = Op {
    name: "ImportEvent",
    doc: "Writes a serialized Event as it is.",
    inputs: &["writer: resource", "event: string"],
    kernels: cpu!(import),
    ..WRITE
};

fn import(c: &mut OpCall<'_>) -> Result<()> {
    let event: Event = decode(scalar_bytes(c, 1)?.clone())?
        .map_err(|e| data_loss(format_args!("Bad tf.Event binary proto tensor string: {e}")))?;
    c.resource::<Writer>(0)?.write(|file| file.write(&event))
}
