//! TLS: which clients are accepted, and which servers verified.

use crate::certificates::Authority;
use crate::common::*;
use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;
use thalweg_core::error::Code;
use thalweg_dist::{Credentials, PeerLimits, Security, ServerOptions, TlsFiles};

fn with(tls: TlsFiles) -> Credentials {
    Credentials { tls, ..Default::default() }
}

/// TLS without client certificates.
fn one_way(secrets: &Secrets) -> Security {
    Security { tls: TlsFiles { ca: None, ..secrets.files("server") }, ..Default::default() }
}

#[test]
fn a_client_that_knows_the_authority_is_served() {
    let secrets = Secrets::new();
    let server = server(one_way(&secrets));
    assert_eq!(ask(&with(secrets.ca()), &secure(&server)), Ok(3.0));
    let by_name = format!("grpcs://localhost:{}", server.address().port());
    assert_eq!(ask(&with(secrets.ca()), &by_name), Ok(3.0));
}

#[test]
fn megabytes_go_both_ways_over_tls() {
    let secrets = Secrets::new();
    let server = server(one_way(&secrets));
    let twice = "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
        node { name: 'y' op: 'AddV2' input: 'x' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }";
    let session = connect(&with(secrets.ca()), &secure(&server), twice).unwrap();
    let values: Vec<f32> = (0..10_000_000).map(|i| (i % 1000) as f32).collect();
    let x = thalweg_core::tensor::Tensor::vector(&values).unwrap();
    for _ in 0..2 {
        let y = run(&session, &[("x:0", x.clone())], &["y:0"], &[]).unwrap();
        let doubled = y[0].as_slice::<f32>().unwrap();
        assert!(doubled.iter().zip(&values).all(|(y, x)| *y == x + x));
    }
}

#[test]
fn a_server_that_cannot_prove_its_name_is_not_believed() {
    let secrets = Secrets::new();
    let elsewhere = Authority::new(secrets.folder.root(), "elsewhere");
    let server = server(one_way(&secrets));
    let stranger = TlsFiles { ca: Some(elsewhere.path()), ..Default::default() };
    let e = connect(&with(stranger), &secure(&server), CONSTANT).err().unwrap();
    assert!(e.code() == Code::Unavailable && e.message().contains("certificate"), "{e}");
    secrets.authority.sign("other", &["other.example"], 4000);
    let other = crate::common::server(Security {
        tls: TlsFiles { ca: None, ..secrets.files("other") },
        ..Default::default()
    });
    let e = connect(&with(secrets.ca()), &secure(&other), CONSTANT).err().unwrap();
    assert!(e.code() == Code::Unavailable && e.message().contains("not valid for name"), "{e}");
    // No authority, no connection.
    let e = connect(&Credentials::default(), &secure(&server), CONSTANT).err().unwrap();
    assert!(e.code() == Code::InvalidArgument && e.message().contains("THALWEG_TLS_CA"), "{e}");
}

#[test]
fn only_clients_with_a_valid_certificate_get_in_where_one_is_asked_for() {
    let secrets = Secrets::new();
    secrets.authority.sign("expired", &["client"], 2001);
    Authority::new(secrets.folder.root(), "elsewhere").sign("stranger", &["client"], 4000);
    let server = server(Security { tls: secrets.files("server"), ..Default::default() });
    for name in ["expired", "stranger"] {
        assert_eq!(ask(&with(secrets.files(name)), &secure(&server)), Err(Code::Unavailable), "{name}");
    }
    assert_eq!(ask(&with(secrets.ca()), &secure(&server)), Err(Code::Unavailable));
    assert_eq!(ask(&Credentials::default(), &plain(&server)), Err(Code::Unavailable));
    assert_eq!(ask(&with(secrets.files("client")), &secure(&server)), Ok(3.0));
}

#[test]
fn certificates_own_sessions_but_may_not_reset() {
    let secrets = Secrets::new();
    secrets.authority.sign("another", &["another"], 4000);
    let server = server(Security { tls: secrets.files("server"), ..Default::default() });
    let (client, another) = (with(secrets.files("client")), with(secrets.files("another")));
    let _session = connect(&client, &secure(&server), CONSTANT).unwrap();
    let e = thalweg_dist::RemoteSession::reset_as(&another, &secure(&server), &[]).unwrap_err();
    assert_eq!(e.code(), Code::PermissionDenied, "{e}");
    assert_eq!(server.sessions(), 1);
}

/// Regression: peers that began no handshake held slots without a timeout, and delayed shutdown.
#[test]
fn a_handshake_that_does_not_go_on_holds_nothing_for_long() {
    let secrets = Secrets::new();
    let peers =
        PeerLimits { connections: 1, stall_timeout: Duration::from_millis(100), ..Default::default() };
    let server = server_with(ServerOptions { security: one_way(&secrets), peers, ..Default::default() });
    let mut silent = TcpStream::connect(server.address()).unwrap();
    // It holds the only slot until the server closes it.
    let mut closed = Vec::new();
    silent.read_to_end(&mut closed).unwrap_or_default();
    let mut served = Err(Code::Unknown);
    while served.is_err() {
        served = ask(&with(secrets.ca()), &secure(&server));
    }
    assert_eq!(served, Ok(3.0));
    let patient = PeerLimits { stall_timeout: Duration::from_secs(3600), ..peers };
    let server =
        server_with(ServerOptions { security: one_way(&secrets), peers: patient, ..Default::default() });
    let _silent = TcpStream::connect(server.address()).unwrap();
    server.stop();
}

#[test]
fn files_that_are_no_certificates_are_told_at_the_start() {
    let secrets = Secrets::new();
    let start = |tls: TlsFiles| {
        let security = Security { tls, ..Default::default() };
        let registry = std::sync::Arc::new(thalweg_ops::registry());
        thalweg_dist::Server::start(registry, ServerOptions { security, ..Default::default() }).err()
    };
    let good = secrets.files("server");
    let nonsense = secrets.file("nonsense.pem", "not a certificate");
    let missing = secrets.folder.path("missing.pem");
    for bad in [
        TlsFiles { cert: Some(nonsense.clone()), ..good.clone() },
        TlsFiles { key: Some(nonsense.clone()), ..good.clone() },
        TlsFiles { ca: Some(nonsense), ..good.clone() },
        TlsFiles { cert: Some(missing), ..good.clone() },
        TlsFiles { key: None, ..good.clone() },
        TlsFiles { key: secrets.files("client").key, ..good.clone() },
        secrets.ca(),
    ] {
        let e = start(bad.clone()).unwrap_or_else(|| panic!("{bad:?} was taken"));
        assert_eq!(e.code(), Code::InvalidArgument, "{e}");
    }
}
