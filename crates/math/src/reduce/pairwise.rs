//! Pairwise summation of a sequence of parts.

/// The parts combined so far. The stack has one part for each one bit of the number
/// of parts pushed, as in a binary counter.
pub(super) struct Pairwise<A> {
    stack: Vec<A>,
    pushed: usize,
}

impl<A> Pairwise<A> {
    pub(super) fn new() -> Self {
        Self { stack: Vec::new(), pushed: 0 }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, mut part: A, combine: impl Fn(A, A) -> A) {
        for _ in 0..self.pushed.trailing_ones() {
            let left = self.stack.pop().expect("a part for each one bit");
            part = combine(left, part);
        }
        self.stack.push(part);
        self.pushed += 1;
    }

    /// All parts combined, or `None` if there were none.
    #[inline(always)]
    pub(super) fn finish(mut self, combine: impl Fn(A, A) -> A) -> Option<A> {
        let mut whole = self.stack.pop()?;
        while let Some(left) = self.stack.pop() {
            whole = combine(left, whole);
        }
        Some(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_their_order_in_a_balanced_tree() {
        let combine = |a: String, b: String| format!("({a}{b})");
        let mut parts = Pairwise::new();
        for part in ["a", "b", "c", "d", "e", "f", "g"] {
            parts.push(part.to_string(), combine);
        }
        assert_eq!(parts.finish(combine).unwrap(), "(((ab)(cd))((ef)g))");
    }
}
