//! `keeping DIR NEWEST HOURS TIME...`: saves one checkpoint at each of these times, in seconds of a clock that stands still between them and
//! at zero before, for comparison with TensorFlow.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use thalweg_client::{Code, Error, Result, Scope, Session};
use thalweg_train::saver::{Keep, Saver};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [dir, newest, hours, times @ ..] = &args[..] else {
        println!("usage: keeping DIR NEWEST HOURS TIME...");
        return Ok(());
    };
    let number = |text: &String| {
        text.parse::<f64>().map_err(|e| Error::new(Code::InvalidArgument, format!("{text}: {e}")))
    };
    let keep = Keep { newest: number(newest)? as usize, every_n_hours: number(hours)? };
    let g = Scope::new();
    g.variable("v", &g.constant(1f32));
    let now = Arc::new(AtomicI64::new(0));
    let clock = now.clone();
    let saver = Saver::new(&g).clock(Arc::new(move || clock.load(Ordering::SeqCst) as f64)).keep(keep);
    let session = Session::new(&g)?;
    session.run(&g.init(), &[])?;
    for (i, time) in times.iter().enumerate() {
        now.store(number(time)? as i64, Ordering::SeqCst);
        saver.save(&session, &Path::new(dir).join("model"), Some(i as i64))?;
    }
    Ok(())
}
