//! A dataset with nested functions: prints its elements, and writes its graph to the file named, for any other program to run.

use thalweg_client::data::Dataset;
use thalweg_client::{Code, Result, Scope, Session};
use thalweg_proto::Message;

fn main() -> Result<()> {
    let g = Scope::new();
    g.set_random_seed(11);
    let next = Dataset::range(&g, 0, 30, 1)
        .shuffle(10, Some(3))
        .filter(|g, x| g.less(&x[0], g.constant(12i64)))
        .flat_map(|g, x| {
            let x = x[0].clone();
            Dataset::range(g, 0, 3, 1).map(move |_, y| vec![&x * 10i64 + &y[0]])
        })
        .repeat(Some(2))
        .batch(7)
        .prefetch(2)
        .one_shot_iterator(&g)
        .get_next();
    g.op("Identity").name("next").input(&next[0]).output();
    if let Some(file) = std::env::args().nth(1) {
        std::fs::write(file, g.to_graph_def()?.encode_to_vec())?;
    }
    let session = Session::new(&g)?;
    loop {
        match session.run(&next[0], &[]) {
            Ok(batch) => println!("{:?}", batch.as_slice::<i64>()?),
            Err(e) if e.code() == Code::OutOfRange => return Ok(()),
            Err(e) => return Err(e),
        }
    }
}
