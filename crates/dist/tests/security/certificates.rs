//! Certificates for tests: an authority, and those it signs, as PEM files.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::path::{Path, PathBuf};

pub struct Authority {
    folder: PathBuf,
    name: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Writes `NAME.pem`.
    pub fn new(folder: &Path, name: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        std::fs::write(folder.join(format!("{name}.pem")), pem).unwrap();
        Authority { folder: folder.into(), name: name.into(), issuer: Issuer::new(params, key) }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.pem", self.name))
    }

    /// Writes `NAME.pem` and `NAME.key` for these hosts, valid until the end of a year.
    pub fn sign(&self, name: &str, hosts: &[&str], until: i32) -> (PathBuf, PathBuf) {
        let hosts: Vec<String> = hosts.iter().map(|h| h.to_string()).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_after = rcgen::date_time_ymd(until, 12, 31);
        let key = KeyPair::generate().unwrap();
        let pem = params.signed_by(&key, &self.issuer).unwrap().pem();
        let (cert, secret) =
            (self.folder.join(format!("{name}.pem")), self.folder.join(format!("{name}.key")));
        std::fs::write(&cert, pem).unwrap();
        std::fs::write(&secret, key.serialize_pem()).unwrap();
        (cert, secret)
    }
}
