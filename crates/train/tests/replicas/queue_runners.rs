//! Threads that fill queues.

use std::sync::Arc;
use thalweg_client::{Attr, Code, DataType, Operation, Output, PartialShape, Scope, Session};
use thalweg_train::{Coordinator, QueueRunner};

fn queue(g: &Scope, capacity: i64) -> Output {
    let shapes = Attr::List(vec![PartialShape::scalar().into()]);
    let queue = g.op("FIFOQueueV2").name("numbers").attr("component_types", Attr::types(&[DataType::Int32]));
    queue.attr("shapes", shapes).attr("capacity", capacity).attr("shared_name", "numbers").output()
}

fn enqueue(g: &Scope, queue: &Output, value: &Output) -> Operation {
    g.op("QueueEnqueueV2").input(queue).inputs(&[value]).build()
}

fn dequeue(g: &Scope, queue: &Output) -> Output {
    g.op("QueueDequeueV2").input(queue).attr("component_types", Attr::types(&[DataType::Int32])).output()
}

#[test]
fn when_the_last_thread_is_at_the_end_of_its_input_the_queue_is_closed() {
    let g = Scope::new();
    let counter = g
        .op("VariableV2")
        .name("counter")
        .attr("dtype", DataType::Int32)
        .attr("shape", PartialShape::scalar())
        .output();
    let init = g.op("Assign").input(&counter).input(g.constant(0i32)).build();
    let count = g.op("CountUpTo").input(&counter).attr("limit", 20i64).output();
    let numbers = queue(&g, 3);
    let runner = QueueRunner::new(&g, &numbers, vec![enqueue(&g, &numbers, &count); 3]);
    let next = dequeue(&g, &numbers);
    let session = Arc::new(Session::new(&g).unwrap());
    session.run(&init, &[]).unwrap();
    let all = Coordinator::new();
    runner.start(&session, &all).unwrap();
    let mut seen = Vec::new();
    let e = loop {
        match session.run(&next, &[]) {
            Ok(t) => seen.push(t.to_scalar::<i32>().unwrap()),
            Err(e) => break e,
        }
    };
    assert_eq!(e.code(), Code::OutOfRange, "{e}");
    seen.sort_unstable();
    assert_eq!(seen, (0..20).collect::<Vec<_>>());
    all.request_stop();
    all.join().unwrap();
}

#[test]
fn a_stop_lets_go_of_threads_that_wait_for_room() {
    let g = Scope::new();
    let numbers = queue(&g, 1);
    let runner = QueueRunner::new(&g, &numbers, vec![enqueue(&g, &numbers, &g.constant(1i32))]);
    let next = dequeue(&g, &numbers);
    let session = Arc::new(Session::new(&g).unwrap());
    let all = Coordinator::new();
    runner.start(&session, &all).unwrap();
    (0..5).for_each(|_| assert_eq!(session.run(&next, &[]).unwrap().to_scalar::<i32>().unwrap(), 1));
    all.request_stop();
    all.join().unwrap();
}

#[test]
fn an_error_of_a_thread_stops_all_and_is_told() {
    let g = Scope::new();
    let numbers = queue(&g, 1);
    let missing = g.state_variable("never_initialised", &g.constant(1i32));
    let runner = QueueRunner::new(&g, &numbers, vec![enqueue(&g, &numbers, &missing.value)]);
    let session = Arc::new(Session::new(&g).unwrap());
    let all = Coordinator::new();
    runner.start(&session, &all).unwrap();
    all.wait_for_stop();
    assert_eq!(all.join().unwrap_err().code(), Code::FailedPrecondition);
}
