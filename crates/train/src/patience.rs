//! `Patience`: follows a metric over evaluations, and says when it has stopped improving.

/// The best value of a metric so far, and how many evaluations have passed since.
#[derive(Clone, Debug)]
pub struct Patience {
    larger_is_better: bool,
    max_worse: Option<u64>,
    best: Option<(i64, f32)>,
    worse: u64,
}

/// What an evaluation means for training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The best value so far.
    Best,
    /// Not better than the best.
    Worse,
    /// Not better for as many evaluations in a row as are allowed.
    Stop,
}

impl Patience {
    /// For a metric that should fall, such as `loss`; never says stop.
    pub fn lower_is_better() -> Patience {
        Patience { larger_is_better: false, max_worse: None, best: None, worse: 0 }
    }

    /// For a metric that should rise, such as `accuracy`.
    pub fn larger_is_better() -> Patience {
        Patience { larger_is_better: true, ..Patience::lower_is_better() }
    }

    /// Says stop after this many evaluations in a row that are not better than the best.
    pub fn stop_after(mut self, evaluations: u64) -> Patience {
        self.max_worse = Some(evaluations);
        self
    }

    /// Takes the value of an evaluation at this step. NaN is never better.
    pub fn report(&mut self, step: i64, value: f32) -> Verdict {
        let better = match self.best {
            None => !value.is_nan(),
            Some((_, best)) if self.larger_is_better => value > best,
            Some((_, best)) => value < best,
        };
        if better {
            self.best = Some((step, value));
            self.worse = 0;
            return Verdict::Best;
        }
        self.worse = self.worse.saturating_add(1);
        match self.max_worse {
            Some(most) if self.worse >= most => Verdict::Stop,
            _ => Verdict::Worse,
        }
    }

    /// The step and value of the best evaluation.
    pub fn best(&self) -> Option<(i64, f32)> {
        self.best
    }

    /// How many evaluations have passed since the best.
    pub fn worse(&self) -> u64 {
        self.worse
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::*;
    use super::*;

    fn verdicts(mut patience: Patience, values: &[f32]) -> Vec<Verdict> {
        values.iter().zip(0..).map(|(v, step)| patience.report(step, *v)).collect()
    }

    #[test]
    fn it_says_stop_after_so_many_evaluations_that_are_not_better() {
        let falling = Patience::lower_is_better().stop_after(2);
        assert_eq!(
            verdicts(falling, &[3.0, 2.0, 2.0, 1.0, 1.5, 1.0]),
            [Best, Best, Worse, Best, Worse, Stop]
        );
        let rising = Patience::larger_is_better().stop_after(1);
        assert_eq!(verdicts(rising, &[0.5, 0.6, 0.6]), [Best, Best, Stop]);
        assert_eq!(verdicts(Patience::lower_is_better(), &[1.0, 2.0, 3.0, 4.0]), [Best, Worse, Worse, Worse]);
    }

    #[test]
    fn nan_is_never_better() {
        let mut patience = Patience::lower_is_better().stop_after(3);
        assert_eq!(patience.report(1, f32::NAN), Worse);
        assert_eq!(patience.report(2, 5.0), Best);
        assert_eq!(patience.report(3, f32::NAN), Worse);
        assert_eq!((patience.best(), patience.worse()), (Some((2, 5.0)), 1));
    }
}
