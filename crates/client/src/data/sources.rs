//! Sources of elements: tensors, ranges, files, closures.

use super::components::Components;
use super::dataset::{Dataset, declare, shapes};
use crate::{DataType, Output, PartialShape, Result, Scope, Shape, Tensor};
use std::panic::Location;
use std::path::Path;

impl Dataset {
    /// Slices of tensors along their first dimension: `Dataset::from_tensor_slices(&g, (images, labels))`.
    #[track_caller]
    pub fn from_tensor_slices(g: &Scope, components: impl Components) -> Dataset {
        let parts = components.into_components().and_then(|c| same_rows(&c).map(|()| c));
        let Some(parts) = checked(g, parts) else { return Dataset::broken(g) };
        let row = |t: &Tensor| (t.dtype(), PartialShape::from(&t.shape().without(0)));
        constants(g, "TensorSliceDataset", parts.iter().map(row).collect(), parts)
    }

    /// One element: these tensors.
    #[track_caller]
    pub fn from_tensors(g: &Scope, components: impl Components) -> Dataset {
        let Some(parts) = checked(g, components.into_components()) else { return Dataset::broken(g) };
        let whole = |t: &Tensor| (t.dtype(), PartialShape::from(t.shape()));
        constants(g, "TensorDataset", parts.iter().map(whole).collect(), parts)
    }

    /// The integers from `start` to before `stop`, in steps of `step`.
    pub fn range(g: &Scope, start: i64, stop: i64, step: i64) -> Dataset {
        let elements = vec![(DataType::Int64, PartialShape::scalar())];
        let declared = elements.clone();
        Dataset::new(g, elements, move |g| {
            let [start, stop, step] = [start, stop, step].map(|v| g.constant(v));
            declare(g.op("RangeDataset").input(start).input(stop).input(step), &declared).output()
        })
    }

    /// The lines of text files, without line ends.
    pub fn text_lines<P: AsRef<Path>>(g: &Scope, files: &[P]) -> Dataset {
        strings(g, "TextLineDataset", files)
    }

    /// The records of TFRecord files.
    pub fn tf_records<P: AsRef<Path>>(g: &Scope, files: &[P]) -> Dataset {
        strings(g, "TFRecordDataset", files)
    }

    /// Images and labels from a pair of idx files, MNIST's format, gzipped or not: elements of a uint8 matrix and a uint8. If a file is not
    /// there, but one of that name with `.gz` is, that is read.
    #[track_caller]
    pub fn idx(g: &Scope, images: impl AsRef<Path>, labels: impl AsRef<Path>) -> Dataset {
        let read = |path: &Path| {
            let mut gzipped = path.as_os_str().to_owned();
            gzipped.push(".gz");
            let gzipped = Path::new(&gzipped);
            let path = if !path.exists() && gzipped.exists() { gzipped } else { path };
            let idx = thalweg_io::idx::read(path)?;
            Tensor::from_bytes(DataType::Uint8, Shape::new(&idx.dims)?, &idx.bytes)
        };
        let both = read(images.as_ref()).and_then(|i| Ok(vec![i, read(labels.as_ref())?]));
        match checked(g, both) {
            Some(parts) => Dataset::from_tensor_slices(g, parts),
            None => Dataset::broken(g),
        }
    }

    /// Elements of these types and shapes from a closure of this process. Each iteration calls `begin`, then the closure that it returns, once for
    /// each element, until that returns `None`. A graph with such a dataset cannot be sent to another process.
    #[track_caller]
    pub fn from_fn<B, N>(g: &Scope, elements: &[(DataType, PartialShape)], begin: B) -> Dataset
    where
        B: Fn() -> N + Send + Sync + 'static,
        N: FnMut() -> Result<Option<Vec<Tensor>>> + Send + 'static,
    {
        let (types, shapes) = elements.iter().cloned().unzip();
        let made = thalweg_ops::dataset::host_dataset(types, shapes, begin);
        let Some(dataset) = checked(g, made) else { return Dataset::broken(g) };
        Dataset::new(g, elements.to_vec(), move |g| g.constant_named("HostDataset", dataset.clone()))
    }
}

/// The value; the scope records the error.
#[track_caller]
pub(crate) fn checked<T>(g: &Scope, value: Result<T>) -> Option<T> {
    let location = Location::caller();
    value.map_err(|e| g.mistake(e.at(Some(location)))).ok()
}

fn same_rows(components: &[Tensor]) -> Result<()> {
    let rows = |t: &Tensor| t.shape().first().copied();
    let wrong = |what: String| Err(crate::Error::new(crate::Code::InvalidArgument, what));
    let Some(first) = components.first() else { return wrong("a dataset needs at least one tensor".into()) };
    for (i, t) in components.iter().enumerate() {
        if rows(t).is_none() {
            return wrong(format!("component {i} is a scalar: it has no rows"));
        }
        if rows(t) != rows(first) {
            return wrong(format!(
                "component {i} has shape {}, component 0 {}: as many rows are needed",
                t.shape(),
                first.shape()
            ));
        }
    }
    Ok(())
}

fn constants(
    g: &Scope,
    op: &'static str,
    elements: Vec<(DataType, PartialShape)>,
    parts: Vec<Tensor>,
) -> Dataset {
    let declared = elements.clone();
    Dataset::new(g, elements, move |g| {
        let parts: Vec<Output> = parts.iter().map(|t| g.constant_named("tensors", t.clone())).collect();
        let op = g.op(op).inputs(&parts);
        op.attr("output_shapes", shapes(&declared)).output()
    })
}

/// File names as a tensor of strings.
pub(crate) fn names<P: AsRef<Path>>(files: &[P]) -> Vec<String> {
    files.iter().map(|f| f.as_ref().display().to_string()).collect()
}

fn strings<P: AsRef<Path>>(g: &Scope, op: &'static str, files: &[P]) -> Dataset {
    let names = names(files);
    Dataset::new(g, vec![(DataType::String, PartialShape::scalar())], move |g| {
        let (names, plain, buffer) = (g.constant(names.clone()), g.constant(""), g.constant(0i64));
        g.op(op).input(names).input(plain).input(buffer).output()
    })
}
