//! Authentication and authorisation: tokens, certificates, roles, and the audit log.
//!
//! A caller is identified by its token, else by its client certificate. Without tokens and client certificates all
//! callers share one identity with all rights, as in TensorFlow.

mod refusals;
mod tokens;

pub use refusals::Refusals;
pub use tokens::Tokens;

use crate::log::Log;
use crate::threads::quota::{Owner, Part, Party};
use crate::wire::Status;
use std::net::SocketAddr;
use std::sync::Arc;
use thalweg_core::error::Code;

/// What a caller may do; each role includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Open sessions, and use its own.
    Run,
    /// Calls between tasks of a cluster (`WorkerService`).
    Cluster,
    /// Reset, CleanupAll, and the sessions of others.
    Admin,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Role::Run => "run",
            Role::Cluster => "cluster",
            Role::Admin => "admin",
        }
    }
}

/// Who makes a call.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Distinguishes callers: sessions belong to it.
    pub identity: Arc<str>,
    pub role: Role,
    /// Its thread quota's party.
    pub party: Party,
}

impl Default for Caller {
    /// A caller that was not authenticated, and owns nothing.
    fn default() -> Caller {
        let (identity, nowhere): (Arc<str>, _) = ("nobody".into(), SocketAddr::from(([0, 0, 0, 0], 0)));
        let party = Party { owner: Owner::Known(identity.clone()), part: Part::Connection(nowhere) };
        Caller { identity, role: Role::Run, party }
    }
}

/// The peer, as the connection identifies it.
#[derive(Clone, Debug)]
pub struct Origin {
    pub address: SocketAddr,
    /// The fingerprint of its verified certificate.
    pub certificate: Option<Arc<str>>,
}

/// Authenticates and authorises all calls of a server.
pub struct Gate {
    tokens: Option<Tokens>,
    /// Callers without a token or a certificate: one identity.
    anonymous: Arc<str>,
    pub refusals: Refusals,
}

/// The number of certificates is unknown: each gets at most this part of the sessions.
const CERTIFICATE_SHARES: usize = 8;

impl Gate {
    pub fn new(tokens: Option<Tokens>, log: Log) -> Gate {
        Gate { tokens, anonymous: "anonymous".into(), refusals: Refusals::new(log) }
    }

    /// Authenticates a caller and checks its role for a method. Called with the headers, before the message is received.
    pub fn admit(
        &self,
        origin: &Origin,
        authorization: Option<&[u8]>,
        path: &[u8],
        needed: Role,
    ) -> Result<Caller, Status> {
        let admitted = self.identify(origin, authorization).and_then(|caller| {
            if caller.role >= needed {
                return Ok(caller);
            }
            let (method, has, needs) = (path.escape_ascii(), caller.role.name(), needed.name());
            let why = format!("{method} needs the role {needs}, and this caller has the role {has}");
            Err((caller.identity, Status::new(Code::PermissionDenied, why)))
        });
        admitted.map_err(|(identity, status)| {
            self.refusals.note(origin, &identity, path, &status);
            status
        })
    }

    fn identify(&self, origin: &Origin, authorization: Option<&[u8]>) -> Result<Caller, (Arc<str>, Status)> {
        let known = |(identity, role): (Arc<str>, Role)| {
            let owner = Owner::Known(identity.clone());
            Caller { identity, role, party: Party { owner, part: Part::Connection(origin.address) } }
        };
        match (&self.tokens, &origin.certificate) {
            (Some(tokens), _) => match tokens.holder(authorization) {
                Ok(holder) => Ok(known(holder)),
                Err(why) => Err((self.anonymous.clone(), Status::new(Code::Unauthenticated, why))),
            },
            // Tasks of a cluster need only their certificates.
            (None, Some(fingerprint)) => Ok(known((fingerprint.clone(), Role::Cluster))),
            (None, None) => {
                let owner = Owner::Address(origin.address.ip());
                let party = Party { owner, part: Part::Connection(origin.address) };
                Ok(Caller { identity: self.anonymous.clone(), role: Role::Admin, party })
            }
        }
    }

    /// The limit of sessions of one caller.
    pub fn share(&self, sessions: usize, certificates: bool) -> usize {
        let shares = match &self.tokens {
            Some(tokens) => tokens.len(),
            None if certificates => CERTIFICATE_SHARES,
            None => 1,
        };
        sessions.div_ceil(shares.max(1)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(certificate: Option<&str>) -> Origin {
        Origin { address: SocketAddr::from(([127, 0, 0, 1], 9)), certificate: certificate.map(Arc::from) }
    }

    fn gate(file: Option<&str>) -> Gate {
        Gate::new(file.map(|text| Tokens::parse(text).unwrap()), Log::default())
    }

    const RUN: &[u8] = b"/tensorflow.MasterService/RunStep";

    #[test]
    fn each_role_may_do_what_is_its_own_and_no_more() {
        let gate = gate(Some("run:r-token-of-enough\ncluster:c-token-of-enough\nadmin:a-token-of-enough\n"));
        let refusal = |token: &str, needed| {
            let said = format!("Bearer {token}");
            gate.admit(&origin(None), Some(said.as_bytes()), RUN, needed).err().map(|e| e.code())
        };
        for (token, allowed) in [
            ("r-token-of-enough", [true, false, false]),
            ("c-token-of-enough", [true, true, false]),
            ("a-token-of-enough", [true, true, true]),
        ] {
            for (needed, allowed) in [Role::Run, Role::Cluster, Role::Admin].into_iter().zip(allowed) {
                let want = (!allowed).then_some(Code::PermissionDenied);
                assert_eq!(refusal(token, needed), want, "{token} {needed:?}");
            }
        }
        assert_eq!(refusal("another", Role::Run), Some(Code::Unauthenticated));
    }

    #[test]
    fn a_certificate_does_not_stand_in_for_a_token() {
        let with_tokens = gate(Some("run:r-token-of-enough"));
        let refused = with_tokens.admit(&origin(Some("sha256:aa")), None, RUN, Role::Run).unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated);
        let without = gate(None);
        let caller = without.admit(&origin(Some("sha256:aa")), None, RUN, Role::Cluster).unwrap();
        assert_eq!(&*caller.identity, "sha256:aa");
        assert!(without.admit(&origin(Some("sha256:aa")), None, RUN, Role::Admin).is_err());
    }

    #[test]
    fn without_tokens_and_certificates_all_is_as_in_tensorflow() {
        let gate = gate(None);
        for needed in [Role::Run, Role::Cluster, Role::Admin] {
            assert_eq!(gate.admit(&origin(None), None, RUN, needed).unwrap().role, Role::Admin);
        }
        assert_eq!(gate.share(4096, false), 4096);
    }

    #[test]
    fn those_who_are_told_apart_share_the_sessions() {
        let three = gate(Some("run:r-token-of-enough\ncluster:c-token-of-enough\nadmin:a-token-of-enough\n"));
        assert_eq!((three.share(4096, false), three.share(4096, true)), (1366, 1366));
        assert_eq!((gate(None).share(4096, true), gate(None).share(3, true)), (512, 1));
        assert_eq!((three.share(0, false), gate(None).share(0, false)), (1, 1));
    }

    #[test]
    fn what_is_refused_is_noted() {
        let gate = gate(Some("run:r-token-of-enough"));
        assert_eq!(gate.refusals.peers(), 0);
        assert!(gate.admit(&origin(None), Some(b"Bearer r-token-of-enough"), RUN, Role::Run).is_ok());
        assert_eq!(gate.refusals.peers(), 0);
        assert!(gate.admit(&origin(None), None, RUN, Role::Run).is_err());
        assert_eq!(gate.refusals.peers(), 1);
    }
}
