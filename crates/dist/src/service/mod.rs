//! The task as a whole: both services behind one listener.

mod master_service;
pub mod methods;
mod security;
pub mod server;
mod signals;
mod worker_service;

pub use security::Security;
pub use server::{Server, ServerOptions};
pub use signals::wait_for_stop;
