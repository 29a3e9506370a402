//! `thalweg proxy`: adds TLS and tokens to the calls of clients that support neither.

use crate::failure::Outcome;
use crate::log::LogArgs;
use crate::output;
use crate::security::CredentialArgs;
use std::net::SocketAddr;
use thalweg_dist::log::Level;
use thalweg_dist::{Proxy, wait_for_stop};

/// Let TensorFlow clients on this machine reach a server with TLS and a token
///
/// Listens on a loopback address, and forwards calls to the server with TLS and
/// the token. Whoever can connect to it has the token's rights. THALWEG_TLS_CA,
/// THALWEG_TLS_CERT, THALWEG_TLS_KEY and THALWEG_TOKEN_FILE are the defaults of
/// the flags. When it is ready it prints one line:
///
///   thalweg proxy: listening on grpc://ADDRESS:PORT, to grpcs://HOST:PORT
#[derive(clap::Args)]
#[command(
    after_help = "Example: thalweg proxy --listen 127.0.0.1:2222 --to grpcs://trainer.example:2222 --tls-ca ca.pem --token-file token",
    verbatim_doc_comment
)]
pub struct Args {
    /// Where clients connect to; port 0 picks a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:2222")]
    listen: SocketAddr,
    /// The server
    #[arg(long, value_name = "grpcs://HOST:PORT")]
    to: String,
    #[command(flatten)]
    credentials: CredentialArgs,
    #[command(flatten)]
    log: LogArgs,
}

pub fn run(args: Args) -> Outcome {
    let log = args.log.open(Level::Warn)?;
    let proxy = Proxy::start(args.listen, &args.to, &args.credentials.credentials(), log)?;
    output::print(&format!("thalweg proxy: listening on grpc://{}, to {}\n", proxy.address(), args.to))?;
    wait_for_stop(|| args.log.reopen(&log))?;
    Ok(())
}
