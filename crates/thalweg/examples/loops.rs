//! A loop with a condition inside it, made of Switch, Merge, Enter, Exit and NextIteration: how many steps does the
//! Collatz sequence take from each start?

use thalweg::prelude::*;

fn main() -> Result<()> {
    for parallel_iterations in [1, 32] {
        let g = Scope::new();
        let start = g.placeholder_named("start", DataType::Int64, Some(&[]));
        let zero = g.constant(0i64);
        let steps = g.while_loop(
            &[&start, &zero],
            parallel_iterations,
            |g, v| g.greater(&v[0], g.constant(1i64)),
            |g, v| {
                let n = &v[0];
                let odd = g.equal(&(n % 2i64), g.constant(1i64));
                let next = g.cond(
                    &odd,
                    &[],
                    |_, _| vec![n * 3i64 + 1i64],
                    |g, _| vec![g.floor_div(n, g.constant(2i64))],
                );
                vec![next[0].clone(), &v[1] + 1i64]
            },
        );
        let session = Session::new(&g)?;
        for n in [1i64, 6, 27, 97] {
            let steps = session.run(&steps[1], &[feed(&start, n)])?;
            println!("{parallel_iterations:>2} parallel: {n:>3} takes {steps} steps");
        }
    }
    Ok(())
}
