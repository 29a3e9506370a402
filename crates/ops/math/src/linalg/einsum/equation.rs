//! Equations such as `...ij,...jk->...ik`.

use crate::prelude::*;

/// More than the dimensions of any tensor.
const MOST_LABELS: usize = 300;

/// An axis in an equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// A letter.
    Label(u8),
    /// A dimension of an ellipsis, counted from its end: these broadcast.
    Ellipsis(usize),
}

/// The axes of a tensor in an equation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    pub before: Vec<u8>,
    /// The labels after the ellipsis, if there is one.
    pub after: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equation {
    pub inputs: Vec<Term>,
    pub output: Term,
}

impl Term {
    fn parse(text: &[u8], equation: &str) -> Result<Term> {
        let dots = || invalid!("a '.' in '{equation}' that is not part of an ellipsis");
        // No tensor has so many dimensions, and labels are searched one by one.
        if text.len() > MOST_LABELS {
            return Err(invalid!("a term of {} labels", text.len()));
        }
        let Some(at) = text.iter().position(|b| *b == b'.') else {
            return Ok(Term { before: reserve::copied(text)?, after: None });
        };
        let (before, rest) = text.split_at(at);
        let after = rest.strip_prefix(b"...").ok_or_else(dots)?;
        if after.contains(&b'.') {
            return Err(invalid!("more than one ellipsis in a term of '{equation}'"));
        }
        Ok(Term { before: reserve::copied(before)?, after: Some(reserve::copied(after)?) })
    }

    pub fn has_ellipsis(&self) -> bool {
        self.after.is_some()
    }

    /// The labels, those after an ellipsis too.
    pub fn labels(&self) -> impl Iterator<Item = u8> + '_ {
        self.before.iter().chain(self.after.iter().flatten()).copied()
    }

    pub fn has(&self, label: u8) -> bool {
        self.labels().any(|l| l == label)
    }

    /// The axes of a tensor of this rank.
    pub fn axes(&self, rank: usize, input: usize) -> Result<Vec<Axis>> {
        let named = self.labels().count();
        let hidden = match rank.checked_sub(named) {
            Some(hidden) if hidden == 0 || self.has_ellipsis() => hidden,
            None if self.has_ellipsis() => {
                return Err(invalid!("Expected input {input} to have rank at least {named} but got: {rank}"));
            }
            _ => return Err(invalid!("Expected input {input} to have rank {named} but got: {rank}")),
        };
        self.with_hidden(hidden)
    }

    /// The axes, where an ellipsis stands for so many dimensions.
    pub fn with_hidden(&self, hidden: usize) -> Result<Vec<Axis>> {
        let hidden = if self.has_ellipsis() { hidden } else { 0 };
        let labels = |l: &[u8]| reserve::collect(l.iter().map(|l| Axis::Label(*l)));
        let mut axes = labels(&self.before)?;
        for k in (0..hidden).rev() {
            reserve::push(&mut axes, Axis::Ellipsis(k))?;
        }
        for axis in labels(self.after.as_deref().unwrap_or(&[]))? {
            reserve::push(&mut axes, axis)?;
        }
        Ok(axes)
    }

    pub fn text(&self) -> String {
        let part = |l: &[u8]| String::from_utf8_lossy(l).into_owned();
        match &self.after {
            None => part(&self.before),
            Some(after) => format!("{}...{}", part(&self.before), part(after)),
        }
    }
}

impl Equation {
    /// The equation in the attrs of a node.
    pub fn of(attrs: &Attrs) -> Result<Equation> {
        let text = attrs.str("equation")?;
        let mut sides = text.split("->");
        let (Some(left), Some(right), None) = (sides.next(), sides.next(), sides.next()) else {
            return Err(invalid!("Expecting exactly one '->' in einsum equation: {text}"));
        };
        let inputs: Vec<Term> =
            reserve::try_collect(left.split(',').map(|t| Term::parse(t.as_bytes(), text)))?;
        let count = usize::try_from(attrs.int("N")?).unwrap_or(0);
        if inputs.len() > 2 {
            return Err(invalid!(
                "Expecting 1 or 2 input subscripts in equation '{text}' but got: {}",
                inputs.len()
            ));
        }
        if inputs.len() != count {
            return Err(invalid!(
                "Expected {} inputs but got: {count}, for the equation '{text}'",
                inputs.len()
            ));
        }
        let output = Term::parse(right.as_bytes(), text)?;
        if let Some(label) = output.labels().find(|l| !inputs.iter().any(|i| i.has(*l))) {
            return Err(invalid!("'{}' in the output of '{text}' is in no input", label as char));
        }
        Ok(Equation { inputs, output })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, n: i64) -> Result<Equation> {
        Equation::of(&[("equation", Attr::from(text)), ("N", Attr::Int(n))].into_iter().collect())
    }

    #[test]
    fn terms_are_read() {
        let e = parse("a...b,bc->...", 2).unwrap();
        assert_eq!(e.inputs[0], Term { before: b"a".to_vec(), after: Some(b"b".to_vec()) });
        assert_eq!(e.inputs[0].text(), "a...b");
        let axes = e.inputs[0].axes(4, 0).unwrap();
        assert_eq!(axes, [Axis::Label(b'a'), Axis::Ellipsis(1), Axis::Ellipsis(0), Axis::Label(b'b')]);
        assert!(e.inputs[1].axes(3, 1).is_err() && e.inputs[0].axes(1, 0).is_err());
    }

    #[test]
    fn wrong_equations_are_refused() {
        for (text, n) in [
            ("ij", 1),
            ("i->j", 1),
            ("i->i->i", 1),
            ("i.j->i", 1),
            ("......->...", 1),
            ("i,i,i->i", 3),
            ("i,i->i", 1),
            ("i..->i", 1),
        ] {
            assert_eq!(parse(text, n).unwrap_err().code(), Code::InvalidArgument, "{text}");
        }
    }
}
