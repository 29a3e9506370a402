//! `cells CELL DIR STEPS`: a recurrent net of one of TensorFlow's cells, trained from a checkpoint `DIR/start` that TensorFlow can start from
//! too; prints the loss of each step and saves `DIR/end`.

use std::path::Path;
use thalweg_client::{Code, DataType, Error, Result, Scope, Session};
use thalweg_train::optimizers::{GradientDescent, Minimize};
use thalweg_train::rnn::{Cell, Gru, Lstm, LstmCell, Rnn, Sequence, dynamic_rnn};
use thalweg_train::saver::Saver;

const UNITS: usize = 5;

fn cell(name: &str) -> Result<Box<dyn Cell>> {
    Ok(match name {
        "rnn" => Box::new(Rnn::new(UNITS)),
        "gru" => Box::new(Gru::new(UNITS)),
        "basic_lstm" => Box::new(Lstm::new(UNITS)),
        "lstm" => Box::new(LstmCell::new(UNITS)),
        "peepholes" => Box::new(LstmCell::new(UNITS).peepholes().forget_bias(0.5)),
        "cell_clip" => Box::new(LstmCell::new(UNITS).cell_clip(0.2)),
        "projection" => Box::new(LstmCell::new(UNITS).projection(3)),
        "everything" => {
            Box::new(LstmCell::new(UNITS).peepholes().cell_clip(0.3).projection(3).proj_clip(0.1))
        }
        other => return Err(Error::new(Code::InvalidArgument, format!("no cell is named '{other}'"))),
    })
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, dir, steps] = &args[..] else {
        println!("usage: cells CELL DIR STEPS");
        return Ok(());
    };
    let (dir, steps) = (Path::new(dir), steps.parse::<usize>().unwrap_or(10));
    let g = Scope::new();
    g.set_random_seed(4);
    // Deterministic, easy to reproduce in Python.
    let numbers: Vec<f64> = (0..4 * 6 * 3).map(|i| f64::from(i * 37 % 41 - 20) / 10.0).collect();
    let x = g.constant((numbers, [4, 6, 3]));
    let lengths = g.constant([6i32, 3, 5, 1]);
    let sequence = Sequence { lengths: Some(&lengths), ..Sequence::new(&x) };
    let (y, state) = dynamic_rnn(&g, &*cell(name)?, &sequence);
    let target = g.number(0.3, DataType::Double);
    let mut loss = g.reduce_sum(g.square(&(&y - &target)), &[]);
    for s in &state {
        loss = &loss + &g.reduce_sum(s, &[]);
    }
    let train = GradientDescent::new(0.02).minimize(&g, &loss, None)?;
    let (saver, session) = (Saver::new(&g), Session::new(&g)?);
    session.run(&g.init(), &[])?;
    saver.save(&session, &dir.join("start"), None)?;
    for _ in 0..steps {
        println!("{}", session.run(&(&loss, &train), &[])?.0.to_scalar::<f64>()?);
    }
    saver.save(&session, &dir.join("end"), None)?;
    Ok(())
}
