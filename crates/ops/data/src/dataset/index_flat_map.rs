//! `IndexFlatMapDataset`: the rows of what a function makes of each element, which can be found by number.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::function::Function;
use super::sequence::{DATASET, Dataset, DatasetRef, Iter, Next, Tuple, emit, input, later};
use crate::prelude::*;
use crate::rows::row;

pub static INDEX_FLAT_MAP_DATASET: Op = Op {
    name: "IndexFlatMapDataset",
    doc: "The rows of what `map_func` makes of each element. `index_map_func` says in which element row i is, and where in it.",
    inputs: &[
        "input_dataset: variant",
        "map_func_other_args: Tmap_func_args",
        "index_map_func_other_args: Tindex_map_func_args",
        "output_cardinality: int64",
    ],
    attrs: &[
        "map_func: func",
        "index_map_func: func",
        "Tmap_func_args: list(type) >= 0",
        "Tindex_map_func_args: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    kernels: cpu!(run),
    ..DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let input = input(c, 0)?;
    let (map, place) = (Function::of(c, "map_func", 1)?, Function::of(c, "index_map_func", 2)?);
    let cardinality = c.scalar(c.arg(3).start)?;
    emit(
        c,
        &[&input],
        IndexFlatMap { input: input.clone(), functions: Functions { map, place }, cardinality },
    )
}

struct IndexFlatMap {
    input: DatasetRef,
    functions: Functions,
    cardinality: i64,
}

#[derive(Clone)]
struct Functions {
    map: Function,
    place: Function,
}

impl Functions {
    /// The element that row `i` is in, and where it is in that.
    async fn place(&self, i: i64, c: &Context) -> Result<(i64, i64)> {
        let results = self.place.call(c, vec![Tensor::scalar(i)]).await?;
        let number = |t: &Tensor| match t.to_i64s()?.as_slice() {
            [n] if *n >= 0 => Ok(*n),
            other => {
                Err(invalid!("`index_map_fn` for `index_flat_map` returned {other:?}, which is no index"))
            }
        };
        match &results[..] {
            [element, offset] => Ok((number(element)?, number(offset)?)),
            other => Err(invalid!(
                "The `index_map_fn` for `index_flat_map` is expected to return two int64 values representing the element index \
                 and an offset within the element. Got {} values.",
                other.len()
            )),
        }
    }
}

/// Row `i` of each component. Scalars are alike for all rows.
fn rows(mapped: &[Tensor], i: i64) -> Result<Tuple> {
    let one = |t: &Tensor| match t.shape().first() {
        None => Ok(t.clone()),
        Some(n) => match usize::try_from(i) {
            Ok(at) if at < *n => row(t, at),
            _ => Err(invalid!("offset {i} of `index_map_fn` is out of range: the element has {n} rows")),
        },
    };
    reserve::try_collect(mapped.iter().map(one))
}

impl Dataset for IndexFlatMap {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(IndexFlatMapIter {
            input: Some(self.input.iterator(c)?),
            functions: self.functions.clone(),
            at: 0,
            element: 0,
            mapped: None,
        }))
    }
    fn cardinality(&self) -> i64 {
        self.cardinality
    }
    fn random_access(&self) -> Result<()> {
        self.input.random_access()
    }
    fn get<'a>(&'a self, i: usize, c: &'a Context) -> Next<'a> {
        later(async move {
            let (element, offset) = self.functions.place(i as i64, c).await?;
            match self.input.get(element, c).await? {
                Some(element) => rows(&self.functions.map.call(c, element).await?, offset).map(Some),
                None => Ok(None),
            }
        })
    }
}

struct IndexFlatMapIter {
    /// `None` once it has ended.
    input: Option<Box<dyn Iter>>,
    functions: Functions,
    /// The number of the next row.
    at: i64,
    /// The index of the current element, and what it was mapped to.
    element: i64,
    mapped: Option<Tuple>,
}

impl Iter for IndexFlatMapIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            let Some(input) = &mut self.input else { return Ok(None) };
            let (element, offset) = self.functions.place(self.at, c).await?;
            let begun = self.mapped.is_some();
            if begun && element < self.element {
                return Err(invalid!(
                    "`index_map_fn` for `index_flat_map` goes back from element {} to {element}",
                    self.element
                ));
            }
            if !begun || element > self.element {
                // The next one, as in TensorFlow, whatever its number is.
                let Some(next) = input.next(c).await? else {
                    self.input = None;
                    return Ok(None);
                };
                self.mapped = Some(self.functions.map.call(c, next).await?);
                self.element = element;
            }
            self.at = self.at.saturating_add(1);
            self.mapped.as_deref().map(|mapped| rows(mapped, offset)).transpose()
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.number("at", &mut self.at)?;
            s.number("element", &mut self.element)?;
            s.element("mapped", &mut self.mapped)?;
            s.input_until_end("input", &mut self.input, c).await
        })
    }
}
