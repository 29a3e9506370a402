//! The loss curve: in the terminal, and as an SVG file.

#[derive(Default)]
pub struct Curve {
    /// Steps of earlier runs, which it does not show.
    after: u64,
    points: Vec<(u64, f32)>,
    /// The last step of the run, which may have no point.
    end: u64,
}

const COLUMNS: usize = 60;
/// What the labels and the axis take of a line.
const LABELS: usize = 12;
const ROWS: usize = 10;

impl Curve {
    /// Of a run that goes on after `after` steps of earlier ones.
    pub fn after(after: u64) -> Curve {
        Curve { after, ..Curve::default() }
    }

    /// The loss of the step that was the `done`-th.
    pub fn add(&mut self, done: u64, loss: f32) {
        self.points.push((done, loss));
        self.end_at(done);
    }

    /// The run had so many steps, with those of earlier runs.
    pub fn end_at(&mut self, done: u64) {
        self.end = self.end.max(done);
    }

    /// `1000 steps`, or `steps 501 to 1000` of a resumed run.
    fn steps(&self) -> String {
        match self.after {
            0 => format!("{} steps", self.end),
            after => format!("steps {} to {}", after.saturating_add(1), self.end),
        }
    }

    pub fn last(&self) -> Option<f32> {
        self.points.last().map(|p| p.1)
    }

    /// The mean loss of each of at most `n` intervals of the run. Points may lie closer at its start.
    fn columns(&self, n: usize) -> Vec<f32> {
        let Some((first, first_loss)) = self.points.first().copied() else { return Vec::new() };
        let n = n.min(self.points.len()).max(1);
        let span = self.points.last().map_or(1, |p| p.0.saturating_sub(first).saturating_add(1));
        let column = |step: u64| {
            let at = u128::from(step.saturating_sub(first)) * n as u128 / u128::from(span);
            usize::try_from(at).unwrap_or(n)
        };
        let mut sums = vec![(0.0f32, 0usize); n];
        for (step, loss) in &self.points {
            if let Some((sum, count)) = sums.get_mut(column(*step)) {
                *sum += loss;
                *count += 1;
            }
        }
        let mut last = first_loss;
        // An interval without a point is as the one before it.
        let means = sums.iter().map(|(sum, count)| {
            if *count > 0 {
                last = sum / *count as f32;
            }
            last
        });
        means.collect()
    }

    /// A plot of characters, on a logarithmic scale where the loss spans more than a factor of 30.
    pub fn text(&self, width: usize) -> String {
        let columns = self.columns(width.saturating_sub(LABELS).clamp(1, COLUMNS));
        let Some(scale) = Scale::of(&columns) else { return String::new() };
        let levels: Vec<usize> =
            columns.iter().map(|v| (scale.position(*v) * (ROWS * 2 - 1) as f32).round() as usize).collect();
        let mut text = String::new();
        for row in (0..ROWS).rev() {
            let label = match row {
                r if r + 1 == ROWS => scale.label(scale.high),
                0 => scale.label(scale.low),
                _ => String::new(),
            };
            let line: String = levels
                .iter()
                .map(|l| match l / 2 {
                    r if r != row => ' ',
                    _ if l % 2 == 1 => '▀',
                    _ => '▄',
                })
                .collect();
            text.push_str(format!("{label:>9} │{}\n", line.trim_end()).as_str());
        }
        let of = if self.after == 0 { "over" } else { "of" };
        text.push_str(&format!("{:>9} └{}\n", "", "─".repeat(columns.len())));
        text.push_str(&format!("{:>9}  loss {of} {}\n", "", self.steps()));
        text
    }

    pub fn svg(&self, title: &str) -> String {
        let columns = self.columns(400);
        let Some(scale) = Scale::of(&columns) else { return String::new() };
        let (width, height, left, top) = (640.0, 320.0, 70.0, 40.0);
        let point = |(i, v): (usize, &f32)| {
            let x = left + width * i as f32 / (columns.len().max(2) - 1) as f32;
            let y = top + height * (1.0 - scale.position(*v));
            format!("{x:.1},{y:.1}")
        };
        let path: Vec<String> = columns.iter().enumerate().map(point).collect();
        let steps = self.steps();
        let title = title.replace('&', "&amp;").replace('<', "&lt;");
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 410" font-family="sans-serif" font-size="13">
<rect width="740" height="410" fill="white"/>
<text x="{left}" y="24" font-size="15">{title}</text>
<path d="M{left},{top} V{bottom} H{right}" fill="none" stroke="#888"/>
<text x="{label}" y="{high}" text-anchor="end">{}</text>
<text x="{label}" y="{bottom}" text-anchor="end">{}</text>
<text x="{right}" y="{under}" text-anchor="end">{steps}</text>
<text x="{left}" y="{under}">loss{}</text>
<polyline fill="none" stroke="#1f6feb" stroke-width="1.8" points="{}"/>
</svg>
"##,
            scale.label(scale.high),
            scale.label(scale.low),
            if scale.log { ", log scale" } else { "" },
            path.join(" "),
            bottom = top + height,
            right = left + width,
            label = left - 8.0,
            high = top + 10.0,
            under = top + height + 22.0,
        )
    }
}

/// From the lowest to the highest value.
struct Scale {
    low: f32,
    high: f32,
    log: bool,
}

impl Scale {
    fn of(values: &[f32]) -> Option<Scale> {
        let low = values.iter().copied().reduce(f32::min)?;
        let high = values.iter().copied().reduce(f32::max)?;
        Some(Scale { low, high, log: low > 0.0 && high / low > 30.0 })
    }

    /// 0 at the bottom, 1 at the top.
    fn position(&self, v: f32) -> f32 {
        let (v, low, high) =
            if self.log { (v.ln(), self.low.ln(), self.high.ln()) } else { (v, self.low, self.high) };
        if high > low { ((v - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 }
    }

    fn label(&self, v: f32) -> String {
        if v != 0.0 && v.abs() < 0.001 { format!("{v:.1e}") } else { format!("{v:.3}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_falling_loss_falls_in_the_plot() {
        let mut curve = Curve::default();
        (1..=100).for_each(|i| curve.add(i, 1.0 - i as f32 / 100.0));
        let text = curve.text(80);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), ROWS + 2);
        let first_mark = |l: &str| l.chars().position(|c| c == '▀' || c == '▄').unwrap();
        assert!(first_mark(lines[0]) < first_mark(lines[ROWS - 1]));
        assert!(text.ends_with("  loss over 100 steps\n"), "{text}");
        assert!(curve.text(40).lines().all(|l| l.chars().count() < 40));
        assert!(curve.svg("a < b").contains("a &lt; b"));
    }

    #[test]
    fn the_label_counts_the_steps_that_were_made() {
        let mut stopped = Curve::default();
        [1, 2, 4].iter().for_each(|step| stopped.add(*step, 0.5));
        stopped.end_at(7);
        assert!(stopped.text(80).ends_with("  loss over 7 steps\n"), "{}", stopped.text(80));
        let mut resumed = Curve::after(500);
        (501..=1000).for_each(|step| resumed.add(step, 0.5));
        assert!(resumed.text(80).ends_with("  loss of steps 501 to 1000\n"), "{}", resumed.text(80));
        assert!(resumed.svg("").contains(">steps 501 to 1000<"));
    }

    #[test]
    fn columns_are_intervals_of_steps_however_the_points_lie() {
        let mut curve = Curve::default();
        (1..=8).for_each(|step| curve.add(step, 1.0));
        curve.add(16, 5.0);
        assert_eq!(curve.columns(4), [1.0, 1.0, 1.0, 5.0]);
        assert_eq!(curve.columns(1), [13.0 / 9.0]);
    }

    #[test]
    fn an_empty_curve_is_an_empty_plot() {
        assert_eq!(Curve::default().text(80), "");
    }
}
