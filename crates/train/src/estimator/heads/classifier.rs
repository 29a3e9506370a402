//! `Classifier`: the head of classification models.

use super::{Batch, Head, Weighing, binary, labels, multi_class};
use crate::estimator::invalid;
use crate::estimator::spec::{EstimatorSpec, Mode};
use thalweg_client::{DataType, Operation, Output, Result, Scope};

/// One logit for two classes, else one per class.
pub struct Classifier {
    classes: usize,
    pub(in crate::estimator) vocabulary: Vec<String>,
    weighing: Weighing,
}

impl Classifier {
    /// Labels are the class numbers, 0 to `classes - 1`.
    pub fn new(classes: usize) -> Classifier {
        Classifier { classes, vocabulary: Vec::new(), weighing: Weighing::default() }
    }

    /// Labels are these strings; without them, the numbers of the classes.
    pub fn label_vocabulary<'a>(mut self, labels: impl IntoIterator<Item = &'a str>) -> Classifier {
        self.vocabulary = labels.into_iter().map(str::to_string).collect();
        self
    }

    fn check(&self) -> Result<()> {
        if self.classes < 2 {
            return Err(invalid(format!("a classifier needs at least 2 classes, got {}", self.classes)));
        }
        let words = self.vocabulary.len();
        if words > 0 && words != self.classes {
            return Err(invalid(format!(
                "the label vocabulary has {words} words for {} classes",
                self.classes
            )));
        }
        Ok(())
    }

    /// Predictions by name, and the ids of the likeliest classes.
    fn predictions(&self, g: &Scope, logits: &Output) -> (Vec<(String, Output)>, Output) {
        let (probabilities, more) = if self.classes == 2 {
            let (probabilities, logistic) = binary::probabilities(g, logits);
            (probabilities, vec![("logistic".to_string(), logistic)])
        } else {
            (g.softmax(logits), Vec::new())
        };
        let best = if self.classes == 2 { g.argmax(&probabilities, 1) } else { g.argmax(logits, 1) };
        let ids = g.reshape(&best, &[-1, 1]);
        let classes = match &self.vocabulary[..] {
            [] => g.op("AsString").name("str_classes").input(&ids).output(),
            words => g.gather(g.constant(words.to_vec()), &ids, 0),
        };
        let mut all = vec![
            ("logits".to_string(), logits.clone()),
            ("probabilities".to_string(), probabilities),
            ("class_ids".to_string(), ids.clone()),
            ("classes".to_string(), classes),
        ];
        all.extend(more);
        (all, ids)
    }
}

impl Head for Classifier {
    fn logits(&self) -> usize {
        if self.classes == 2 { 1 } else { self.classes }
    }

    fn weighing(&mut self) -> &mut Weighing {
        &mut self.weighing
    }

    fn spec(
        &self,
        g: &Scope,
        mode: Mode,
        logits: &Output,
        batch: Batch<'_>,
        train: &dyn Fn(&Output) -> Result<Operation>,
    ) -> Result<EstimatorSpec> {
        self.check()?;
        let g = g.name_scope("head");
        let (predictions, found) = self.predictions(&g, logits);
        if mode == Mode::Predict {
            return Ok(EstimatorSpec { predictions, ..Default::default() });
        }
        let ids = labels::class_ids(&g, labels::given(batch.labels)?, self.classes, &self.vocabulary)?;
        let losses = if self.classes == 2 {
            binary::losses(&g, logits, &g.cast(&ids, DataType::Float))
        } else {
            multi_class::losses(&g, logits, &ids)
        };
        let weights = self.weighing.weights(&g, batch.features)?;
        let weights = weights.as_ref();
        let loss = self.weighing.loss(&g, &losses, weights);
        let mut spec = EstimatorSpec { predictions, loss: Some(loss.clone()), ..Default::default() };
        if mode == Mode::Train {
            spec.train_op = Some(train(&loss)?);
            return Ok(spec);
        }
        spec.metrics = multi_class::metrics(&g, &ids, &found, &losses, weights);
        if self.classes == 2 {
            spec.metrics.extend(binary::metrics(&g, &ids, logits, &found, weights));
        }
        Ok(spec)
    }
}
