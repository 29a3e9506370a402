//! Tokens: roles, owners of sessions, and who may close them.

use crate::common::*;
use std::net::SocketAddr;
use thalweg_core::error::{Code, Result};
use thalweg_dist::remote::{Channel, Limits};
use thalweg_dist::{Credentials, RemoteSession, Security, Server, ServerOptions};
use thalweg_proto::*;

fn guarded(secrets: &Secrets, max_sessions: usize) -> Server {
    let security = Security { token_file: Some(secrets.tokens()), ..Default::default() };
    server_with(ServerOptions { security, max_sessions, ..Default::default() })
}

struct Client {
    channel: Channel,
}

impl Client {
    fn new(credentials: &Credentials, server: &Server) -> Client {
        Client { channel: Channel::connect(&plain(server), credentials).unwrap() }
    }

    fn call<A: Message, B: Message + thalweg_proto::Name + Default + Send + 'static>(
        &self,
        method: &str,
        request: &A,
    ) -> Result<B> {
        self.channel.call(&format!("/tensorflow.{method}"), request, &Limits::default())
    }

    fn create(&self) -> Result<String> {
        let graph_def = Some(text::parse_graph_def(CONSTANT).unwrap());
        let request = CreateSessionRequest { graph_def, ..Default::default() };
        let made: CreateSessionResponse = self.call("MasterService/CreateSession", &request)?;
        Ok(made.session_handle)
    }

    fn step(&self, session: &str) -> Result<RunStepResponse> {
        let (session_handle, fetch) = (session.to_string(), vec!["c:0".to_string()]);
        self.call("MasterService/RunStep", &RunStepRequest { session_handle, fetch, ..Default::default() })
    }

    fn close(&self, session: &str) -> Result<CloseSessionResponse> {
        self.call("MasterService/CloseSession", &CloseSessionRequest { session_handle: session.into() })
    }
}

fn code<T>(result: Result<T>) -> Option<Code> {
    result.err().map(|e| e.code())
}

#[test]
fn nobody_without_a_token_of_the_server_is_answered() {
    let secrets = Secrets::new();
    let server = guarded(&secrets, 10);
    let target = plain(&server);
    assert_eq!(ask(&secrets.token(RUN), &target), Ok(3.0));
    for refused in [Credentials::default(), secrets.token("wrong-token-0123456789")] {
        assert_eq!(ask(&refused, &target), Err(Code::Unauthenticated));
    }
    let nobody = Client::new(&Credentials::default(), &server);
    for method in ["WorkerService/GetStatus", "MasterService/Reset", "NoSuchService/Any"] {
        let answer: Result<GetStatusResponse> = nobody.call(method, &GetStatusRequest {});
        assert_eq!(code(answer), Some(Code::Unauthenticated), "{method}");
    }
    assert_eq!(server.sessions(), 1);
}

#[test]
fn a_session_is_its_own_clients_and_the_admins() {
    let secrets = Secrets::new();
    let server = guarded(&secrets, 10);
    let client = |token| Client::new(&secrets.token(token), &server);
    let (owner, other, admin) = (client(RUN), client(OTHER), client(ADMIN));
    let session = owner.create().unwrap();
    // Another connection of the same client.
    assert!(client(RUN).step(&session).is_ok());
    let denied = Some(Code::PermissionDenied);
    assert_eq!(code(other.step(&session)), denied);
    assert_eq!(code(other.close(&session)), denied);
    let handle = || session.clone();
    let devices = ListDevicesRequest { session_handle: handle() };
    assert_eq!(code(other.call::<_, ListDevicesResponse>("MasterService/ListDevices", &devices)), denied);
    let extend = ExtendSessionRequest { session_handle: handle(), ..Default::default() };
    assert_eq!(code(other.call::<_, ExtendSessionResponse>("MasterService/ExtendSession", &extend)), denied);
    let callable = MakeCallableRequest { session_handle: handle(), ..Default::default() };
    assert_eq!(code(other.call::<_, MakeCallableResponse>("MasterService/MakeCallable", &callable)), denied);
    let partial = PartialRunSetupRequest { session_handle: handle(), ..Default::default() };
    assert_eq!(
        code(other.call::<_, PartialRunSetupResponse>("MasterService/PartialRunSetup", &partial)),
        denied
    );
    assert!(admin.step(&session).is_ok());
    assert!(admin.close(&session).is_ok());
    assert_eq!(code(owner.step(&session)), Some(Code::Aborted));
}

#[test]
fn reset_and_what_tasks_ask_of_each_other_need_more_than_the_role_run() {
    let secrets = Secrets::new();
    let server = guarded(&secrets, 10);
    let (run, admin) = (secrets.token(RUN), secrets.token(ADMIN));
    let client = Client::new(&run, &server);
    client.create().unwrap();
    let reset = |who| RemoteSession::reset_as(who, &plain(&server), &[]);
    assert_eq!(code(reset(&run)), Some(Code::PermissionDenied));
    let status: Result<GetStatusResponse> = client.call("WorkerService/GetStatus", &GetStatusRequest {});
    assert_eq!(code(status), Some(Code::PermissionDenied));
    assert_eq!(server.sessions(), 1);
    reset(&admin).unwrap();
    assert_eq!(server.sessions(), 0);
}

/// Regression: a new session evicted the longest idle one of the whole server: a client could close all others' sessions.
#[test]
fn sessions_of_one_client_do_not_push_out_those_of_another() {
    let secrets = Secrets::new();
    // 3 tokens, 2 sessions each.
    let server = guarded(&secrets, 6);
    let client = |token| Client::new(&secrets.token(token), &server);
    let (one, two) = (client(RUN), client(OTHER));
    let first = one.create().unwrap();
    let many: Vec<_> = (0..20).map(|_| two.create().unwrap()).collect();
    assert!(one.step(&first).is_ok());
    assert_eq!(server.sessions(), 3);
    assert_eq!(code(two.step(&many[0])), Some(Code::Aborted));
    assert!(two.step(&many[19]).is_ok());
}

#[test]
fn a_client_without_sessions_of_its_own_to_give_up_is_refused_by_a_full_server() {
    let secrets = Secrets::new();
    let server = guarded(&secrets, 1);
    let client = |token| Client::new(&secrets.token(token), &server);
    let (one, two, admin) = (client(RUN), client(OTHER), client(ADMIN));
    let session = one.create().unwrap();
    assert_eq!(code(two.create()), Some(Code::ResourceExhausted));
    // Not even an admin's new session evicts another's.
    assert_eq!(code(admin.create()), Some(Code::ResourceExhausted));
    assert!(one.step(&session).is_ok());
    let next = one.create().unwrap();
    assert_eq!(code(one.step(&session)), Some(Code::Aborted));
    one.close(&next).unwrap();
    assert!(two.create().is_ok());
}

#[test]
fn a_token_is_not_sent_in_the_clear_beyond_this_machine() {
    let secrets = Secrets::new();
    // A server on all addresses is reachable on one that is not loopback, if there is one.
    let everywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let security = Security { token_file: Some(secrets.tokens()), ..Default::default() };
    let server = server_with(ServerOptions { address: everywhere, security, ..Default::default() });
    let Some(own) = own_address() else { return };
    let target = format!("grpc://{own}:{}", server.address().port());
    let e = connect(&secrets.token(RUN), &target, CONSTANT).err().unwrap();
    assert!(e.code() == Code::InvalidArgument && e.message().contains("grpcs://"), "{e}");
}

/// The source address of this machine's connections; nothing is sent.
fn own_address() -> Option<std::net::IpAddr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    socket.local_addr().ok().map(|a| a.ip()).filter(|ip| !ip.is_loopback() && !ip.is_unspecified())
}
