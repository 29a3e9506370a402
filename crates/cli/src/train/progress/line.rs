//! A line of progress that fits the terminal.

/// A piece of the line. The highest ranks are left out first where there is no room.
pub struct Part {
    pub rank: u8,
    pub text: String,
}

const GAP: &str = "  ";
/// A shorter bar says nothing.
const SHORTEST_BAR: usize = 8;
const LONGEST_BAR: usize = 30;

/// The parts in their order, as many as fit into `width` columns.
pub fn fit(parts: &[Part], width: usize) -> String {
    let mut ranks: Vec<u8> = parts.iter().map(|p| p.rank).collect();
    ranks.sort_unstable();
    let joined = |most: u8| {
        let shown: Vec<&str> = parts.iter().filter(|p| p.rank <= most).map(|p| p.text.as_str()).collect();
        shown.join(GAP)
    };
    let fits = ranks.iter().rev().map(|most| joined(*most)).find(|line| line.chars().count() <= width);
    // The terminal is narrower than the first part.
    fits.unwrap_or_else(|| joined(ranks.first().copied().unwrap_or(0)).chars().take(width).collect())
}

/// As `fit`, with a bar before it if there is room for one.
pub fn with_bar(parts: &[Part], done: f64, width: usize) -> String {
    let text = fit(parts, width);
    let room = width.saturating_sub(text.chars().count() + 1).min(LONGEST_BAR);
    if room < SHORTEST_BAR {
        return text;
    }
    let filled = ((room as f64 * done) as usize).min(room);
    format!("{}{} {text}", "━".repeat(filled), "─".repeat(room - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> Vec<Part> {
        let all = [
            (0, "step  450/1000"),
            (6, "epoch 12/25"),
            (1, "loss 0.1234"),
            (5, "accuracy 0.967"),
            (2, "val 0.1456"),
            (4, "1234/s"),
            (3, "12 min 30 s left"),
        ];
        all.into_iter().map(|(rank, text)| Part { rank, text: text.into() }).collect()
    }

    #[test]
    fn a_line_fits_any_terminal() {
        for width in 0..300 {
            let line = with_bar(&parts(), 0.45, width);
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }

    #[test]
    fn a_narrow_line_has_what_matters_most() {
        assert_eq!(fit(&parts(), 39), "step  450/1000  loss 0.1234  val 0.1456");
        assert_eq!(fit(&parts(), 20), "step  450/1000");
        assert_eq!(fit(&parts(), 4), "step");
        assert!(with_bar(&parts(), 0.5, 199).starts_with(&format!(
            "{}{} step",
            "━".repeat(15),
            "─".repeat(15)
        )));
        assert!(with_bar(&parts(), 0.5, 199).ends_with("1234/s  12 min 30 s left"));
    }
}
