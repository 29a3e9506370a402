//! A server with a low memory limit: a step that exceeds it fails with the name of its node, and other clients are not affected.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use thalweg::prelude::*;

/// A server process.
struct Server {
    process: Child,
    target: String,
}

impl Server {
    fn start(limit: &str) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
        command.args(["server", "--port", "0", "--memory-limit", limit]).env_remove("TF_CONFIG");
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let target = line.split_whitespace().find(|w| w.starts_with("grpc://")).unwrap();
        Server { target: target.trim_end_matches(',').to_string(), process }
    }

    fn session(&self, g: &Scope) -> Session {
        Session::connect(&self.target, g).unwrap()
    }

    /// Another client runs small steps meanwhile, each of which must succeed.
    fn others_go_on<T>(&self, meanwhile: impl FnOnce() -> T) -> T {
        let done = AtomicBool::new(false);
        std::thread::scope(|threads| {
            let other = threads.spawn(|| {
                let g = Scope::new();
                let x = g.placeholder(DataType::Float, &[100]);
                let y = &x + &g.constant(1f32);
                let session = self.session(&g);
                let mut steps = 0;
                while steps == 0 || !done.load(Ordering::Relaxed) {
                    session.run(&y, &[feed(&x, vec![1f32; 100])]).unwrap();
                    steps += 1;
                }
                session.close().unwrap();
            });
            let end = OnDrop(&done);
            let result = meanwhile();
            drop(end);
            other.join().unwrap();
            result
        })
    }
}

/// Sets the flag, also when a test panics.
struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The step failed with ResourceExhausted, at a node of this name.
fn refused_at<T>(result: Result<T>, node: &str) {
    let e = result.err().expect("there is no memory for it");
    assert_eq!(e.code(), Code::ResourceExhausted, "{e}");
    assert!(e.to_string().contains(node), "{node}: {e}");
}

/// `mib` MiB that constant folding cannot remove.
fn block(g: &Scope, name: &str, mib: i32) -> Output {
    let dims = g.constant(vec![mib, 1 << 18]);
    g.op("RandomUniform").name(name).input(&dims).attr("dtype", DataType::Float).output()
}

#[test]
fn a_tensor_that_does_not_fit_is_refused_and_names_its_node() {
    let server = Server::start("300MiB");
    let g = Scope::new();
    let (huge, large) = (block(&g, "huge", 200), block(&g, "large", 100));
    // Each alone fits, all of them together do not.
    let several: Vec<Output> = (0..4).map(|_| block(&g, "several", 70)).collect();
    let all = g.group(&several.iter().map(|s| s.op()).collect::<Vec<_>>().iter().collect::<Vec<_>>());
    let sum = g.op("AddN").name("sum").inputs(&several.iter().collect::<Vec<_>>()).output();
    let session = server.session(&g);
    server.others_go_on(|| {
        refused_at(session.run(&huge.op(), &[]), "huge");
        refused_at(session.run(&sum.op(), &[]), "several");
        session.run(&large.op(), &[]).unwrap();
        session.run(&all, &[]).unwrap();
    });
}

#[test]
fn a_queue_that_is_filled_for_ever_is_refused_and_given_back_with_its_session() {
    let server = Server::start("300MiB");
    let fill = || {
        let g = Scope::new();
        let types = Attr::types(&[DataType::Float]);
        let queue = g.op("FIFOQueueV2").attr("component_types", types).attr("capacity", -1i64).output();
        let put = g.op("QueueEnqueueV2").input(&queue).inputs(&[&block(&g, "made", 1)]).build();
        let session = server.session(&g);
        let put_in = server.others_go_on(|| {
            let mut put_in = 0;
            loop {
                match session.run(&put, &[]) {
                    Ok(()) => put_in += 1,
                    e => {
                        refused_at(e, "made");
                        return put_in;
                    }
                }
            }
        });
        session.close().unwrap();
        put_in
    };
    let (first, second) = (fill(), fill());
    assert!(first > 120 && first < 236, "{first}");
    assert!(second >= first - 10, "{second} after {first}");
}

#[test]
fn what_is_fed_into_a_queue_counts_for_the_session_that_fed_it() {
    let server = Server::start("300MiB");
    let g = Scope::new();
    let types = Attr::types(&[DataType::Float]);
    let queue = g.op("FIFOQueueV2").attr("component_types", types).attr("capacity", -1i64).output();
    let x = g.placeholder(DataType::Float, &[-1]);
    let put = g.op("QueueEnqueueV2").input(&queue).inputs(&[&x]).build();
    let session = server.session(&g);
    let fed = vec![1f32; 4 << 18];
    let refused = server.others_go_on(|| {
        (0..100).find_map(|_| session.run(&put, &[feed(&x, fed.clone())]).err()).expect("400 MiB do not fit")
    });
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
}

#[test]
fn loops_that_grow_are_refused_while_they_run() {
    let server = Server::start("300MiB");
    let for_ever = |g: &Scope, _: &[Output]| g.constant(true);
    let g = Scope::new();
    // Of unknown shape, so that the loop may change it.
    let start = g.op("PlaceholderWithDefault").input(g.constant(vec![1f32; 1000]));
    let start = start.attr("shape", PartialShape::unknown()).output();
    let doubled = g.while_loop(&[&start], 1, for_ever, |g, x| vec![g.concat(&[&x[0], &x[0]], 0)]);

    let array = g.op("TensorArrayV3").input(g.constant(0)).attr("dtype", DataType::Float);
    let array = array.attr("dynamic_size", true).outputs();
    let written = g.while_loop(&[&g.constant(0), &array[1]], 1, for_ever, |g, x| {
        let write = g.op("TensorArrayWriteV3").name("write").input(&array[0]).input(&x[0]);
        vec![&x[0] + 1i32, write.input(block(g, "made", 1)).input(&x[1]).output()]
    });
    let session = server.session(&g);
    server.others_go_on(|| {
        for _ in 0..3 {
            refused_at(session.run(&doubled[0].op(), &[]), "concat");
            refused_at(session.run(&written[1].op(), &[]), "made");
        }
    });
}

#[test]
fn strings_count_as_other_tensors_do() {
    let server = Server::start("300MiB");
    let g = Scope::new();
    let mut x = g.placeholder_named("text", DataType::String, Some(&[]));
    let text = x.clone();
    for _ in 0..30 {
        x = g.op("StringJoin").name("joined").inputs(&[&x, &x]).output();
    }
    let types = Attr::types(&[DataType::String]);
    let queue = g.op("FIFOQueueV2").attr("component_types", types).attr("capacity", -1i64).output();
    let made = g.op("StringJoin").name("made").inputs(&[&text, &text]).output();
    let put = g.op("QueueEnqueueV2").input(&queue).inputs(&[&made]).build();
    let session = server.session(&g);
    let value = || Tensor::string(vec![b'x'; 500_000]);
    server.others_go_on(|| {
        for _ in 0..3 {
            refused_at(session.run(&x.op(), &[feed(&text, value())]), "joined");
        }
        let refused = (0..400).find_map(|_| session.run(&put, &[feed(&text, value())]).err());
        let refused = refused.expect("400 MB of strings do not fit");
        assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    });
}

#[test]
fn a_graph_that_does_not_fit_is_refused_while_it_is_read_or_imported() {
    let server = Server::start("300MiB");
    let g = Scope::new();
    let mut x = g.placeholder(DataType::Float, &[]);
    for _ in 0..150_000 {
        x = g.op("Neg").input(&x).output();
    }
    server.others_go_on(|| {
        for _ in 0..2 {
            let refused = Session::connect(&server.target, &g).err().expect("it does not fit");
            assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
            let told = ["reading a message", "importing 150001 nodes"];
            assert!(told.iter().any(|words| refused.message().contains(words)), "{refused}");
        }
    });
}
