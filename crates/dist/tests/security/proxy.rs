//! Clients without TLS and tokens, through a proxy that has them.

use crate::common::*;
use std::net::SocketAddr;
use thalweg_core::error::Code;
use thalweg_core::tensor::Tensor;
use thalweg_dist::log::Log;
use thalweg_dist::{Credentials, Proxy, Security};

fn proxy(to: &str, credentials: &Credentials) -> (Proxy, String) {
    let proxy = Proxy::start(SocketAddr::from(([127, 0, 0, 1], 0)), to, credentials, Log::default()).unwrap();
    let target = format!("grpc://{}", proxy.address());
    (proxy, target)
}

const TWICE: &str = "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'y' op: 'AddV2' input: 'x' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }";

#[test]
fn a_plain_client_reaches_a_server_with_tls_and_tokens() {
    let secrets = Secrets::new();
    let security =
        Security { tls: secrets.files("server"), token_file: Some(secrets.tokens()), ..Default::default() };
    let server = server(security);
    let credentials = Credentials { tls: secrets.files("client"), ..secrets.token(RUN) };
    let (_proxy, target) = proxy(&secure(&server), &credentials);
    assert_eq!(ask(&Credentials::default(), &target), Ok(3.0));
    // Large messages, and many calls on one connection.
    let session = connect(&Credentials::default(), &target, TWICE).unwrap();
    let values: Vec<f32> = (0..3_000_000).map(|i| (i % 1000) as f32).collect();
    let large = Tensor::vector(&values).unwrap();
    for x in [large.clone(), Tensor::scalar(1f32), large] {
        let y = run(&session, &[("x:0", x.clone())], &["y:0"], &[]).unwrap();
        let (x, y) = (x.as_slice::<f32>().unwrap(), y[0].as_slice::<f32>().unwrap());
        assert!(x.iter().zip(y).all(|(x, y)| x + x == *y));
    }
    for i in 0..200 {
        let y = run(&session, &[("x:0", Tensor::scalar(i as f32))], &["y:0"], &[]).unwrap();
        assert_eq!(y[0].to_scalar::<f32>().unwrap(), 2.0 * i as f32);
    }
}

#[test]
fn the_proxys_token_decides_whatever_its_client_says() {
    let secrets = Secrets::new();
    let server = server(Security { token_file: Some(secrets.tokens()), ..Default::default() });
    let (_proxy, target) = proxy(&plain(&server), &secrets.token(RUN));
    // The client's own admin token is not forwarded.
    let reset = thalweg_dist::RemoteSession::reset_as(&secrets.token(ADMIN), &target, &[]);
    assert_eq!(reset.unwrap_err().code(), Code::PermissionDenied);
}

#[test]
fn a_proxy_does_not_believe_a_server_of_another_authority() {
    let secrets = Secrets::new();
    let elsewhere = crate::certificates::Authority::new(secrets.folder.root(), "elsewhere");
    let server = server(Security { tls: secrets.files("server"), ..Default::default() });
    let mut credentials = Credentials { tls: secrets.files("client"), ..Default::default() };
    credentials.tls.ca = Some(elsewhere.path());
    let (_proxy, target) = proxy(&secure(&server), &credentials);
    assert_eq!(ask(&Credentials::default(), &target), Err(Code::Unavailable));
}
