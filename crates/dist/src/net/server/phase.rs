//! The life of a server.

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Serving,
    /// No new connections and requests.
    Draining,
    /// No connections at all, whatever their peers do.
    Closing,
}
