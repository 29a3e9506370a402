//! Credentials of clients and of tasks that call others: certificates and tokens.

use crate::auth::Tokens;
use crate::net::http2::Socket;
use crate::net::tls::{self, TlsFiles};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use thalweg_core::error::{Code, Error, Result};
use thalweg_core::invalid;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A client's credential files.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// For targets that begin with `grpcs://`.
    pub tls: TlsFiles,
    /// Sent with each call: the first token of the strongest role.
    pub token_file: Option<PathBuf>,
}

impl Credentials {
    /// From THALWEG_TLS_CA, THALWEG_TLS_CERT, THALWEG_TLS_KEY and THALWEG_TOKEN_FILE.
    pub fn from_env() -> Credentials {
        Credentials::named_by(|name| std::env::var_os(name))
    }

    fn named_by(variable: impl Fn(&str) -> Option<OsString>) -> Credentials {
        let path = |name: &str| variable(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        Credentials {
            tls: TlsFiles {
                cert: path("THALWEG_TLS_CERT"),
                key: path("THALWEG_TLS_KEY"),
                ca: path("THALWEG_TLS_CA"),
            },
            token_file: path("THALWEG_TOKEN_FILE"),
        }
    }

    /// The address of a target, and the credentials for it.
    pub fn resolve(&self, target: &str) -> Result<(String, Outgoing)> {
        let (address, secure) = match (target.strip_prefix("grpcs://"), target.strip_prefix("grpc://")) {
            (Some(address), _) => (address, true),
            (None, Some(address)) => (address, false),
            (None, None) => (target, false),
        };
        if address == target || !address.contains(':') {
            return Err(invalid!(
                "'{target}' is not an address: it must look like grpc://host:port, or grpcs://host:port for TLS"
            ));
        }
        let tls = secure.then(|| self.tls.connector()).transpose()?;
        let tokens = self.token_file.as_deref().map(Tokens::read).transpose()?;
        Ok((address.to_string(), Outgoing::new(tls, tokens.as_ref())))
    }
}

/// Timeout to connect.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Credentials, loaded.
#[derive(Clone, Default)]
pub struct Outgoing {
    tls: Option<TlsConnector>,
    /// `Bearer TOKEN`.
    pub authorization: Option<Arc<str>>,
}

impl Outgoing {
    pub fn new(tls: Option<TlsConnector>, tokens: Option<&Tokens>) -> Outgoing {
        Outgoing { tls, authorization: tokens.map(|t| format!("Bearer {}", t.own()).into()) }
    }

    pub fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// Connects to `host:port`.
    pub async fn dial(&self, address: &str) -> Result<Socket> {
        let unavailable = |e: &dyn std::fmt::Display| {
            Error::new(Code::Unavailable, format_args!("cannot reach grpc://{address}: {e}"))
        };
        let tcp = tokio::time::timeout(CONNECT_TIME, TcpStream::connect(address))
            .await
            .map_err(|_| unavailable(&format!("no answer within {CONNECT_TIME:?}")))?
            .map_err(|e| unavailable(&e))?;
        let socket = self.secure(address, tcp).await?;
        socket.set_nodelay().map_err(Error::from)?;
        Ok(socket)
    }

    async fn secure(&self, address: &str, tcp: TcpStream) -> Result<Socket> {
        if let Some(connector) = &self.tls {
            return tls::connect(connector, address, tcp).await;
        }
        if self.authorization.is_some() && !tcp.peer_addr().map_err(Error::from)?.ip().is_loopback() {
            return Err(invalid!(
                "the token would go to {address} for all on the way to read: use TLS, with grpcs:// and --tls-ca"
            ));
        }
        Ok(tcp.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_rustls::rustls::crypto::ring::default_provider;
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};

    #[test]
    fn the_environment_names_files_and_empty_names_none() {
        let set = Credentials::named_by(|name| Some(name.to_lowercase().into()));
        let files = ["thalweg_tls_cert", "thalweg_tls_key", "thalweg_tls_ca"].map(|n| Some(PathBuf::from(n)));
        let [cert, key, ca] = files;
        assert_eq!(set.tls, TlsFiles { cert, key, ca });
        assert_eq!(set.token_file, Some("thalweg_token_file".into()));
        for unset in [Credentials::named_by(|_| Some("".into())), Credentials::named_by(|_| None)] {
            assert!(unset.tls.is_empty() && unset.token_file.is_none());
        }
    }

    #[test]
    fn connections_with_tls_say_so() {
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        let tls = TlsConnector::from(Arc::new(config));
        assert!(Outgoing::new(Some(tls), None).is_secure() && !Outgoing::default().is_secure());
    }

    /// Runs itself as a child process: this one's environment is shared by all tests.
    #[test]
    fn credentials_are_those_of_the_environment() {
        const TOKENS: &str = "THALWEG_TOKEN_FILE";
        if std::env::var_os("THALWEG_TEST_TELL").is_some() {
            return eprintln!("tokens in {:?}", Credentials::from_env().token_file);
        }
        let mut itself = std::process::Command::new(std::env::current_exe().unwrap());
        let name = "net::credentials::tests::credentials_are_those_of_the_environment";
        itself.args(["--exact", name, "--nocapture"]).env("THALWEG_TEST_TELL", "").env(TOKENS, "a file");
        let told = String::from_utf8(itself.output().unwrap().stderr).unwrap();
        assert!(told.contains("tokens in Some(\"a file\")"), "{told}");
    }
}
