//! One task: a process, and the relay of its output.

use super::cluster::Planned;
use crate::tf_config::TF_CONFIG;
use crate::train::PROGRESS_PREFIX;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use thalweg_core::error::{Error, Result, not_found};

/// What the tasks run.
pub struct Program {
    path: PathBuf,
    args: Vec<OsString>,
}

impl Program {
    /// `train` is our own, anything else the path of a program, or its name in PATH.
    pub fn new(mut command: Vec<OsString>) -> Result<Program> {
        let first = command.first().cloned().unwrap_or_default();
        if first == "train" {
            return Ok(Program { path: crate::own_program().map_err(Error::from)?, args: command });
        }
        command.remove(0);
        let path = PathBuf::from(first);
        let found = match path.components().count() {
            1 => std::env::var_os("PATH")
                .iter()
                .flat_map(std::env::split_paths)
                .any(|d| d.join(&path).is_file()),
            _ => path.is_file(),
        };
        if !found {
            let where_ = if path.components().count() == 1 { "in PATH" } else { "there" };
            return Err(not_found(format_args!(
                "there is no program '{}' {where_}; tasks run `train` and its arguments, or a program such as ./my-program",
                path.display()
            )));
        }
        Ok(Program { path, args: command })
    }
}

pub struct Task {
    pub plan: Planned,
    /// The prefix of its output lines.
    prefix: Arc<str>,
    child: Option<Child>,
    readers: Vec<JoinHandle<()>>,
    /// Progress lines so far.
    pub progress: Arc<AtomicU64>,
}

/// Colours that are readable on light and dark terminals.
const COLOURS: [u8; 6] = [36, 33, 32, 35, 34, 31];

impl Task {
    pub fn new(plan: Planned, number: usize, width: usize, progress: Arc<AtomicU64>) -> Task {
        let name = format!("{:<width$} │ ", plan.name);
        let prefix = match std::io::stdout().is_terminal() {
            true => format!("\x1b[{}m{name}\x1b[0m", COLOURS[number % COLOURS.len()]),
            false => name,
        };
        Task { plan, prefix: prefix.into(), child: None, readers: Vec::new(), progress }
    }

    pub fn start(&mut self, program: &Program) -> Result<()> {
        let mut child = Command::new(&program.path)
            .args(&program.args)
            .env(TF_CONFIG, &self.plan.tf_config)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| Error::from(e).context(format_args!("starting {}", self.plan.name)))?;
        if let Some(out) = child.stdout.take() {
            self.relay(out, std::io::stdout());
        }
        if let Some(err) = child.stderr.take() {
            self.relay(err, std::io::stderr());
        }
        self.child = Some(child);
        Ok(())
    }

    /// Copies lines, each with the prefix.
    fn relay(&mut self, from: impl Read + Send + 'static, mut to: impl Write + Send + 'static) {
        let (prefix, progress) = (self.prefix.clone(), self.progress.clone());
        let relay = move || {
            let mut lines = BufReader::new(from);
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                if line.starts_with(PROGRESS_PREFIX.as_bytes()) {
                    progress.fetch_add(1, Ordering::Relaxed);
                }
                let mut whole = prefix.as_bytes().to_vec();
                whole.append(&mut line);
                if whole.last() != Some(&b'\n') {
                    whole.push(b'\n');
                }
                // One write per line, so that lines do not interleave. A closed output does not stop the task.
                let _ = to.write_all(&whole).and_then(|()| to.flush());
            }
        };
        self.readers.push(std::thread::spawn(relay));
    }

    /// The exit status, once, after it has exited.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        let Some(child) = &mut self.child else { return Ok(None) };
        let status = child.try_wait().map_err(Error::from)?;
        if status.is_some() {
            self.child = None;
            // Its last output is relayed first.
            for reader in self.readers.drain(..) {
                let _ = reader.join();
            }
        }
        Ok(status)
    }

    pub fn is_running(&self) -> bool {
        self.child.is_some()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = self.child.as_ref().and_then(|c| rustix::process::Pid::from_raw(c.id() as i32));
        if let Some(pid) = pid {
            // It may have exited already.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
