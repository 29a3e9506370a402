//! Placement of a replica's graph. Expected devices are TensorFlow's.

use thalweg_client::{DataType, Scope, Session, Variable};
use thalweg_train::initializers::Zeros;
use thalweg_train::optimizers::{Adam, Minimize};
use thalweg_train::{ReplicaDeviceSetter, get_or_create_global_step};

fn variable(g: &Scope, name: &str) -> String {
    g.variable(name, &g.constant(vec![1f32, 2.0])).handle.op().device()
}

fn constant(g: &Scope) -> String {
    g.constant(1f32).op().device()
}

fn setter(merge: bool) -> Scope {
    let setter = ReplicaDeviceSetter::new(3).worker_device("/job:worker/task:1/cpu:0").merge_devices(merge);
    Scope::new().device_function(setter.device_function())
}

#[test]
fn variables_go_round_the_parameter_servers_and_the_rest_to_the_worker() {
    let g = setter(true);
    let placed = ["a", "b", "c", "d"].map(|name| variable(&g, name));
    assert_eq!(placed, ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:2", "/job:ps/task:0"]);
    assert_eq!(constant(&g), "/job:worker/task:1/device:CPU:0");
}

#[test]
fn what_inner_scopes_say_counts_and_the_rest_is_filled_in() {
    let g = setter(true);
    let inner = ["/job:ps/task:2", "/job:other", "/task:7", "/gpu:1"].map(|d| g.device(d));
    let constants = [
        "/job:ps/task:2/device:CPU:0",
        "/job:other/task:1/device:CPU:0",
        "/job:worker/task:7/device:CPU:0",
        "/job:worker/task:1/device:GPU:1",
    ];
    assert_eq!(inner.each_ref().map(constant), constants);
    // All but the one of another job advance the round-robin, as in TensorFlow.
    let variables = ["/job:ps/task:2", "/job:other", "/job:ps/task:7", "/job:ps/task:2/device:GPU:1"];
    assert_eq!(inner.each_ref().map(|g| variable(g, "v")), variables);
    let g = setter(false);
    let inner = ["/job:ps/task:2", "/job:other", "/task:7"].map(|d| g.device(d));
    assert_eq!(inner.each_ref().map(constant), ["/job:ps/task:2", "/job:other", "/task:7"]);
    assert_eq!(variable(&inner[2], "v"), "/task:7");
    // Outside of the function, scopes fill in missing fields.
    let outer = Scope::new().device("/replica:4").device_function(|node| format!("{}/task:1", node.device));
    assert_eq!(constant(&outer.device("/job:worker")), "/job:worker/replica:4/task:1");
}

#[test]
fn the_greedy_setter_goes_by_bytes() {
    let g = Scope::new().device_function(ReplicaDeviceSetter::new(2).greedy().device_function());
    let place = |name: &str, dims: &[usize]| g.get_variable(name, dims, &Zeros).handle.op().device();
    let placed = [place("a", &[10]), place("b", &[4]), place("c", &[5]), place("d", &[2]), place("e", &[1])];
    let tasks = placed.each_ref().map(|d| d.strip_prefix("/job:ps/task:").unwrap());
    assert_eq!(tasks, ["0", "1", "1", "1", "0"]);
    let none = Scope::new().device_function(ReplicaDeviceSetter::new(0).device_function());
    assert_eq!((variable(&none, "a"), constant(&none)), (String::new(), String::new()));
}

#[test]
fn all_of_a_variable_and_its_slots_is_where_it_is() {
    let g = setter(true);
    let w = g.get_variable("w", &[2, 3], &Zeros);
    let step = get_or_create_global_step(&g);
    let loss = g.reduce_sum(g.square(w.gather(&g, g.constant(vec![1i32]))), &[]);
    Adam::new(0.1).minimize(&g, &loss, Some(&step)).unwrap();
    let device = |v: &Variable| (v.handle.op().device(), v.init.device(), v.initial.op().device());
    for v in g.global_variables() {
        let expected = if v.name() == "global_step" { "/job:ps/task:1" } else { "/job:ps/task:0" };
        assert_eq!(device(&v), (expected.into(), expected.into(), expected.into()), "{}", v.name());
    }
    assert_eq!(loss.op().device(), "/job:worker/task:1/device:CPU:0");
    // Gradients are placed on the worker.
    let def = g.to_graph_def().unwrap();
    let gradients: Vec<_> = def.node.iter().filter(|n| n.name.starts_with("gradients/")).collect();
    assert!(gradients.len() > 3);
    assert!(gradients.iter().all(|n| n.device == "/job:worker/task:1/device:CPU:0"));
}

#[test]
fn who_uses_a_variable_goes_where_it_is_whatever_device_it_asks_for() {
    let g = Scope::new();
    let w = g.device("/cpu:1").variable("w", &g.constant(vec![1f32, 2.0, 3.0]));
    let rows = w.gather(&g.device("/cpu:0"), g.constant(vec![2i32, 0]));
    let options = thalweg_client::SessionOptions { cpu_devices: 2, ..Default::default() };
    let session = Session::with_options(&g, options).unwrap();
    session.run(&w.init, &[]).unwrap();
    assert_eq!(session.run(&rows, &[]).unwrap().as_slice::<f32>().unwrap(), [3.0, 1.0]);
    assert_eq!(rows.dtype(), DataType::Float);
}
