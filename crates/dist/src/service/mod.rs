//! The task as a whole: both services behind one listener.

mod security;
pub mod server;
mod signals;

pub use security::Security;
pub use server::{Server, ServerOptions};
pub use signals::wait_for_stop;
