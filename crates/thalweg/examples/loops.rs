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
            |l, v| l.scope.greater(&v[0], &l.constant(1i64)),
            |l, v| {
                let odd = l.scope.equal(&(&v[0] % 2i64), &l.constant(1i64));
                let next = l.scope.cond(
                    &odd,
                    &[&v[0]],
                    |s, x| vec![s.add(&s.mul(&x[0], &s.constant(3i64)), &s.constant(1i64))],
                    |s, x| vec![s.floor_div(&x[0], &s.constant(2i64))],
                );
                vec![next[0].clone(), l.scope.add(&v[1], &l.constant(1i64))]
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
