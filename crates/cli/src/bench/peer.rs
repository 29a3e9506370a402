//! Peers: Python processes that measure TensorFlow, PyTorch and JAX on request.
//!
//! One process for each interpreter and thread count, because none of them can change that later. A request
//! is one line of tab-separated fields; the answer is a line `variant`, tab, seconds for each framework that supports it, then `end`.

use super::items::{Item, Train, Work};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;
use thalweg_core::error::{Code, Error, Result, deadline_exceeded, internal, not_found};
use thalweg_graph::Graph;
use thalweg_proto::encode;

/// A peer that has not answered by then is started anew: some kernels of TensorFlow take minutes where others take milliseconds.
const LONGEST_ANSWER: Duration = Duration::from_secs(20);
/// Importing the frameworks.
const LONGEST_START: Duration = Duration::from_secs(300);

pub const SCRIPT: &str = include_str!("peers.py");

pub struct Peers {
    processes: Vec<Peer>,
    columns: Vec<String>,
    /// Where graphs are written for them; deleted at the end.
    dir: PathBuf,
    written: HashSet<String>,
}

struct Peer {
    python: PathBuf,
    threads: usize,
    child: Child,
    requests: ChildStdin,
    /// Lines, read by a thread of their own: reading a pipe has no time limit.
    answers: Receiver<String>,
}

impl Peers {
    /// Starts a process for each interpreter and thread count, in parallel, as that takes seconds.
    pub fn start(pythons: &[PathBuf], threads: &[usize]) -> Result<Peers> {
        let dir = std::env::temp_dir().join(format!("thalweg-bench-{}", std::process::id()));
        let mut peers = Peers { processes: Vec::new(), columns: Vec::new(), dir, written: HashSet::new() };
        for python in pythons {
            for threads in threads {
                peers.processes.push(Peer::start(python, *threads)?);
            }
        }
        for peer in &mut peers.processes {
            let offered = peer.offers()?;
            let new: Vec<_> = offered.into_iter().filter(|name| !peers.columns.contains(name)).collect();
            peers.columns.extend(new);
        }
        if !peers.processes.is_empty() {
            std::fs::create_dir_all(&peers.dir)?;
        }
        Ok(peers)
    }

    /// The names of all frameworks.
    pub fn columns(&self) -> Vec<String> {
        self.columns.clone()
    }

    /// One round of every peer that supports this. A peer that does not answer, or dies of it, is started anew and left out.
    pub fn ask(&mut self, item: &Item, seconds: f64) -> Result<Vec<(String, f64)>> {
        if self.processes.is_empty() {
            return Ok(Vec::new());
        }
        let request = match &item.work {
            Work::Build(nodes) => format!("build\t{}\t{nodes}", item.id),
            Work::Train(t) => {
                let path = self.graph_file(&item.id, &t.graph)?;
                let feeds = self.feed_files(&item.id, t)?;
                format!("train\t{}\t{path}\t{}\t{}\t{feeds}\t{seconds}", item.id, t.init, t.target)
            }
            Work::Steps(s) => {
                let path = self.graph_file(&item.id, &s.graph)?;
                let feed = if s.fed { "x:0" } else { "" };
                let fetch = s.fetch.map(|f| format!("{f}:0")).unwrap_or_default();
                let (target, optimise) = (s.target.unwrap_or(""), s.optimise as u8);
                format!("steps\t{}\t{path}\t{feed}\t{fetch}\t{target}\t{optimise}\t{seconds}", item.id)
            }
        };
        let mut answers = Vec::new();
        for peer in self.processes.iter_mut().filter(|p| p.threads == item.threads) {
            match peer.ask(&request) {
                Ok(found) => answers.extend(found),
                Err(e) if matches!(e.code(), Code::DeadlineExceeded | Code::Unavailable) => {
                    eprintln!("{}: {e}", item.name);
                    peer.restart()?;
                }
                Err(e) => return Err(e),
            }
        }
        Ok(answers)
    }

    /// Ends the sessions of an item that is not asked for again.
    pub fn forget(&mut self, item: &Item) -> Result<()> {
        for peer in self.processes.iter_mut().filter(|p| p.threads == item.threads) {
            peer.ask(&format!("forget\t{}", item.id))?;
        }
        if self.written.remove(&item.id) {
            std::fs::remove_file(self.dir.join(format!("{}.pb", item.id)))?;
        }
        Ok(())
    }

    /// `x:0=FILE,y:0=FILE`: the tensors that are fed.
    fn feed_files(&mut self, id: &str, train: &Train) -> Result<String> {
        let mut listed = Vec::new();
        for (i, (name, value)) in train.feeds.iter().enumerate() {
            let path = self.dir.join(format!("{id}.{i}.npy"));
            if self.written.insert(format!("{id}.{i}")) {
                std::fs::write(&path, thalweg_io::npy::write(value)?)?;
            }
            listed.push(format!("{name}={}", path.display()));
        }
        Ok(listed.join(","))
    }

    fn graph_file(&mut self, id: &str, graph: &Graph) -> Result<String> {
        let path = self.dir.join(format!("{id}.pb"));
        if self.written.insert(id.to_string()) {
            std::fs::write(&path, encode(&graph.to_def(Default::default())?))?;
        }
        Ok(path.display().to_string())
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        for peer in &mut self.processes {
            peer.end();
        }
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

impl Peer {
    fn start(python: &Path, threads: usize) -> Result<Peer> {
        let mut child = Command::new(python)
            .args(["-c", SCRIPT, "serve", &threads.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| Error::from(e).context(python.display()))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (requests, output) = pipes.ok_or_else(|| internal("a child without pipes"))?;
        let (lines, answers) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(std::io::Result::ok) {
                if lines.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Peer { python: python.to_path_buf(), threads, child, requests, answers })
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn restart(&mut self) -> Result<()> {
        self.end();
        *self = Peer::start(&self.python, self.threads)?;
        self.offers()?;
        Ok(())
    }

    /// Its first answer: the names of the frameworks that it can measure.
    fn offers(&mut self) -> Result<Vec<String>> {
        let names: Vec<String> = self.answer(LONGEST_START)?.into_iter().map(|(name, _)| name).collect();
        if names.is_empty() {
            let python = self.python.display();
            return Err(not_found(format_args!("{python} has neither tensorflow nor torch nor jax")));
        }
        Ok(names)
    }

    fn ask(&mut self, request: &str) -> Result<Vec<(String, f64)>> {
        writeln!(self.requests, "{request}")
            .and_then(|()| self.requests.flush())
            .map_err(|_| self.ended())?;
        self.answer(LONGEST_ANSWER)
    }

    fn ended(&self) -> Error {
        Error::new(Code::Unavailable, format_args!("{} ended before it had answered", self.python.display()))
    }

    fn answer(&mut self, limit: Duration) -> Result<Vec<(String, f64)>> {
        let mut found = Vec::new();
        loop {
            let line = self.answers.recv_timeout(limit).map_err(|e| match e {
                RecvTimeoutError::Disconnected => self.ended(),
                RecvTimeoutError::Timeout => {
                    let python = self.python.display();
                    deadline_exceeded(format_args!("{python} has not answered within {} s", limit.as_secs()))
                }
            })?;
            if line == "end" {
                return Ok(found);
            }
            // Libraries may print other lines.
            if let Some((name, seconds)) = line.trim_end().split_once('\t')
                && let Ok(seconds) = seconds.parse()
            {
                found.push((name.to_string(), seconds));
            }
        }
    }
}
