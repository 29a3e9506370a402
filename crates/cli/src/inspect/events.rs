//! Event files: what was recorded, per tag.

use super::{count, titled};
use std::collections::BTreeMap;
use std::path::PathBuf;
use thalweg_core::error::Result;
use thalweg_io::event::EventReader;
use thalweg_io::message::decode;
use thalweg_proto::event::What;
use thalweg_proto::summary::value::Value;
use thalweg_proto::{Event, GraphDef, Summary};

/// What one tag recorded.
struct Series {
    kind: &'static str,
    values: usize,
    first_step: i64,
    last_step: i64,
    last: String,
}

#[derive(Default)]
struct Found {
    events: usize,
    tags: BTreeMap<String, Series>,
    notes: Vec<String>,
}

pub fn show(files: &[PathBuf]) -> Result<String> {
    let mut found = Found::default();
    for file in files {
        for event in EventReader::open(file)? {
            match event {
                Ok(event) => found.add(event),
                // A file that is still being written may end within an event.
                Err(e) => found.notes.push(e.message().to_string()),
            }
        }
    }
    let row = |(tag, s): (&String, &Series)| {
        let steps = format!("{} to {}", s.first_step, s.last_step);
        vec![tag.clone(), s.kind.into(), s.values.to_string(), steps, s.last.clone()]
    };
    let mut text = format!("{}, {}\n", count(files.len(), "event file"), count(found.events, "event"));
    if !found.tags.is_empty() {
        text.push('\n');
        let headings = ["tag", "kind", "values", "steps", "last value"];
        text.push_str(&titled(&headings, "LLRLL", found.tags.iter().map(row)));
    }
    found.notes.iter().for_each(|note| text.extend([note, "\n"]));
    Ok(text)
}

impl Found {
    fn add(&mut self, event: Event) {
        self.events += 1;
        match event.what {
            Some(What::Summary(summary)) => self.add_summary(event.step, summary),
            Some(What::GraphDef(bytes)) => match decode::<GraphDef>(bytes) {
                Ok(Ok(g)) => self.notes.push(format!("graph of {}", count(g.node.len(), "node"))),
                Ok(Err(e)) => self.notes.push(format!("a graph that cannot be read: {e}")),
                Err(e) => self.notes.push(format!("a graph that cannot be read: {e}")),
            },
            Some(What::TaggedRunMetadata(m)) => {
                self.notes.push(format!("metadata of a step: {} at step {}", m.tag, event.step));
            }
            Some(What::LogMessage(m)) => self.notes.push(format!("message: {}", m.message)),
            _ => {}
        }
    }

    fn add_summary(&mut self, step: i64, summary: Summary) {
        for v in summary.value {
            let (kind, last) = match v.value {
                Some(Value::SimpleValue(n)) => ("scalar", n.to_string()),
                Some(Value::Histo(h)) => ("histogram", format!("{} in [{}, {}]", h.num, h.min, h.max)),
                Some(Value::Image(i)) => ("image", format!("{} x {}", i.width, i.height)),
                Some(Value::Audio(a)) => ("audio", format!("{} frames", a.length_frames)),
                Some(Value::Tensor(t)) => ("tensor", short(&t)),
                Some(Value::ObsoleteOldStyleHistogram(_)) | None => ("other", String::new()),
            };
            let fresh = || Series { kind, values: 0, first_step: step, last_step: step, last: String::new() };
            let series = self.tags.entry(v.tag).or_insert_with(fresh);
            series.values += 1;
            series.last_step = step;
            series.last = last;
        }
    }
}

fn short(t: &thalweg_proto::TensorProto) -> String {
    match thalweg_io::wire::tensor_from_proto(t) {
        Ok(t) if t.elements() == 1 && t.dtype().is_plain() => t.to_string(),
        Ok(t) => format!("{} {}", t.dtype(), t.shape()),
        Err(e) => e.message().to_string(),
    }
}
