//! The cache of a dataset in files: a tensor bundle in TensorFlow's layout, which the first iteration writes, and later ones, of other
//! processes too, read.
//!
//! Until its end the first iteration writes parts, `PREFIX_0` and on: each position that is saved ends one. A lock file beside
//! them keeps other writers away.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::sequence::{Dataset, DatasetRef, Iter, Next, Tuple, later, ready};
use crate::files;
use crate::prelude::*;
use std::path::PathBuf;
use std::time::SystemTime;
use thalweg_core::access::Access;
use thalweg_io::bundle::{BundleReader, BundleWriter, Merge};
use thalweg_io::durable::with_suffix;

pub struct FileCache {
    pub input: DatasetRef,
    pub place: Place,
}

/// Where a cache lies.
#[derive(Clone)]
pub struct Place {
    pub prefix: PathBuf,
    pub access: Arc<Access>,
}

/// The most elements, which is TensorFlow's limit: names have room for as many digits.
const MAX_ITEMS: usize = 10_000_000;

impl Place {
    fn is_complete(&self) -> Result<bool> {
        files::exists(&self.access, &with_suffix(&self.prefix, ".index"))
    }

    fn part(&self, n: usize) -> PathBuf {
        with_suffix(&self.prefix, &format!("_{n}"))
    }
}

/// The name of component `i` of element `item`, of `components`.
fn name(item: usize, i: usize, components: usize) -> String {
    let width = components.saturating_sub(1).to_string().len();
    format!("{item:>7}_{i:>width$}")
}

impl Dataset for FileCache {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let stage = match self.place.is_complete()? {
            true => Stage::Reading(Reading::open(&self.place, 0)?),
            false => Stage::Writing(Writing::new(Some(self.input.iterator(c)?))),
        };
        let (input, inner) = (self.input.clone(), c.without_cancellation());
        Ok(Box::new(FileCacheIter { place: self.place.clone(), stage, input, inner }))
    }
    fn cardinality(&self) -> i64 {
        self.input.cardinality()
    }
}

struct FileCacheIter {
    place: Place,
    stage: Stage,
    input: DatasetRef,
    /// The context for the input's iterator.
    inner: Context,
}

enum Stage {
    Writing(Writing),
    Reading(Reading),
}

struct Writing {
    /// `None` once it has ended.
    input: Option<Box<dyn Iter>>,
    /// The number of the part being written.
    part: usize,
    draft: Option<BundleWriter>,
    /// How many elements are written.
    items: usize,
    lock: Option<Lock>,
}

impl Writing {
    fn new(input: Option<Box<dyn Iter>>) -> Writing {
        Writing { input, part: 0, draft: None, items: 0, lock: None }
    }

    fn add(&mut self, place: &Place, element: &Tuple) -> Result<()> {
        if self.items >= MAX_ITEMS {
            return Err(invalid!(
                "Upstream iterator is producing more than {MAX_ITEMS} items, which is more than the cache limit."
            ));
        }
        let item = self.items;
        let draft = self.draft(place)?;
        for (i, t) in element.iter().enumerate() {
            draft.add(&name(item, i, element.len()), t)?;
        }
        self.items += 1;
        Ok(())
    }

    fn draft(&mut self, place: &Place) -> Result<&mut BundleWriter> {
        Ok(match &mut self.draft {
            Some(draft) => draft,
            none => none.insert(files::write_checkpoint(&place.access, &place.part(self.part))?),
        })
    }

    /// Ends the part that is being written.
    fn end_part(&mut self) -> Result<()> {
        if let Some(draft) = self.draft.take() {
            draft.finish()?;
            self.part += 1;
        }
        Ok(())
    }

    /// Makes one bundle of all parts.
    fn end(&mut self, place: &Place) -> Result<()> {
        if self.part == 0 {
            self.draft(place)?;
        }
        self.end_part()?;
        let parts = reserve::collect((0..self.part).map(|n| place.part(n)))?;
        let options = Merge { delete_old_dirs: false, allow_missing_files: false };
        files::merge_checkpoints(&place.access, parts, &place.prefix, &options)?;
        self.lock = None;
        Ok(())
    }
}

/// A lock file, removed when it is dropped.
struct Lock {
    access: Arc<Access>,
    path: PathBuf,
}

impl Lock {
    fn take(place: &Place) -> Result<Lock> {
        let path = with_suffix(&place.part(0), ".lockfile");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let text = format!("Created at: {}", now.as_secs());
        match files::create_new(&place.access, &path, text.as_bytes()) {
            Ok(()) => Ok(Lock { access: place.access.clone(), path }),
            Err(e) if e.code() == Code::AlreadyExists => Err(already_exists(format_args!(
                "There appears to be a concurrent caching iterator running - cache lockfile already exists ('{}'). \
                 If no other computation uses this cache, delete the file and initialize the iterator again.",
                path.display()
            ))),
            Err(e) => Err(e),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A lock that cannot be removed is reported to the next writer.
        let _ = files::remove(&self.access, &self.path);
    }
}

struct Reading {
    bundle: BundleReader,
    at: usize,
}

impl Reading {
    fn open(place: &Place, at: usize) -> Result<Reading> {
        Ok(Reading { bundle: files::read_checkpoint(&place.access, &place.prefix)?, at })
    }

    fn next(&mut self, components: usize) -> Result<Option<Tuple>> {
        if !self.bundle.contains(&name(self.at, 0, components)) {
            return Ok(None);
        }
        let parts = (0..components).map(|i| self.bundle.read(&name(self.at, i, components)));
        let element = reserve::try_collect(parts)?;
        self.at += 1;
        Ok(Some(element))
    }
}

impl Iter for FileCacheIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        let place = &self.place;
        match &mut self.stage {
            Stage::Reading(reading) => ready(reading.next(self.input.types.len())),
            Stage::Writing(writing) => later(async move {
                let Some(input) = &mut writing.input else { return Ok(None) };
                if writing.lock.is_none() {
                    writing.lock = Some(Lock::take(place)?);
                }
                match input.next(c).await? {
                    Some(element) => {
                        writing.add(place, &element)?;
                        Ok(Some(element))
                    }
                    None => {
                        writing.end(place)?;
                        writing.input = None;
                        Ok(None)
                    }
                }
            }),
        }
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            let (mut reading, mut at, mut part) = match &mut self.stage {
                Stage::Reading(reading) => (true, reading.at, 0),
                Stage::Writing(writing) => {
                    if !s.restoring() {
                        writing.end_part()?;
                    }
                    (false, writing.items, writing.part)
                }
            };
            s.flag("reading", &mut reading)?;
            s.number("at", &mut at)?;
            s.number("part", &mut part)?;
            if s.restoring() {
                // Another iterator may have completed the cache.
                self.stage = match reading || self.place.is_complete()? {
                    true => Stage::Reading(Reading::open(&self.place, at)?),
                    false => {
                        if part > at {
                            return Err(invalid!("the state of a cache has {part} parts for {at} elements"));
                        }
                        let input = Some(self.input.iterator(&self.inner)?);
                        Stage::Writing(Writing { part, items: at, ..Writing::new(input) })
                    }
                };
            }
            match &mut self.stage {
                Stage::Writing(writing) => s.input_until_end("input", &mut writing.input, c).await,
                Stage::Reading(_) => Ok(()),
            }
        })
    }
}
