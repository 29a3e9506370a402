//! TLS for servers, for links between tasks and for clients: rustls 1.2 and 1.3, HTTP/2 by ALPN, certificates from PEM files.
//!
//! Peers are verified against the given authorities, never against those of the system: clusters have their own.

use crate::net::http2::Socket;
use ring::digest::{SHA256, digest};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use thalweg_core::error::{Code, Error, Result};
use thalweg_core::invalid;
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig, crypto};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Files in PEM form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TlsFiles {
    /// The certificate chain: the leaf first.
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// The authorities that peers are verified against.
    pub ca: Option<PathBuf>,
}

/// Timeout of the handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
const HTTP2: &[u8] = b"h2";

impl TlsFiles {
    pub fn is_empty(&self) -> bool {
        *self == TlsFiles::default()
    }

    /// The server's end. With authorities, clients must have certificates of theirs.
    pub fn acceptor(&self) -> Result<TlsAcceptor> {
        let (chain, key) = self.identity()?.ok_or_else(|| {
            invalid!("a server with TLS needs a certificate and its key: give --tls-cert and --tls-key")
        })?;
        let provider = Arc::new(crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider.clone());
        let config = config.with_safe_default_protocol_versions().map_err(bad)?;
        let config = match self.authorities()? {
            Some(roots) => {
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                config.with_client_cert_verifier(verifier.build().map_err(bad)?)
            }
            None => config.with_no_client_auth(),
        };
        let mut config = config.with_single_cert(chain, key).map_err(bad)?;
        config.alpn_protocols = vec![HTTP2.to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// The client's end; a server may ask for the certificate.
    pub fn connector(&self) -> Result<TlsConnector> {
        let roots = self.authorities()?.ok_or_else(|| {
            invalid!(
                "TLS needs the authorities that servers are verified against: give --tls-ca, or THALWEG_TLS_CA in the environment"
            )
        })?;
        let config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().map_err(bad)?.with_root_certificates(roots);
        let mut config = match self.identity()? {
            Some((chain, key)) => config.with_client_auth_cert(chain, key).map_err(bad)?,
            None => config.with_no_client_auth(),
        };
        config.alpn_protocols = vec![HTTP2.to_vec()];
        Ok(TlsConnector::from(Arc::new(config)))
    }

    fn identity(&self) -> Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>> {
        match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => {
                let key = PrivateKeyDer::from_pem_file(key).map_err(|e| unreadable(key, e))?;
                Ok(Some((certificates(cert)?, key)))
            }
            (None, None) => Ok(None),
            _ => Err(invalid!(
                "a certificate and its key belong together: give both, --tls-cert and --tls-key"
            )),
        }
    }

    fn authorities(&self) -> Result<Option<RootCertStore>> {
        let Some(path) = &self.ca else { return Ok(None) };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(path)? {
            roots.add(certificate).map_err(|e| bad(e).context(path.display()))?;
        }
        Ok(Some(roots))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let all = CertificateDer::pem_file_iter(path)
        .and_then(|found| found.collect::<std::result::Result<Vec<_>, _>>());
    match all.map_err(|e| unreadable(path, e))? {
        none if none.is_empty() => Err(invalid!("{} has no certificate in PEM form", path.display())),
        all => Ok(all),
    }
}

fn unreadable(path: &Path, e: impl std::fmt::Display) -> Error {
    invalid!("{}: {e}", path.display())
}

fn bad(e: impl std::fmt::Display) -> Error {
    invalid!("TLS: {e}")
}

/// Handshake with a client; returns the fingerprint of its certificate, if it has one.
pub async fn accept(
    acceptor: &TlsAcceptor,
    tcp: TcpStream,
    stall_timeout: Duration,
) -> std::io::Result<(Socket, Option<Arc<str>>)> {
    let stream = tokio::time::timeout(stall_timeout.min(HANDSHAKE_TIME), acceptor.accept(tcp)).await??;
    let shown = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
    let fingerprint = shown.map(|certificate| fingerprint(certificate));
    Ok((Socket::from(Box::new(stream)), fingerprint))
}

/// Handshake with a server, whose certificate must have the name in the address.
pub async fn connect(connector: &TlsConnector, address: &str, tcp: TcpStream) -> Result<Socket> {
    let host = address.rsplit_once(':').map_or(address, |a| a.0).trim_matches(['[', ']']);
    let name = ServerName::try_from(host.to_string())
        .map_err(|_| invalid!("'{host}' is not a name that a certificate can have"))?;
    let unavailable = |e: &dyn std::fmt::Display| {
        Error::new(Code::Unavailable, format_args!("no TLS with grpcs://{address}: {e}"))
    };
    let stream = tokio::time::timeout(HANDSHAKE_TIME, connector.connect(name, tcp))
        .await
        .map_err(|_| unavailable(&format!("no answer within {HANDSHAKE_TIME:?}")))?
        .map_err(|e| unavailable(&e))?;
    Ok(Socket::from(Box::new(stream)))
}

/// `sha256:` and the digest of a certificate.
fn fingerprint(certificate: &CertificateDer<'_>) -> Arc<str> {
    let bytes = digest(&SHA256, certificate);
    let hex: String = bytes.as_ref().iter().map(|b| format!("{b:02x}")).collect();
    format!("sha256:{hex}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_certificate_is_told_so() {
        let path = std::env::temp_dir().join(format!("thalweg-no-certificate-{}", std::process::id()));
        std::fs::write(&path, "nothing of the kind\n").unwrap();
        let e = certificates(&path).unwrap_err();
        assert!(e.message().ends_with("has no certificate in PEM form"), "{e}");
        std::fs::remove_file(&path).unwrap();
        assert!(certificates(&path).is_err());
    }

    #[test]
    fn a_certificate_is_known_by_its_digest() {
        let empty = fingerprint(&CertificateDer::from(Vec::new()));
        assert_eq!(&*empty, "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
