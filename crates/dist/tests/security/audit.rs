//! The audit log: a rejected call has a line, a failed one has none.

use crate::common::*;
use std::process::{Command, Stdio};
use thalweg_core::error::{Code, Result};
use thalweg_dist::log::{Level, Log};
use thalweg_dist::remote::{Channel, Limits};
use thalweg_dist::{Security, ServerOptions};
use thalweg_proto::*;

/// Set in the child process.
const CHILD: &str = "THALWEG_TEST_AUDITED";

const READ: &str = "node { name: 'path' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }
        attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape {} string_val: '/etc/passwd' } } } }
    node { name: 'read' op: 'ReadFile' input: 'path' }";

/// PERMISSION_DENIED in the body (a file) and by the status (another's session); and errors of other kinds.
fn misbehave() {
    let secrets = Secrets::new();
    let security = Security {
        token_file: Some(secrets.tokens()),
        files: Some(Default::default()),
        ..Default::default()
    };
    let server = server_with(ServerOptions { security, log: Log::at(Level::Warn), ..Default::default() });
    let client = |token| Channel::connect(&plain(&server), &secrets.token(token)).unwrap();
    let (owner, other) = (client(RUN), client(OTHER));
    let graph_def = Some(text::parse_graph_def(READ).unwrap());
    let request = CreateSessionRequest { graph_def, ..Default::default() };
    let path = "/tensorflow.MasterService/CreateSession";
    let made: CreateSessionResponse = owner.call(path, &request, &Limits::default()).unwrap();
    let step = |who: &Channel, session: &str, fetch: &str| -> Result<RunStepResponse> {
        let request = RunStepRequest {
            session_handle: session.into(),
            fetch: vec![fetch.into()],
            store_errors_in_response_body: true,
            ..Default::default()
        };
        who.call("/tensorflow.MasterService/RunStep", &request, &Limits::default())
    };
    assert_eq!(step(&owner, &made.session_handle, "read:0").unwrap().status_code, 7);
    assert_ne!(step(&owner, &made.session_handle, "nothing:0").map_or(1, |r| r.status_code), 0);
    let request = CloseSessionRequest { session_handle: made.session_handle.clone() };
    let path = "/tensorflow.MasterService/CloseSession";
    let closed: Result<CloseSessionResponse> = other.call(path, &request, &Limits::default());
    assert_eq!(closed.unwrap_err().code(), Code::PermissionDenied);
    assert_ne!(step(&owner, "no such session", "read:0").map_or(1, |r| r.status_code), 0);
}

#[test]
fn every_refusal_has_a_line_in_the_log_and_no_other_error_has() {
    if std::env::var_os(CHILD).is_some() {
        return misbehave();
    }
    let name = "audit::every_refusal_has_a_line_in_the_log_and_no_other_error_has";
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", name, "--nocapture"]).env(CHILD, "1").stdin(Stdio::null());
    let output = again.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let lines: Vec<&str> = told.lines().filter(|l| l.contains("event=refused")).collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(lines[0].contains("call=RunStep ") && lines[0].contains("/etc/passwd"), "{told}");
    assert!(lines[1].contains("CloseSession ") && lines[1].contains("code=PermissionDenied"), "{told}");
}
