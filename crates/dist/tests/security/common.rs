//! Servers with tokens and certificates, and their clients.

use crate::certificates::Authority;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use thalweg_core::error::{Code, Result};
use thalweg_core::tensor::Tensor;
use thalweg_dist::{Credentials, RemoteRunOptions, RemoteSession, Security, Server, ServerOptions, TlsFiles};
use thalweg_graph::Graph;
use thalweg_io::scratch::Scratch;
use thalweg_proto::{ConfigProto, text};

pub const CONSTANT: &str = "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
    attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 3 } } } }";

pub fn server(security: Security) -> Server {
    server_with(ServerOptions { security, ..Default::default() })
}

pub fn server_with(options: ServerOptions) -> Server {
    let options = ServerOptions { threads: 2, drain: Duration::ZERO, ..options };
    Server::start(Arc::new(thalweg_ops::registry()), options).unwrap()
}

pub fn graph(pbtxt: &str) -> Graph {
    let def = text::parse_graph_def(pbtxt).unwrap();
    Graph::from_def(Arc::new(thalweg_ops::registry()), &def).unwrap()
}

pub fn connect(credentials: &Credentials, target: &str, pbtxt: &str) -> Result<RemoteSession> {
    RemoteSession::connect_as(credentials, target, &graph(pbtxt), ConfigProto::default())
}

/// Fetches the constant of this server with these credentials, or the error's code.
pub fn ask(credentials: &Credentials, target: &str) -> std::result::Result<f32, Code> {
    let asked = connect(credentials, target, CONSTANT).and_then(|s| run(&s, &[], &["c:0"], &[]));
    asked.map(|values| values[0].to_scalar().unwrap()).map_err(|e| e.code())
}

/// A step with a timeout, for tests that hang.
pub fn run(
    session: &RemoteSession,
    feeds: &[(&str, Tensor)],
    fetches: &[&str],
    targets: &[&str],
) -> Result<Vec<Tensor>> {
    let owned = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
    let feeds: Vec<_> = feeds.iter().map(|(n, t)| (n.to_string(), t.clone())).collect();
    let options = RemoteRunOptions { timeout: Some(Duration::from_secs(60)), ..Default::default() };
    session.run(&feeds, &owned(fetches), &owned(targets), &options).map(|r| r.0)
}

/// A folder with an authority, and certificates of it.
pub struct Secrets {
    pub folder: Scratch,
    pub authority: Authority,
}

pub const RUN: &str = "run-token-0123456789";
pub const OTHER: &str = "other-token-0123456789";
pub const ADMIN: &str = "admin-token-0123456789";

impl Secrets {
    pub fn new() -> Secrets {
        let folder = Scratch::new();
        let authority = Authority::new(folder.root(), "ca");
        authority.sign("server", &["localhost", "127.0.0.1"], 4000);
        authority.sign("client", &["client"], 4000);
        Secrets { folder, authority }
    }

    /// The files of a certificate of this name, and the authority.
    pub fn files(&self, name: &str) -> TlsFiles {
        let path = |end: &str| Some(self.folder.path(&format!("{name}.{end}")));
        TlsFiles { cert: path("pem"), key: path("key"), ca: Some(self.authority.path()) }
    }

    /// The authority's file only.
    pub fn ca(&self) -> TlsFiles {
        TlsFiles { ca: Some(self.authority.path()), ..Default::default() }
    }

    pub fn file(&self, name: &str, contents: &str) -> PathBuf {
        let path = self.folder.path(name);
        std::fs::write(&path, contents).unwrap();
        path
    }

    /// A file with two run tokens and an admin token.
    pub fn tokens(&self) -> PathBuf {
        self.file("tokens", &format!("run:{RUN}\nrun:{OTHER}\nadmin:{ADMIN}\n"))
    }

    /// A client with this token, without TLS.
    pub fn token(&self, token: &str) -> Credentials {
        Credentials { token_file: Some(self.file(&format!("{token}.txt"), token)), ..Default::default() }
    }
}

pub fn plain(server: &Server) -> String {
    format!("grpc://{}", server.address())
}

pub fn secure(server: &Server) -> String {
    format!("grpcs://{}", server.address())
}

/// A path as a string tensor.
pub fn name(path: &Path) -> Tensor {
    Tensor::string(path.to_str().unwrap().as_bytes().to_vec())
}
