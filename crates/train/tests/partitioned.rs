//! Partitioned variables: looked up, concatenated, saved as one tensor.

use thalweg_client::{Gradient, Partitioner, Scope, Session, Tensor};
use thalweg_io::bundle::BundleReader;
use thalweg_io::scratch::Scratch;
use thalweg_train::embedding::{PartitionStrategy, embedding_lookup};
use thalweg_train::initializers::{Identity, RandomUniform, glorot_uniform};
use thalweg_train::optimizers::{Minimize, Momentum};
use thalweg_train::saver::Saver;

fn numbers(t: &Tensor) -> Vec<f32> {
    t.as_slice::<f32>().unwrap().to_vec()
}

const UNIFORM: RandomUniform = RandomUniform { low: -1.0, high: 1.0, seed: Some(3) };

#[test]
fn rows_are_found_in_their_parts() {
    let g = Scope::new();
    let cut = Partitioner::FixedSize { shards: 3, axis: 0 };
    let table = g.get_partitioned_variable("table", &[7, 2], &UNIFORM, &cut);
    let names: Vec<String> = table.parts.iter().map(|v| v.name()).collect();
    assert_eq!(names, ["table/part_0", "table/part_1", "table/part_2"]);
    let ids = g.constant([[6i64, 0, 3], [2, 2, 5]]);
    let whole = table.value(&g);
    assert_eq!(whole.name(), "table:0");
    let by_ranges = embedding_lookup(&g, &table.parts, &ids, PartitionStrategy::Div);
    let by_turns = embedding_lookup(&g, &table.parts, &ids, PartitionStrategy::Mod);
    let session = Session::new(&g).unwrap();
    session.run(&g.init(), &[]).unwrap();
    let (whole, by_ranges, by_turns) = session.run(&(whole, by_ranges, by_turns), &[]).unwrap();
    assert_eq!(by_ranges.shape().to_string(), "[2,3,2]");
    let row = |i: usize| numbers(&whole)[2 * i..2 * i + 2].to_vec();
    let rows = |wanted: [usize; 6]| wanted.map(row).concat();
    assert_eq!(numbers(&by_ranges), rows([6, 0, 3, 2, 2, 5]));
    // Row i / 3 of part i % 3; the parts begin with rows 0, 3 and 5.
    assert_eq!(numbers(&by_turns), rows([2, 0, 1, 5, 5, 6]));
}

#[test]
fn only_the_rows_looked_up_are_trained() {
    let g = Scope::new();
    let cut = Partitioner::FixedSize { shards: 2, axis: 0 };
    let table = g.get_partitioned_variable("table", &[4, 2], &UNIFORM, &cut);
    let rows = embedding_lookup(&g, &table.parts, &g.constant([3i32]), PartitionStrategy::Div);
    let loss = g.reduce_sum(&rows, &[]);
    let handles: Vec<_> = table.parts.iter().map(|v| &v.handle).collect();
    assert!(g.gradients(&[&loss], &handles).iter().all(|d| matches!(d, Gradient::Slices(_))));
    let train = Momentum::new(0.5, 0.9).minimize(&g, &loss, None).unwrap();
    let whole = table.value(&g);
    let session = Session::new(&g).unwrap();
    session.run(&g.init(), &[]).unwrap();
    let before = numbers(&session.run(&whole, &[]).unwrap());
    session.run(&train, &[]).unwrap();
    let after = numbers(&session.run(&whole, &[]).unwrap());
    let moved: Vec<f32> = before.iter().zip(&after).map(|(b, a)| b - a).collect();
    assert_eq!((&moved[..6], &moved[6..]), (&[0f32; 6][..], &[0.5f32; 2][..]));
}

#[test]
fn checkpoints_hold_the_whole() {
    let (dir, g) = (Scratch::new(), Scope::new());
    let cut = Partitioner::FixedSize { shards: 3, axis: 1 };
    let layer = g.variable_scope("layer");
    let table = layer.get_partitioned_variable("w", &[2, 4], &Identity { gain: 2.0 }, &cut);
    let loss = g.reduce_sum(g.square(table.value(&g)), &[]);
    Momentum::new(0.5, 0.9).minimize(&g, &loss, None).unwrap();
    let (saver, whole) = (Saver::new(&g), table.value(&g));
    let session = Session::new(&g).unwrap();
    session.run(&g.init(), &[]).unwrap();
    let saved = saver.save(&session, &dir.path("model"), None).unwrap();
    let mut reader = BundleReader::open(&saved).unwrap();
    assert_eq!(reader.names().collect::<Vec<_>>(), ["layer/w", "layer/w/Momentum"]);
    assert_eq!(numbers(&reader.read("layer/w").unwrap()), [2., 0., 0., 0., 0., 2., 0., 0.]);
    // A graph with other partitions, and one with none, read the same checkpoint.
    let other = Scope::new();
    let cut = Partitioner::FixedSize { shards: 2, axis: 0 };
    let rows = other.variable_scope("layer").get_partitioned_variable("w", &[2, 4], &UNIFORM, &cut);
    let value = rows.value(&other);
    let restorer = Saver::new(&other);
    let fresh = Session::new(&other).unwrap();
    restorer.restore(&fresh, &saved).unwrap();
    assert_eq!(numbers(&fresh.run(&value, &[]).unwrap()), numbers(&session.run(&whole, &[]).unwrap()));
    let wrong = Scope::new();
    wrong.variable_scope("layer").get_partitioned_variable("w", &[2, 5], &UNIFORM, &cut);
    let session = Session::new(&wrong).unwrap();
    let e = Saver::new(&wrong).restore(&session, &saved).unwrap_err();
    assert!(e.message().contains("'layer/w' has shape [2,5] in the graph but [2,4]"), "{e}");
}

#[test]
fn parts_start_as_parts_of_the_whole_would() {
    let g = Scope::new();
    let cut = Partitioner::FixedSize { shards: 50, axis: 0 };
    let w = g.get_partitioned_variable("w", &[100, 50], &glorot_uniform(Some(1)), &cut);
    let whole = w.value(&g);
    let session = Session::new(&g).unwrap();
    session.run(&g.init(), &[]).unwrap();
    let largest = numbers(&session.run(&whole, &[]).unwrap()).iter().fold(0f32, |m, v| m.max(v.abs()));
    let limit = (6f32 / 150.0).sqrt();
    assert!(largest <= limit && largest > 0.95 * limit, "{largest}, limit {limit}");
}
