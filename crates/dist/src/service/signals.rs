//! The signals that stop a server.

use std::pin::pin;
use std::task::Poll;
use thalweg_core::error::Result;
use tokio::signal::unix::{SignalKind, signal};

/// Waits for SIGTERM or SIGINT; its name.
pub fn wait_for_stop() -> Result<&'static str> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let (mut term, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let (mut term, mut interrupt) = (pin!(term.recv()), pin!(interrupt.recv()));
        Ok(std::future::poll_fn(|cx| {
            if term.as_mut().poll(cx).is_ready() {
                return Poll::Ready("SIGTERM");
            }
            interrupt.as_mut().poll(cx).map(|_| "SIGINT")
        })
        .await)
    })
}
