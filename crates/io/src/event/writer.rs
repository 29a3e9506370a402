use super::VERSION;
use crate::durable;
use crate::record::{Compression, RecordWriter};
use std::fs::File;
use std::io::{BufWriter, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use thalweg_core::error::Result;
use thalweg_proto::event::What;
use thalweg_proto::{Event, SourceMetadata, encode};

/// Writes one event file.
pub struct EventWriter {
    out: RecordWriter<BufWriter<File>>,
    path: PathBuf,
}

impl EventWriter {
    /// A new file in a directory, which is created if missing: `events.out.tfevents.<seconds>.<host>` and the suffix.
    pub fn create(directory: &Path, suffix: &str) -> Result<EventWriter> {
        durable::create_directory(directory)?;
        let now = now();
        let base = format!("events.out.tfevents.{:010}.{}", now as u64, host());
        let (path, file) = new_file(directory, &base, suffix)?;
        let out = RecordWriter::new(BufWriter::with_capacity(1 << 16, file), Compression::None);
        let mut writer = EventWriter { out, path };
        writer.write(&Event {
            wall_time: now,
            what: Some(What::FileVersion(VERSION.into())),
            source_metadata: Some(SourceMetadata { writer: "thalweg.io.event".into() }),
            ..Default::default()
        })?;
        // The file is recognised from its start on.
        writer.flush()?;
        Ok(writer)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds an event of a step, at the current time.
    pub fn add(&mut self, step: i64, what: What) -> Result<()> {
        self.write(&Event { wall_time: now(), step, what: Some(what), ..Default::default() })
    }

    pub fn write(&mut self, event: &Event) -> Result<()> {
        self.out.write(&encode(event)).map_err(|e| durable::with_path(&self.path, e))
    }

    /// Flushes the buffer, so that readers see all events so far.
    pub fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(|e| durable::with_path(&self.path, e))
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Creates a file of a new name: two writers may start within one second.
fn new_file(directory: &Path, base: &str, suffix: &str) -> Result<(PathBuf, File)> {
    for attempt in 0u32.. {
        let number = if attempt == 0 { String::new() } else { format!(".{attempt}") };
        let path = directory.join(format!("{base}{number}{suffix}"));
        match File::create_new(&path) {
            Ok(file) => return Ok((path, file)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(durable::with_path(&path, e)),
        }
    }
    Err(durable::with_path(directory, std::io::Error::from(ErrorKind::AlreadyExists)))
}

/// The host name, as far as it is known without libc.
fn host() -> String {
    let named = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = named.or_else(|| std::env::var("HOSTNAME").or_else(|_| std::env::var("COMPUTERNAME")).ok());
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = named.unwrap_or_default().trim().chars().filter(|c| allowed(*c)).collect();
    if name.is_empty() { "localhost".into() } else { name }
}
