//! The other end of a connection.

use super::limits::PeerLimits;
use super::service::{Route, Service};
use super::unread_responses::UnreadResponses;
use crate::auth::{Caller, Gate, Origin};
use crate::log::Log;
use crate::net::http2::Head;
use crate::wire::Status;
use std::sync::Arc;
use thalweg_core::budget::Account;

/// The other end of a connection, with its requests' context.
#[derive(Clone)]
pub struct Peer {
    pub service: Arc<dyn Service>,
    pub gate: Arc<Gate>,
    pub limits: PeerLimits,
    /// Memory of its incomplete messages and calls in flight.
    pub incoming: Arc<Account>,
    pub unread: Arc<UnreadResponses>,
    /// Dropped with the connection.
    pub connection: Arc<ConnectionToken>,
    pub origin: Origin,
    pub log: Log,
}

impl Peer {
    /// Authenticates and authorises the call of these headers.
    pub fn admit(&self, head: &Head) -> Result<(Caller, Route), Status> {
        let path = head.path.as_deref().unwrap_or_default();
        let route = self.service.route(path);
        let caller = self.gate.admit(&self.origin, head.authorization.as_deref(), path, route.role)?;
        Ok((caller, route))
    }
}

/// Lives as long as its connection: a weak reference shows whether the connection is open.
#[derive(Default)]
pub struct ConnectionToken;
