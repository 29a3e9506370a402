//! Security of a server: authentication, file access of graphs, outgoing connections.

use crate::auth::{Gate, Tokens};
use crate::cluster::{ClusterSpec, Reach};
use crate::log::Log;
use crate::net::credentials::Outgoing;
use crate::net::tls::TlsFiles;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thalweg_core::access::{Access, Directories};
use thalweg_core::error::{Error, Result, failed_precondition};
use thalweg_core::invalid;
use tokio_rustls::TlsAcceptor;

/// Security options. By default, a server on a loopback address allows every client of the machine what TensorFlow's
/// does; on another address its graphs may use the working directory only, and it connects to its own cluster only.
#[derive(Clone, Debug, Default)]
pub struct Security {
    pub tls: TlsFiles,
    pub token_file: Option<PathBuf>,
    /// Files of graphs; the default depends on the address.
    pub files: Option<Directories>,
    /// Addresses allowed in sessions' clusters, beside the server's own cluster; the default depends on the address.
    pub connect: Option<Vec<String>>,
    /// Rejects a server open to the network without TLS or without authentication.
    pub strict: bool,
}

/// The same, loaded.
pub struct Guard {
    pub gate: Arc<Gate>,
    pub acceptor: Option<TlsAcceptor>,
    pub outgoing: Outgoing,
    pub access: Arc<Access>,
    pub reach: Reach,
    /// Whether callers are authenticated by certificates.
    pub certificates: bool,
}

impl Security {
    /// Why listening on this address is insecure.
    pub fn exposures(&self, address: IpAddr) -> Vec<&'static str> {
        let beyond = !address.is_loopback();
        let nobody = "without a token or client certificates whoever can connect can run anything: give --token-file, or --tls-ca";
        let open =
            "without TLS what is sent can be read and changed on its way: give --tls-cert and --tls-key";
        let authenticates = self.token_file.is_some() || self.tls.ca.is_some();
        let mut found = Vec::new();
        found.extend((beyond && !authenticates).then_some(nobody));
        found.extend((beyond && self.tls.cert.is_none()).then_some(open));
        found
    }

    pub fn load(&self, address: IpAddr, cluster: &ClusterSpec, log: Log) -> Result<Guard> {
        self.check(address, log)?;
        let tokens = self.token_file.as_deref().map(Tokens::read).transpose()?;
        let acceptor = (!self.tls.is_empty()).then(|| self.tls.acceptor()).transpose()?;
        let connector =
            (acceptor.is_some() && self.tls.ca.is_some()).then(|| self.tls.connector()).transpose()?;
        if acceptor.is_some() && connector.is_none() && !cluster.is_empty() {
            return Err(invalid!("the tasks of a cluster with TLS verify each other: give --tls-ca"));
        }
        let open = address.is_loopback();
        Ok(Guard {
            outgoing: Outgoing::new(connector, tokens.as_ref()),
            // Tokens are sent to all tasks that it connects to.
            reach: match &self.connect {
                None if open && tokens.is_none() => Reach::default(),
                more => Reach::only(cluster, more.as_deref().unwrap_or_default()),
            },
            access: Arc::new(self.access(open)?),
            gate: Arc::new(Gate::new(tokens, log)),
            certificates: acceptor.is_some() && self.tls.ca.is_some(),
            acceptor,
        })
    }

    fn check(&self, address: IpAddr, log: Log) -> Result<()> {
        for why in self.exposures(address) {
            if self.strict {
                return Err(failed_precondition(format_args!(
                    "--strict, and the server would listen on {address}: {why}"
                )));
            }
            log.warn("exposed", &[("address", &address), ("why", &why)]);
        }
        Ok(())
    }

    fn access(&self, open: bool) -> Result<Access> {
        let directories = match &self.files {
            None if open => return Ok(Access::Everything),
            None => {
                let here = std::env::current_dir().map_err(Error::from)?;
                Directories { read: Vec::new(), write: vec![here] }
            }
            Some(links_passing) => links_passing.clone(),
        };
        let all = |paths: &[PathBuf]| paths.iter().map(|p| real(p)).collect::<Result<Vec<_>>>();
        Ok(Access::Only(Directories { read: all(&directories.read)?, write: all(&directories.write)? }))
    }
}

/// The canonical path of a directory: access checks compare canonical paths.
fn real(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|e| {
        Error::from(e)
            .context(format_args!("{}: a directory that graphs may use must be there", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::error::Code;

    const LOOPBACK: [u8; 4] = [127, 0, 0, 1];
    const ALL: [u8; 4] = [0, 0, 0, 0];

    fn load(security: &Security, address: [u8; 4]) -> Result<Guard> {
        security.load(address.into(), &ClusterSpec::default(), Log::default())
    }

    #[test]
    fn graphs_stay_in_the_working_directory_where_others_can_connect() {
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        assert_eq!(*load(&Security::default(), LOOPBACK).unwrap().access, Access::Everything);
        let only = Access::Only(Directories { read: vec![], write: vec![here] });
        assert_eq!(*load(&Security::default(), ALL).unwrap().access, only);
        // Named directories replace the working directory, on loopback too.
        let files = Some(Directories { read: vec!["/".into()], write: vec![] });
        let named = Security { files: files.clone(), ..Default::default() };
        for address in [LOOPBACK, ALL] {
            assert_eq!(*load(&named, address).unwrap().access, Access::Only(files.clone().unwrap()));
        }
        let missing = Some(Directories { read: vec!["/nowhere/at/all".into()], write: vec![] });
        assert_eq!(
            load(&Security { files: missing, ..Default::default() }, ALL).err().unwrap().code(),
            Code::NotFound
        );
    }

    #[test]
    fn strict_servers_are_not_open_to_the_network() {
        let strict = Security { strict: true, ..Default::default() };
        assert!(load(&strict, LOOPBACK).is_ok());
        assert_eq!(load(&strict, ALL).err().unwrap().code(), Code::FailedPrecondition);
        assert_eq!(strict.exposures(ALL.into()).len(), 2);
        let with_token = Security { token_file: Some("t".into()), ..Default::default() };
        assert_eq!(with_token.exposures(ALL.into()).len(), 1);
        assert!(with_token.exposures(LOOPBACK.into()).is_empty());
    }

    /// A folder for this test.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("thalweg-security-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn sessions_clusters_lead_anywhere_only_from_where_nothing_is_shown_to_anybody() {
        let token_file = folder("reach").join("tokens");
        std::fs::write(&token_file, "admin:token-0123456789ab").unwrap();
        let home = ClusterSpec::parse(r#"{"ps": ["home:1"]}"#).unwrap();
        let leads_to = |security: &Security, listen: [u8; 4], address: &str| {
            let task = crate::cluster::TaskAddress { task: "/job:x".into(), address: address.into() };
            let guard = security.load(listen.into(), &home, Log::default()).unwrap();
            guard.reach.check(&task).is_ok()
        };
        let open = Security::default();
        let tokens = Security { token_file: Some(token_file), ..Default::default() };
        let named = Security { connect: Some(vec!["away:1".into()]), ..tokens.clone() };
        let any = Security { connect: Some(vec!["*".into()]), ..tokens.clone() };
        for (security, listen, away, other) in [
            (&open, LOOPBACK, true, true),
            (&open, ALL, false, false),
            (&tokens, LOOPBACK, false, false),
            (&tokens, ALL, false, false),
            (&named, LOOPBACK, true, false),
            (&any, ALL, true, true),
        ] {
            let found = ["away:1", "other:1", "home:1"].map(|address| leads_to(security, listen, address));
            assert_eq!(found, [away, other, true], "{listen:?} {security:?}");
        }
    }

    #[test]
    fn callers_are_told_apart_by_certificates_only_where_these_are_asked_for() {
        let folder = folder("certificates");
        let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
        let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
        std::fs::write(&cert, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let tls = TlsFiles { cert: Some(cert.clone()), key: Some(key), ca: None };
        let plain = load(&Security::default(), LOOPBACK).unwrap();
        assert!(!plain.certificates && plain.acceptor.is_none() && !plain.outgoing.is_secure());
        let one_way = load(&Security { tls: tls.clone(), ..Default::default() }, LOOPBACK).unwrap();
        assert!(!one_way.certificates && one_way.acceptor.is_some() && !one_way.outgoing.is_secure());
        let both = Security { tls: TlsFiles { ca: Some(cert), ..tls }, ..Default::default() };
        let both = load(&both, LOOPBACK).unwrap();
        assert!(both.certificates && both.acceptor.is_some() && both.outgoing.is_secure());
    }
}
