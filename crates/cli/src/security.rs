//! Flags of `server`, `proxy` and the tasks of `train` for certificates, tokens and limits.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use thalweg_core::access::Directories;
use thalweg_core::error::{Error, Result};
use thalweg_dist::{Credentials, Security, TlsFiles};

/// Certificates and tokens.
#[derive(clap::Args, Clone)]
pub struct CredentialArgs {
    /// The certificate to present, in PEM format, followed by its intermediate certificates
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = SECURITY)]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM format
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = SECURITY)]
    tls_key: Option<PathBuf>,
    /// The certificate authorities that peers are verified against, in PEM format. A server with it requires client certificates; without
    /// --token-file, each has the role cluster
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    tls_ca: Option<PathBuf>,
    /// A file with a token on each line, as ROLE:TOKEN. A server requires one of them in each call, and sends the strongest to other tasks.
    /// Roles: run (its own sessions), cluster (also calls between tasks), admin (also Reset, and sessions of others). A token
    /// without a role has the role admin
    #[arg(long, value_name = "FILE", help_heading = SECURITY)]
    token_file: Option<PathBuf>,
}

const SECURITY: &str = "Security";

impl CredentialArgs {
    fn tls(&self) -> TlsFiles {
        TlsFiles { cert: self.tls_cert.clone(), key: self.tls_key.clone(), ca: self.tls_ca.clone() }
    }

    /// For a client: the environment supplies what flags do not.
    pub fn credentials(&self) -> Credentials {
        let (given, env) = (self.tls(), Credentials::from_env());
        Credentials {
            // A certificate and its key belong together.
            tls: TlsFiles {
                key: if given.cert.is_some() { given.key } else { env.tls.key },
                cert: given.cert.or(env.tls.cert),
                ca: given.ca.or(env.tls.ca),
            },
            token_file: self.token_file.clone().or(env.token_file),
        }
    }

    /// For a server, which does not use the environment: that may be meant for clients.
    pub fn security(&self) -> Security {
        Security { tls: self.tls(), token_file: self.token_file.clone(), ..Default::default() }
    }

    /// `grpcs` if a server with these uses TLS, else `grpc`.
    pub fn scheme(&self) -> &'static str {
        if self.tls_cert.is_some() { "grpcs" } else { "grpc" }
    }

    pub fn is_empty(&self) -> bool {
        self.tls().is_empty() && self.token_file.is_none()
    }
}

/// How a server is secured.
#[derive(clap::Args)]
pub struct SecurityArgs {
    #[command(flatten)]
    pub credentials: CredentialArgs,
    /// A directory that graphs may read files in; may be given several times. [default: everything if bound to a loopback address, else the
    /// working directory. With any --allow-read or --allow-write: those alone]
    #[arg(long, value_name = "DIR", help_heading = SECURITY)]
    allow_read: Vec<PathBuf>,
    /// A directory that graphs may read and write files in; may be given several times
    #[arg(long, value_name = "DIR", help_heading = SECURITY)]
    allow_write: Vec<PathBuf>,
    /// Addresses that the cluster_def of a session may contain, in addition to those of the server's own cluster; '*' is any. [default: any if bound to
    /// a loopback address without a token, else none]
    #[arg(long, value_name = "HOST:PORT", num_args = 1.., help_heading = SECURITY)]
    allow_connect: Option<Vec<String>>,
    /// Do not start if others can connect and there is no TLS, or neither a token nor --tls-ca
    #[arg(long, help_heading = SECURITY)]
    strict: bool,
}

impl SecurityArgs {
    pub fn security(&self) -> Security {
        let named = !self.allow_read.is_empty() || !self.allow_write.is_empty();
        let files = Directories { read: self.allow_read.clone(), write: self.allow_write.clone() };
        Security {
            files: named.then_some(files),
            connect: self.allow_connect.clone(),
            strict: self.strict,
            ..self.credentials.security()
        }
    }

    /// Whether calls may be rejected, which is then worth logging.
    pub fn may_reject(&self, address: IpAddr) -> bool {
        !address.is_loopback() || !self.credentials.is_empty() || self.security().files.is_some()
    }
}

/// Warns on standard error about listening on this address.
pub fn warn(security: &Security, address: IpAddr) {
    for why in security.exposures(address) {
        eprintln!("warning: listening on {address}: {why}");
    }
}

/// As `security`, for a task of `train`, whose graph writes checkpoints into its folder.
pub fn of_task(credentials: &CredentialArgs, address: IpAddr, logdir: Option<&Path>) -> Result<Security> {
    let mut security = credentials.security();
    if !address.is_loopback() {
        let mut write = vec![std::env::current_dir().map_err(Error::from)?];
        if let Some(logdir) = logdir {
            std::fs::create_dir_all(logdir).map_err(|e| Error::from(e).context(logdir.display()))?;
            write.push(logdir.to_path_buf());
        }
        security.files = Some(Directories { read: Vec::new(), write });
    }
    Ok(security)
}
