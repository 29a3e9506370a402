//! The same program in this process and on a server.

use std::sync::Arc;
use std::time::Duration;
use thalweg::data::Dataset;
use thalweg::prelude::*;
use thalweg_dist::{Server, ServerOptions};

fn server() -> (Server, String) {
    let options = ServerOptions { drain: Duration::ZERO, ..Default::default() };
    let server = Server::start(Arc::new(thalweg_ops::registry()), options).unwrap();
    let target = format!("grpc://{}", server.address());
    (server, target)
}

#[test]
fn a_session_on_a_server_does_what_one_here_does() {
    let (_server, target) = server();
    let g = Scope::new();
    let x = g.placeholder(DataType::Float, &[-1]);
    let v = g.variable("v", &g.constant([1f32, 2.0]));
    let y = &x * &v.value;
    let words = g.constant(vec!["ab", "c"]);
    let there = Session::connect(&target, &g).unwrap();
    let here = Session::new(&g).unwrap();
    assert_eq!(there.devices().unwrap(), here.devices().unwrap());
    let init = g.init();
    for s in [&there, &here] {
        s.run(&init, &[]).unwrap();
        let (product, words) = s.run(&(&y, &words), &[feed(&x, [3f32, 4.0])]).unwrap();
        assert_eq!(product.as_slice::<f32>().unwrap(), &[3.0, 8.0]);
        assert_eq!(words.to_string(), "[b'ab' b'c']");
        let callable = s.callable(&[&x], &y_plus_one(&g, &x)).unwrap();
        assert_eq!(
            callable.run(vec![Tensor::vector(&[1f32]).unwrap()]).unwrap()[0].as_slice::<f32>().unwrap(),
            &[2.0]
        );
        let e = s.run(&y, &[feed(&x, [1f32, 2.0, 3.0])]).unwrap_err();
        assert_eq!(e.code(), Code::InvalidArgument);
        assert!(e.message().contains("Incompatible shapes"), "{e}");
    }
    there.close().unwrap();
    assert!(there.run(&y, &[feed(&x, [3f32, 4.0])]).is_err());
}

fn y_plus_one(g: &Scope, x: &Output) -> Output {
    g.add(x, g.constant(1f32))
}

/// Named resources belong to the server: elements used to be Cancelled, or with prefetching the runs hung.
#[test]
fn an_iterator_ended_with_the_session_that_initialised_it() {
    let (_server, target) = server();
    let g = Scope::new();
    let doubled = Dataset::range(&g, 0, 5, 1).map(|_, x| vec![&x[0] * &x[0]]);
    let (plain, ahead) = (doubled.initializable_iterator(&g), doubled.prefetch(1).initializable_iterator(&g));
    let next = (plain.get_next()[0].clone(), ahead.get_next()[0].clone());
    let first = Session::connect(&target, &g).unwrap();
    for iterator in [&plain, &ahead] {
        first.run(iterator.initializer().unwrap(), &[]).unwrap();
    }
    for session in [first, Session::connect(&target, &g).unwrap(), Session::connect(&target, &g).unwrap()] {
        let (a, b) = session.run(&next, &[]).unwrap();
        assert_eq!(a.to_scalar::<i64>().unwrap(), b.to_scalar::<i64>().unwrap());
        session.close().unwrap();
    }
    let last = Session::connect(&target, &g).unwrap();
    assert_eq!(last.run(&next, &[]).unwrap().1.to_scalar::<i64>().unwrap(), 9);
}

#[test]
fn gradients_through_a_call_that_the_server_has_are_refused() {
    let (_server, target) = server();
    let call = |g: &Scope, x: &Output| {
        let v = g.variable("counted", &g.constant(0f32));
        let f = g
            .function("f", &[(DataType::Float, PartialShape::scalar())], |g, a| {
                let handle = &v.handle;
                g.op("AssignAddVariableOp").input(handle).input(g.constant(1f32)).build();
                vec![&a[0] * &a[0]]
            })
            .unwrap();
        let op = g.op("StatefulPartitionedCall").inputs(&[x, &f.captured[0]]);
        op.attr("Tout", Attr::types(&[DataType::Float])).attr("f", f.func).output()
    };
    let g = Scope::new();
    let x = g.placeholder(DataType::Float, &[]);
    let y = call(&g, &x);
    let early = Session::connect(&target, &g).unwrap();
    let d = g.gradients(&[&y], &[&x])[0].dense(&g).unwrap();
    let e = early.run(&d, &[feed(&x, 3f32)]).unwrap_err();
    assert_eq!(e.code(), Code::FailedPrecondition, "{e}");
    let late = Session::connect(&target, &g).unwrap();
    late.run(&g.init(), &[]).unwrap();
    assert_eq!(late.run(&d, &[feed(&x, 3f32)]).unwrap().to_scalar::<f32>().unwrap(), 6.0);
}

#[test]
fn a_step_that_waits_ends_with_its_time_and_the_session_goes_on() {
    let (_server, target) = server();
    let g = Scope::new();
    let queue = g
        .op("FIFOQueueV2")
        .attr("component_types", Attr::types(&[DataType::Float]))
        .attr("shared_name", "q")
        .output();
    let out = g
        .op("QueueDequeueV2")
        .input(&queue)
        .attr("component_types", Attr::types(&[DataType::Float]))
        .output();
    let one = g.constant(1f32);
    let s = Session::connect(&target, &g).unwrap();
    let options = RunOptions { timeout: Some(Duration::from_millis(30)), ..Default::default() };
    assert_eq!(s.run_with(&out, &[], &options).err().unwrap().code(), Code::DeadlineExceeded);
    assert_eq!(s.run(&one, &[]).unwrap().to_scalar::<f32>().unwrap(), 1.0);
}

#[test]
fn a_server_that_is_gone_is_unavailable() {
    let (server, target) = server();
    let g = Scope::new();
    let one = g.constant(1f32);
    let s = Session::connect(&target, &g).unwrap();
    server.stop();
    assert_eq!(s.run(&one, &[]).unwrap_err().code(), Code::Unavailable);
    assert_eq!(Session::connect(&target, &g).err().unwrap().code(), Code::Unavailable);
}
