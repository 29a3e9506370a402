//! The signals that a server waits for.

use std::future::poll_fn;
use std::task::Poll;
use thalweg_core::error::Result;
use tokio::signal::unix::{SignalKind, signal};

/// Waits for SIGTERM or SIGINT; its name. Each SIGHUP until then calls `hangup`, which reopens logs: it ends nothing.
pub fn wait_for_stop(mut hangup: impl FnMut()) -> Result<&'static str> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let (mut term, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let mut hangups = signal(SignalKind::hangup())?;
        Ok(poll_fn(|cx| {
            while hangups.poll_recv(cx).is_ready() {
                hangup();
            }
            if term.poll_recv(cx).is_ready() {
                return Poll::Ready("SIGTERM");
            }
            interrupt.poll_recv(cx).map(|_| "SIGINT")
        })
        .await)
    })
}
