//! Sessions on a server in this process.

use super::*;
use crate::{Server, ServerOptions};
use thalweg_core::error::Code;
use thalweg_proto::text;

fn server() -> Server {
    let options = ServerOptions { threads: 1, drain: Duration::ZERO, ..Default::default() };
    Server::start(Arc::new(thalweg_ops::registry()), options).unwrap()
}

fn constant(name: &str, value: f32) -> String {
    format!(
        "node {{ name: '{name}' op: 'Const' attr {{ key: 'dtype' value {{ type: DT_FLOAT }} }}
           attr {{ key: 'value' value {{ tensor {{ dtype: DT_FLOAT tensor_shape {{}} float_val: {value} }} }} }} }}"
    )
}

const QUEUE: &str = "
    node { name: 'q' op: 'FIFOQueueV2' attr { key: 'component_types' value { list { type: DT_FLOAT } } } }
    node { name: 'get' op: 'QueueDequeueV2' input: 'q' attr { key: 'component_types' value { list { type: DT_FLOAT } } } }";

fn graph(text: &str) -> Graph {
    Graph::from_def(Arc::new(thalweg_ops::registry()), &text::parse_graph_def(text).unwrap()).unwrap()
}

fn open(server: &Server, graph: &Graph) -> RemoteSession {
    let target = format!("grpc://{}", server.address());
    RemoteSession::connect_as(&Credentials::default(), &target, graph, ConfigProto::default()).unwrap()
}

fn fetch(session: &RemoteSession, name: &str) -> Result<f32> {
    let (values, _) = session.run(&[], &[name.to_string()], &[], &RemoteRunOptions::default())?;
    values[0].to_scalar()
}

#[test]
fn a_session_gets_the_nodes_that_its_graph_has_gained() {
    let server = server();
    let (few, more) = (constant("a", 1.0), [constant("a", 1.0), constant("b", 2.0)].concat());
    let most = format!("{more}{}", constant("c", 3.0));
    let session = open(&server, &graph(&few));
    assert_eq!(fetch(&session, "a").unwrap(), 1.0);
    assert_eq!(fetch(&session, "b").unwrap_err().code(), Code::NotFound);
    for (text, last, value) in [(&few, "a", 1.0), (&more, "b", 2.0), (&more, "b:0", 2.0), (&most, "c", 3.0)] {
        session.extend(&graph(text)).unwrap();
        assert_eq!(fetch(&session, last).unwrap(), value);
    }
    // Duplicate fetches.
    let names = ["b".to_string(), "b:0".to_string(), "c:0".to_string()];
    let (values, _) = session.run(&[], &names, &[], &RemoteRunOptions::default()).unwrap();
    let values: Vec<f32> = values.iter().map(|v| v.to_scalar().unwrap()).collect();
    assert_eq!(values, [2.0, 2.0, 3.0]);
    session.close().unwrap();
    assert_eq!(server.sessions(), 0);
    assert_eq!(session.close().unwrap_err().code(), Code::Aborted);
    let after = [most, constant("d", 4.0)].concat();
    assert_eq!(session.extend(&graph(&after)).unwrap_err().code(), Code::Aborted);
}

/// The task reports the timeout, and what it waited for; not the client, some seconds later.
#[test]
fn a_step_takes_its_time_limit_along() {
    let server = server();
    let session = open(&server, &graph(QUEUE));
    let options = RemoteRunOptions { timeout: Some(Duration::from_millis(20)), ..Default::default() };
    let e = session.run(&[], &["get:0".into()], &[], &options).unwrap_err();
    assert_eq!(e.code(), Code::DeadlineExceeded);
    assert!(!e.message().contains("did not answer within"), "{e}");
}

#[test]
fn a_step_that_is_cancelled_ends_on_the_task_too() {
    let server = server();
    let session = open(&server, &graph(QUEUE));
    let cancel = Arc::<Cancellation>::default();
    let options = RemoteRunOptions { cancel: Some(cancel.clone()), ..Default::default() };
    std::thread::scope(|scope| {
        let step = scope.spawn(|| session.run(&[], &["get:0".into()], &[], &options).unwrap_err());
        while server.active_requests() == 0 {
            std::thread::yield_now();
        }
        cancel.cancel(thalweg_core::error::cancelled("enough"));
        assert_eq!(step.join().unwrap().message(), "enough");
    });
    while server.active_requests() != 0 {
        std::thread::yield_now();
    }
}

#[test]
fn functions_come_with_the_nodes_that_call_them() {
    let server = server();
    let few = constant("a", 1.0);
    let call = "
        node { name: 'call' op: 'f' input: 'a' }
        library { function {
            signature { name: 'f' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }
            node_def { name: 'n' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }
            ret { key: 'y' value: 'n:y:0' } } }";
    let session = open(&server, &graph(&few));
    session.extend(&graph(&format!("{few}{call}"))).unwrap();
    assert_eq!(fetch(&session, "call").unwrap(), -1.0);
}

#[test]
fn a_reset_clears_the_containers_that_it_names() {
    let server = server();
    let target = format!("grpc://{}", server.address());
    let text = format!(
        "{} node {{ name: 'v' op: 'VariableV2' attr {{ key: 'dtype' value {{ type: DT_FLOAT }} }}
                    attr {{ key: 'shape' value {{ shape {{}} }} }} }}
            node {{ name: 'init' op: 'Assign' input: 'v' input: 'a' attr {{ key: 'T' value {{ type: DT_FLOAT }} }} }}",
        constant("a", 1.0)
    );
    let graph = graph(&text);
    open(&server, &graph).run(&[], &[], &["init".into()], &RemoteRunOptions::default()).unwrap();
    let reset = |containers: &[String]| {
        RemoteSession::reset_as(&Credentials::default(), &target, containers).unwrap();
        fetch(&open(&server, &graph), "v")
    };
    assert_eq!(reset(&["other".into()]).unwrap(), 1.0);
    assert_eq!(reset(&["localhost".into()]).unwrap_err().code(), Code::FailedPrecondition);
}
