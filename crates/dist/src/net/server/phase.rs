//! Phases of a server.

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Serving,
    /// No new connections and requests.
    Draining,
    /// All connections are closed.
    Closing,
}
