//! A generated training text for when none is given: sentences with a grammar and with dependencies between words, so that there is
//! more to learn than word frequencies.

/// A text of about so many words, always the same.
pub fn text(words: usize) -> String {
    let mut teller = Teller(20_001);
    let mut text = String::new();
    let mut count = 0;
    while count < words {
        let sentence = teller.sentence();
        count += sentence.split_whitespace().count();
        text.push_str(&sentence);
        text.push('\n');
    }
    text
}

struct Teller(u64);

const PEOPLE: [(&str, &str); 8] = [
    ("miller", "flour"),
    ("baker", "bread"),
    ("smith", "iron"),
    ("farmer", "wheat"),
    ("fisher", "trout"),
    ("weaver", "cloth"),
    ("potter", "bowls"),
    ("carpenter", "tables"),
];
const PLACES: [&str; 6] =
    ["by the river", "at the market", "in the yard", "near the bridge", "on the hill", "behind the mill"];
const DAYS: [&str; 5] =
    ["in the morning", "at noon", "in the evening", "before the rain", "after the harvest"];
const MOODS: [&str; 6] = ["old", "quiet", "young", "tired", "cheerful", "careful"];

impl Teller {
    fn roll(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())]
    }

    fn sentence(&mut self) -> String {
        let (who, ware) = self.pick(&PEOPLE);
        let (other, wanted) = self.pick(&PEOPLE);
        let (place, day, mood) = (self.pick(&PLACES), self.pick(&DAYS), self.pick(&MOODS));
        match self.roll(5) {
            0 => format!("the {mood} {who} sells {ware} {place} {day} ."),
            1 => format!("{day} the {who} gives {ware} to the {other} and takes {wanted} home ."),
            2 => format!("the {who} who makes {ware} walks to the {other} who makes {wanted} ."),
            3 => format!(
                "if the {other} has no {wanted} the {mood} {who} waits {place} until there is {wanted} ."
            ),
            _ => format!("two {who}s and a {mood} {other} carry {ware} and {wanted} {place} ."),
        }
    }
}
