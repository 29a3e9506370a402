//! A session's partition on another task: registered once, then run for each step.

use crate::cluster::Link;
use crate::net::grpc::content_scanner::FETCHED;
use crate::wire::error::received;
use crate::wire::graph_def::node_def;
use crate::wire::tensors::Contents;
use std::sync::{Arc, Mutex};
use thalweg_core::error::{Code, Error, Result, internal};
use thalweg_core::sync::lock;
use thalweg_core::tensor::Tensor;
use thalweg_graph::convert::tensor_to_proto;
use thalweg_proto::{
    CleanupGraphRequest, CleanupGraphResponse, DeregisterGraphRequest, DeregisterGraphResponse, ExecutorOpts,
    GraphDef, GraphOptions, NamedTensorProto, RegisterGraphRequest, RegisterGraphResponse, RunGraphRequest,
    RunGraphResponse, VersionDef,
};
use thalweg_runtime::session::cluster::{OnPartDone, PartResult, PartStep, RegisteredPart, TaskGraph};

pub struct Registered {
    link: Arc<Link>,
    session: String,
    graph: String,
    feeds: Vec<String>,
    fetches: Vec<String>,
}

/// The version of GraphDefs that TensorFlow 2 writes.
const PRODUCER: i32 = 2474;

/// Registers a task's partition; blocks until it is registered.
pub fn register(
    link: &Arc<Link>,
    session: &str,
    options: &GraphOptions,
    graph: TaskGraph,
) -> Result<Registered> {
    let request = registration(session, options, &graph)?;
    let answer: RegisterGraphResponse = link
        .call_and_wait("RegisterGraph", &request)
        .map_err(|e| received(&link.task, e.code(), e.message()))?;
    Ok(Registered {
        link: link.clone(),
        session: session.to_string(),
        graph: answer.graph_handle,
        feeds: graph.feeds,
        fetches: graph.fetches,
    })
}

fn registration(session: &str, options: &GraphOptions, graph: &TaskGraph) -> Result<RegisterGraphRequest> {
    Ok(RegisterGraphRequest {
        session_handle: session.to_string(),
        graph_def: Some(graph_def(graph)?),
        has_control_flow: graph.has_control_flow,
        graph_options: Some(options.clone()),
        create_worker_session_called: true,
        ..Default::default()
    })
}

fn graph_def(graph: &TaskGraph) -> Result<GraphDef> {
    let library = match graph.library.is_empty() {
        true => None,
        false => Some(graph.library.to_proto()?),
    };
    Ok(GraphDef {
        node: graph.nodes.iter().map(node_def).collect::<Result<_>>()?,
        library,
        versions: Some(VersionDef { producer: PRODUCER, ..Default::default() }),
        ..Default::default()
    })
}

impl Registered {
    fn request(&self, step: &PartStep) -> Result<RunGraphRequest> {
        let named = |(key, value): (&String, &Tensor)| -> Result<NamedTensorProto> {
            Ok(NamedTensorProto { name: key.clone(), tensor: Some(tensor_to_proto(value)?) })
        };
        Ok(RunGraphRequest {
            session_handle: self.session.clone(),
            graph_handle: self.graph.clone(),
            step_id: step.id as i64,
            send: self.feeds.iter().zip(&step.feeds).map(named).collect::<Result<_>>()?,
            recv_key: self.fetches.clone(),
            exec_opts: Some(ExecutorOpts { record_timeline: step.trace, ..Default::default() }),
            store_errors_in_response_body: true,
            create_worker_session_called: true,
            ..Default::default()
        })
    }
}

impl RegisteredPart for Registered {
    fn start(&self, step: PartStep, done: OnPartDone) {
        let request = match self.request(&step) {
            Ok(request) => request,
            Err(e) => return done(Err(e)),
        };
        // Completed once: by the response or by cancellation.
        let done = Arc::new(Mutex::new(Some(done)));
        let (answered, fetches, task) = (done.clone(), self.fetches.clone(), self.link.task.clone());
        let cancel = step.cancel.clone();
        let watch: Arc<Mutex<Option<u64>>> = Arc::default();
        let watched = watch.clone();
        let ended = move |answer: Result<(RunGraphResponse, Contents)>| {
            if let Some(id) = lock(&watched).take() {
                cancel.forget(id);
            }
            let done = lock(&answered).take();
            if let Some(done) = done {
                done(answer.and_then(|(a, contents)| result(a, &contents, &fetches, &task)));
            }
        };
        let call = self.link.call_for_tensors("RunGraph", &request, FETCHED, ended);
        let link = self.link.clone();
        let id = step.cancel.on_cancel(move |reason| {
            let Some(done) = lock(&done).take() else { return };
            call.cancel();
            // Some tasks ignore RST_STREAM.
            let request = CleanupGraphRequest { step_id: step.id as i64 };
            link.call_then("CleanupGraph", &request, |_: Result<CleanupGraphResponse>| {});
            done(Err(match reason.code() {
                Code::DeadlineExceeded => {
                    let waited =
                        format!("{}: no answer from {} at {}", reason.message(), link.task, link.address);
                    Error::new(Code::DeadlineExceeded, waited)
                }
                _ => reason.clone().derived(),
            }));
        });
        *lock(&watch) = Some(id);
    }
}

fn result(
    answer: RunGraphResponse,
    contents: &Contents,
    fetches: &[String],
    task: &str,
) -> Result<PartResult> {
    if answer.status_code != 0 {
        return Err(received(task, Code::from_wire(answer.status_code), &answer.status_error_message));
    }
    let mut values = Vec::with_capacity(fetches.len());
    for key in fetches {
        let found = answer.recv.iter().find(|n| n.name == *key).and_then(|n| n.tensor.as_ref());
        let tensor = found.ok_or_else(|| internal(format_args!("{task} did not answer with '{key}'")))?;
        values.push(contents.tensor(tensor)?);
    }
    let timings = answer.step_stats.map(crate::wire::metadata::timings).unwrap_or_default();
    Ok(PartResult { values, timings })
}

impl Drop for Registered {
    fn drop(&mut self) {
        let request = DeregisterGraphRequest {
            graph_handle: self.graph.clone(),
            session_handle: self.session.clone(),
            create_worker_session_called: true,
        };
        // Best effort: the task may be down.
        self.link.call_then("DeregisterGraph", &request, |_: Result<DeregisterGraphResponse>| {});
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Connector, TaskAddress};
    use crate::net::client_connection::KeepAliveOptions;
    use std::time::Duration;
    use thalweg_graph::{Graph, NodeSpec};
    use thalweg_proto::{OptimizerOptions, text};

    const FUNCTION: &str = "
        node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
               attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 3 } } } }
        node { name: 'call' op: 'f' input: 'c' }
        library { function {
            signature { name: 'f' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }
            node_def { name: 'n' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }
            ret { key: 'y' value: 'n:y:0' } } }";

    #[test]
    fn a_task_is_given_its_part_with_its_functions_and_options() {
        let def = text::parse_graph_def(FUNCTION).unwrap();
        let whole = Graph::from_def(Arc::new(thalweg_ops::registry()), &def).unwrap();
        let level = OptimizerOptions { opt_level: -1, ..Default::default() };
        let options = GraphOptions { optimizer_options: Some(level), ..Default::default() };
        let node = NodeSpec {
            name: "call".into(),
            op: "f".into(),
            inputs: vec!["c".into()],
            device: "/job:ps".into(),
            ..Default::default()
        };
        let part = |has_control_flow| TaskGraph {
            nodes: vec![node.clone()],
            library: whole.library.clone(),
            feeds: vec![],
            fetches: vec![],
            has_control_flow,
        };
        let request = registration("session", &options, &part(true)).unwrap();
        assert_eq!(
            (request.session_handle.as_str(), request.create_worker_session_called),
            ("session", true)
        );
        assert_eq!(request.graph_options, Some(options.clone()));
        assert!(request.has_control_flow);
        assert!(!registration("", &options, &part(false)).unwrap().has_control_flow);
        let def = request.graph_def.unwrap();
        assert_eq!(def.versions.unwrap().producer, PRODUCER);
        let function = &def.library.unwrap().function[0];
        assert_eq!(function.signature.as_ref().unwrap().name, "f");
        let [sent] = &def.node[..] else { panic!("one node") };
        assert_eq!((sent.name.as_str(), sent.op.as_str(), sent.device.as_str()), ("call", "f", "/job:ps"));
        assert_eq!(sent.input, ["c"]);
    }

    #[test]
    fn a_step_of_a_part_says_whose_it_is_and_what_it_gets_and_gives() {
        let keep_alive = KeepAliveOptions { interval: Duration::MAX, timeout: Duration::MAX };
        let connector = Connector::new(
            Vec::new(),
            keep_alive,
            Default::default(),
            Default::default(),
            Default::default(),
        );
        let task = TaskAddress { task: "/job:ps/replica:0/task:0".into(), address: "127.0.0.1:1".into() };
        let part = Registered {
            link: connector.links(vec![task]).unwrap().all().remove(0),
            session: "session".into(),
            graph: "graph".into(),
            feeds: vec!["fed".into()],
            fetches: vec!["fetched".into()],
        };
        for trace in [false, true] {
            let step = PartStep { id: 7, feeds: vec![Tensor::scalar(3f32)], cancel: Arc::default(), trace };
            let request = part.request(&step).unwrap();
            assert_eq!(
                (request.session_handle.as_str(), request.graph_handle.as_str()),
                ("session", "graph")
            );
            assert_eq!((request.step_id, request.exec_opts.unwrap().record_timeline), (7, trace));
            assert_eq!(
                (request.send[0].name.as_str(), &request.recv_key[..]),
                ("fed", &["fetched".into()][..])
            );
            assert!(request.store_errors_in_response_body && request.create_worker_session_called);
        }
    }

    #[tokio::test]
    async fn a_part_that_is_not_needed_any_more_is_forgotten_by_its_task() {
        let mut played = crate::testing::Played::new().await;
        let (_connector, us) = played.member();
        let part = Registered {
            link: us.links.all().remove(0),
            session: "session".into(),
            graph: "graph".into(),
            feeds: vec![],
            fetches: vec![],
        };
        drop(part);
        let (method, message) = played.call().await;
        let said: DeregisterGraphRequest = thalweg_proto::decode(message).unwrap();
        assert_eq!((method.as_str(), said.graph_handle.as_str()), ("DeregisterGraph", "graph"));
        assert_eq!((said.session_handle.as_str(), said.create_worker_session_called), ("session", true));
    }
}
