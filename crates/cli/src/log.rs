//! Flags for the log of servers: levels, format, file.

use crate::failure::{Failure, Outcome};
use std::fs::OpenOptions;
use std::path::PathBuf;
use thalweg_core::error::{Error, Result};
use thalweg_dist::log::{Format, Level, Log};
use thalweg_io::durable;

#[derive(clap::Args)]
#[command(next_help_heading = "Log")]
pub struct LogArgs {
    /// What to log, one line per event: off, warn, info or debug, and levels of parts: warn,net=debug. Parts: net, auth, cluster, master,
    /// worker [default: off; warn, which logs rejected calls, if others can connect or a flag under Security is given]
    #[arg(long, value_name = "LEVELS")]
    log: Option<String>,
    /// key=value pairs, or JSON; times are RFC 3339
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// The file that the log, and all else on standard error, is appended to. SIGHUP reopens it, after it was rotated
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

impl LogArgs {
    /// The log, with its file open; `default` is the level without `--log`.
    pub fn open(&self, default: Level) -> Outcome<Log> {
        let log = match &self.log {
            None => Log::at(default),
            Some(spec) => Log::parse(spec).map_err(|e| Failure::Usage(e.context("--log")))?,
        };
        self.redirect()?;
        Ok(log.format(match self.log_format {
            LogFormat::Text => Format::Text,
            LogFormat::Json => Format::Json,
        }))
    }

    /// On SIGHUP.
    pub fn reopen(&self, log: &Log) {
        match self.redirect() {
            Ok(()) => log.info("log_reopened", &[]),
            Err(e) => log.warn("log_not_reopened", &[("error", &e)]),
        }
    }

    fn redirect(&self) -> Result<()> {
        let Some(path) = &self.log_file else { return Ok(()) };
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .map_err(|e| durable::with_path(path, e))?;
        rustix::stdio::dup2_stderr(&file).map_err(|e| Error::from(std::io::Error::from(e)))
    }
}
