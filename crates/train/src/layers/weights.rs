//! The variables of a layer: those of its first application, which every further one shares.

use std::sync::{Mutex, PoisonError};
use thalweg_client::Scope;

/// The scope of a layer's variables, once it was applied.
#[derive(Default)]
pub(super) struct Weights(Mutex<Option<Scope>>);

impl Weights {
    /// The scope for an application: with the layer's own variables if it was applied on this graph before, else a new variable scope,
    /// with that name or a default one.
    pub fn scope(&self, g: &Scope, name: Option<&str>, default: &str) -> Scope {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = first.as_ref().and_then(|s| g.sharing_variables_of(s, name.unwrap_or(default)));
        shared.unwrap_or_else(|| {
            let new = match name {
                Some(name) => g.variable_scope(name),
                None => g.default_variable_scope(default),
            };
            *first = Some(new.clone());
            new
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::layers::{Dense, Embedding};
    use thalweg_client::{Scope, Session};

    #[test]
    fn a_layer_applied_twice_shares_its_weights() {
        let g = Scope::new();
        g.set_random_seed(1);
        let x = g.constant([[1f32, 2.0]]);
        let (shared, other) = (Dense::new(3), Dense::new(3));
        let (a, b, c) = (shared.apply(&g, &x), shared.apply(&g, &x), other.apply(&g, &x));
        let names: Vec<String> = g.trainable_variables().iter().map(|v| v.name()).collect();
        assert_eq!(names, ["dense/kernel", "dense/bias", "dense_2/kernel", "dense_2/bias"]);
        let session = Session::new(&g).unwrap();
        session.run(&g.init(), &[]).unwrap();
        let values = session.run(&[a, b, c], &[]).unwrap();
        let values: Vec<String> = values.iter().map(|t| t.to_string()).collect();
        assert_eq!(values[0], values[1]);
        assert_ne!(values[0], values[2]);
        let elsewhere = Scope::new();
        shared.apply(&elsewhere, &elsewhere.constant([[1f32, 2.0]]));
        assert_eq!(elsewhere.trainable_variables().len(), 2);
        elsewhere.check().unwrap();
    }

    #[test]
    fn a_table_is_the_one_that_is_looked_up() {
        let g = Scope::new();
        let words = Embedding::new(10, 4).name("words");
        let table = words.table(&g);
        words.apply(&g, &g.constant([1i32, 2]));
        g.check().unwrap();
        assert_eq!((table.name().as_str(), g.global_variables().len()), ("words/embeddings", 1));
    }
}
