//! Makes certificates for trying out TLS on one machine: `certificates FOLDER` writes ca.pem, server.pem, server.key, client.pem and client.key.

#[path = "../tests/security/certificates.rs"]
mod certificates;

use certificates::Authority;
use std::path::PathBuf;

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("the folder to write to"));
    let authority = Authority::new(&folder, "ca");
    authority.sign("server", &["localhost", "127.0.0.1"], 4000);
    authority.sign("client", &["client"], 4000);
    println!("{}", authority.path().display());
}
