//! A table partitioned over several parameter servers: looked up, trained and saved as in one process.

use crate::tasks::Cluster;
use thalweg_client::{Operation, Output, Partitioner, Scope, Session, Tensor, feed};
use thalweg_io::bundle::BundleReader;
use thalweg_io::scratch::Scratch;
use thalweg_train::ReplicaDeviceSetter;
use thalweg_train::embedding::{PartitionStrategy, embedding_lookup};
use thalweg_train::initializers::RandomUniform;
use thalweg_train::optimizers::{Adagrad, Minimize};
use thalweg_train::saver::Saver;

const ROWS: usize = 11;
const COLUMNS: usize = 3;
/// Rows that each step looks up, with duplicates, and not of every partition.
const LOOKED_UP: [[i64; 4]; 4] = [[0, 10, 4, 4], [1, 2, 1, 3], [9, 8, 0, 7], [5, 5, 5, 6]];

struct Program {
    g: Scope,
    ids: Output,
    rows: Output,
    loss: Output,
    train: Operation,
    whole: Output,
    saver: Saver,
    devices: Vec<String>,
}

fn program(g: Scope) -> Program {
    let start = RandomUniform { low: -1.0, high: 1.0, seed: Some(3) };
    let cut = Partitioner::FixedSize { shards: 3, axis: 0 };
    let table = g.get_partitioned_variable("table", &[ROWS, COLUMNS], &start, &cut);
    let ids = g.placeholder(thalweg_client::DataType::Int64, &[4]);
    let rows = embedding_lookup(&g, &table.parts, &ids, PartitionStrategy::Div);
    let loss = g.reduce_sum(g.square(g.sub(&rows, g.constant(1f32))), &[]);
    let train = Adagrad::new(0.3).minimize(&g, &loss, None).unwrap();
    let whole = table.value(&g);
    let saver = Saver::new(&g);
    let devices = table.parts.iter().map(|v| v.handle.op().device()).collect();
    Program { g, ids, rows, loss, train, whole, saver, devices }
}

fn numbers(t: &Tensor) -> Vec<f32> {
    t.as_slice::<f32>().unwrap().to_vec()
}

impl Program {
    fn spread(cluster: &Cluster, worker: usize) -> (Program, Session) {
        let setter = ReplicaDeviceSetter::for_cluster(&cluster.spec)
            .worker_device(&format!("/job:worker/task:{worker}"));
        let p = program(Scope::new().device_function(setter.device_function()));
        let session = Session::connect(&cluster.target(2 + worker), &p.g).unwrap();
        (p, session)
    }

    fn whole(&self, session: &Session) -> Vec<f32> {
        numbers(&session.run(&self.whole, &[]).unwrap())
    }

    /// The rows looked up and the loss of each step.
    fn train(&self, session: &Session) -> Vec<(Vec<f32>, f32)> {
        let step = |ids: &[i64; 4]| {
            let ids = [feed(&self.ids, *ids)];
            let (rows, loss) = session.run(&(&self.rows, &self.loss), &ids).unwrap();
            session.run(&self.train, &ids).unwrap();
            (numbers(&rows), loss.to_scalar().unwrap())
        };
        LOOKED_UP.iter().map(step).collect()
    }
}

#[test]
fn a_table_in_parts_on_two_servers_is_trained_and_saved_as_in_one_process() {
    let dir = Scratch::new();
    let p = program(Scope::new());
    let alone = Session::new(&p.g).unwrap();
    alone.run(&p.g.init(), &[]).unwrap();
    let start = p.whole(&alone);
    let expected = p.train(&alone);
    let trained = p.whole(&alone);

    let mut cluster = Cluster::of(&[("ps", 2), ("worker", 2)]);
    let (spread, session) = Program::spread(&cluster, 0);
    assert_eq!(spread.devices, ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]);
    session.run(&spread.g.init(), &[]).unwrap();
    assert_eq!(spread.whole(&session), start);
    assert_eq!(spread.train(&session), expected);
    assert_eq!(spread.whole(&session), trained);

    // The checkpoint has one table and one slot, whatever the partitions and their devices.
    let saved = spread.saver.save(&session, &dir.path("spread"), None).unwrap();
    let mut reader = BundleReader::open(&saved).unwrap();
    assert_eq!(reader.names().collect::<Vec<_>>(), ["table", "table/Adagrad"]);
    assert_eq!(numbers(&reader.read("table").unwrap()), trained);

    // After a restart of the cluster, another worker and a single process both restore it and continue alike.
    drop(session);
    cluster.restart(0);
    cluster.restart(1);
    let (other, session) = Program::spread(&cluster, 1);
    other.saver.restore(&session, &saved).unwrap();
    let alone = Session::new(&p.g).unwrap();
    p.saver.restore(&alone, &saved).unwrap();
    assert_eq!(other.whole(&session), trained);
    assert_eq!(other.train(&session), p.train(&alone));
    assert_eq!(other.whole(&session), p.whole(&alone));
}
