//! A table of seven rows in three partitions, trained by Adagrad: `partitioned train PREFIX` saves it, `partitioned show PREFIX`
//! prints a checkpoint, as the graph's own saver restores it.

use std::path::Path;
use thalweg_client::{Code, Error, PartitionedVariable, Partitioner, Result, Scope, Session};
use thalweg_train::embedding::{PartitionStrategy, embedding_lookup};
use thalweg_train::initializers::RandomNormal;
use thalweg_train::optimizers::{Adagrad, Minimize};
use thalweg_train::saver::Saver;

fn table(g: &Scope) -> PartitionedVariable {
    let normal = RandomNormal { mean: 0.0, stddev: 1.0, seed: Some(1) };
    g.get_partitioned_variable("table", &[7, 3], &normal, &Partitioner::FixedSize { shards: 3, axis: 0 })
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [command, prefix] = args.as_slice() else {
        return Err(Error::new(Code::InvalidArgument, "partitioned train PREFIX | partitioned show PREFIX"));
    };
    let g = Scope::new();
    let table = table(&g);
    let rows = embedding_lookup(&g, &table.parts, &g.constant([6i64, 0, 3, 3]), PartitionStrategy::Div);
    let loss = g.reduce_sum(g.square(&rows), &[]);
    let train = Adagrad::new(0.1).minimize(&g, &loss, None)?;
    let saver = Saver::new(&g);
    let whole = table.value(&g);
    let session = Session::new(&g)?;
    match command.as_str() {
        "train" => {
            session.run(&g.init(), &[])?;
            for _ in 0..5 {
                session.run(&train, &[])?;
            }
            saver.save(&session, Path::new(prefix), None)?;
        }
        _ => saver.restore(&session, Path::new(prefix))?,
    }
    for number in session.run(&whole, &[])?.as_slice::<f32>()? {
        println!("{number}");
    }
    Ok(())
}
