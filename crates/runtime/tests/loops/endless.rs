//! Endless loops and other steps.

use std::sync::{Arc, mpsc};
use std::time::Duration;
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::{Code, cancelled};
use thalweg_core::tensor::Tensor;
use thalweg_runtime::{RunOptions, Session, SessionOptions};

/// `exit` iterates for ever once the queue `q` has an element; `y` is the negated element of the queue `r`.
const GRAPH: &str = "
    node { name: 'q' op: 'FIFOQueueV2' attr { key: 'component_types' value { list { type: DT_BOOL } } } attr { key: 'shapes' value { list { shape {} } } } }
    node { name: 'true' op: 'Const' attr { key: 'dtype' value { type: DT_BOOL } }
           attr { key: 'value' value { tensor { dtype: DT_BOOL tensor_shape {} bool_val: true } } } }
    node { name: 'put' op: 'QueueEnqueueV2' input: 'q' input: 'true' attr { key: 'Tcomponents' value { list { type: DT_BOOL } } } }
    node { name: 'get' op: 'QueueDequeueV2' input: 'q' attr { key: 'component_types' value { list { type: DT_BOOL } } } }
    node { name: 'enter' op: 'Enter' input: 'get' attr { key: 'T' value { type: DT_BOOL } } attr { key: 'frame_name' value { s: 'f' } } }
    node { name: 'merge' op: 'Merge' input: 'enter' input: 'next' attr { key: 'T' value { type: DT_BOOL } } attr { key: 'N' value { i: 2 } } }
    node { name: 'go' op: 'LoopCond' input: 'merge' }
    node { name: 'switch' op: 'Switch' input: 'merge' input: 'go' attr { key: 'T' value { type: DT_BOOL } } }
    node { name: 'next' op: 'NextIteration' input: 'switch:1' attr { key: 'T' value { type: DT_BOOL } } }
    node { name: 'exit' op: 'Exit' input: 'switch' attr { key: 'T' value { type: DT_BOOL } } }
    node { name: 'r' op: 'FIFOQueueV2' attr { key: 'component_types' value { list { type: DT_FLOAT } } } attr { key: 'shapes' value { list { shape {} } } } }
    node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'give' op: 'QueueEnqueueV2' input: 'r' input: 'x' attr { key: 'Tcomponents' value { list { type: DT_FLOAT } } } }
    node { name: 'take' op: 'QueueDequeueV2' input: 'r' attr { key: 'component_types' value { list { type: DT_FLOAT } } } }
    node { name: 'y' op: 'Neg' input: 'take' attr { key: 'T' value { type: DT_FLOAT } } }";

/// Regression: resumed endless steps took all threads of the pool, so that no other resumed.
#[test]
fn loops_without_end_after_a_wait_took_all_threads_of_the_pool() {
    for optimise in [true, false] {
        let options = SessionOptions { optimise, threads: 1, ..Default::default() };
        let s = Session::new(Arc::new(thalweg_ops::registry()), options).unwrap();
        s.extend_with(|g| g.import(&thalweg_proto::text::parse_graph_def(GRAPH).unwrap())).unwrap();
        let cancel = Arc::new(Cancellation::default());
        let endless = RunOptions { cancel: Some(cancel.clone()), ..Default::default() };
        let (ended, end) = mpsc::channel();
        for _ in 0..3 {
            let ended = ended.clone();
            let exit = s.callable_by_name(&[], &["exit"], &[]).unwrap();
            exit.start(vec![], &endless, Box::new(move |r| drop(ended.send(r.map(drop)))));
            s.run(&[], &[], &["put"]).unwrap();
        }
        let (told, answer) = mpsc::channel();
        let y = s.callable_by_name(&[], &["y"], &[]).unwrap();
        y.start(vec![], &RunOptions::default(), Box::new(move |r| drop(told.send(r))));
        s.run(&[("x", Tensor::scalar(3f32))], &[], &["give"]).unwrap();
        let answer = answer.recv_timeout(Duration::from_secs(120)).expect("it never went on");
        assert_eq!(answer.unwrap().0[0].to_scalar::<f32>().unwrap(), -3.0);
        assert!(end.try_recv().is_err());
        cancel.cancel(cancelled("enough"));
        for _ in 0..3 {
            assert_eq!(end.recv().unwrap().unwrap_err().code(), Code::Cancelled);
        }
    }
}
