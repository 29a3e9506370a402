//! Fisher's iris data set: 150 flowers of three kinds, four lengths of each. The data is part of the library.

/// Names of the features.
pub const FEATURES: [&str; 4] = ["sepal_length", "sepal_width", "petal_length", "petal_width"];

/// Names of the kinds, by label.
pub const KINDS: [&str; 3] = ["Setosa", "Versicolor", "Virginica"];

static CSV: &str = include_str!("iris.csv");

/// Some flowers.
#[derive(Clone, Debug, Default)]
pub struct Flowers {
    /// In centimetres, in the order of [`FEATURES`].
    pub lengths: Vec<[f32; 4]>,
    /// Which of [`KINDS`] each is.
    pub kinds: Vec<i32>,
}

/// 120 flowers for training and 30 for the test: every fifth.
pub fn load() -> (Flowers, Flowers) {
    let (mut train, mut test) = (Flowers::default(), Flowers::default());
    for (i, line) in CSV.lines().skip(1).enumerate() {
        let numbers: Vec<f32> = line.split(',').filter_map(|n| n.parse().ok()).collect();
        let [a, b, c, d, kind] = numbers[..] else { continue };
        let part = if i % 5 == 2 { &mut test } else { &mut train };
        part.lengths.push([a, b, c, d]);
        part.kinds.push(kind as i32);
    }
    (train, test)
}

impl Flowers {
    /// All lengths, with their shape: a matrix with a row for each flower.
    pub fn matrix(&self) -> (Vec<f32>, [usize; 2]) {
        (self.lengths.as_flattened().to_vec(), [self.lengths.len(), 4])
    }

    /// Each feature of all flowers, by name.
    pub fn features(&self) -> [(&'static str, Vec<f32>); 4] {
        std::array::from_fn(|i| (FEATURES[i], self.lengths.iter().map(|lengths| lengths[i]).collect()))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_kind_is_there_as_often_in_both_parts() {
        let (train, test) = super::load();
        for kind in 0..3 {
            let count = |part: &super::Flowers| part.kinds.iter().filter(|k| **k == kind).count();
            assert_eq!((count(&train), count(&test)), (40, 10));
        }
        assert_eq!(train.lengths[0], [5.1, 3.5, 1.4, 0.2]);
        assert_eq!(train.features()[3].1.len(), 120);
    }
}
