//! `GetOptions`: what the `OptionsDataset`s of a dataset say together. `Options` is TensorFlow's message of that name.

use super::pass_through::OPTIONS_DATASET;
use super::sequence::input;
use crate::parsing::wire::{Field, Fields, Malformed, Wire};
use crate::prelude::*;
use bytes::Bytes;
use std::collections::BTreeMap;
use thalweg_io::varint;

pub static GET_OPTIONS: Op = Op {
    name: "GetOptions",
    doc: "The options of a dataset and of those that it is made of, as a serialised message.",
    inputs: &["input_dataset: variant"],
    outputs: &["serialized_options: string"],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(run),
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let mut options = Options::default();
    for dataset in input(c, 0)?.family()?.iter().rev() {
        if let Some(node) = dataset.node().filter(|node| node.op == OPTIONS_DATASET.name) {
            options.add(node.attrs.bytes("serialized_options")?)?;
        }
    }
    c.set(0, Tensor::from_object(Bytes::from(options.encoded()?)));
    Ok(())
}

/// The message `Options`: later ones override earlier ones, field by field.
#[derive(Default)]
pub struct Options(BTreeMap<u32, Part>);

enum Part {
    Number(u64),
    /// A text, or all of a list of them.
    Texts(Vec<Bytes>),
    /// A message of numbers.
    Message(BTreeMap<u32, u64>),
}

/// The fields of `Options` that are messages, of the options for distribution, optimization, threading, autotuning and services.
const MESSAGES: [u32; 5] = [2, 3, 5, 7, 12];
const DATASET_NAME: u32 = 10;
const FRAMEWORK_TYPE: u32 = 11;
/// Higher than all fields.
const FIELDS: u32 = 64;

impl Options {
    pub fn add(&mut self, bytes: &[u8]) -> Result<()> {
        let mut fields = Fields(bytes);
        while let Some((number, field)) = fields.next().map_err(unreadable)? {
            match field {
                Field::Varint(n) if number < FIELDS => {
                    self.0.insert(number, Part::Number(n));
                }
                Field::Bytes(text) if number == DATASET_NAME => {
                    self.0.insert(number, Part::Texts(vec![Bytes::from(reserve::copied(text)?)]));
                }
                Field::Bytes(text) if number == FRAMEWORK_TYPE => {
                    if let Part::Texts(texts) = self.0.entry(number).or_insert(Part::Texts(Vec::new())) {
                        reserve::push(texts, Bytes::from(reserve::copied(text)?))?;
                    }
                }
                Field::Bytes(message) if MESSAGES.contains(&number) => {
                    if let Part::Message(numbers) =
                        self.0.entry(number).or_insert(Part::Message(BTreeMap::new()))
                    {
                        add_numbers(numbers, message).map_err(unreadable)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The message, with fields in the order of their numbers.
    pub fn encoded(&self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let put = |out: &mut Vec<u8>, field: u32, n: u64| {
            varint::put(out, u64::from(field) << 3);
            varint::put(out, n);
        };
        for (field, part) in &self.0 {
            let mut bytes = |contents: &[u8]| {
                varint::put(&mut out, u64::from(*field) << 3 | 2);
                varint::put(&mut out, contents.len() as u64);
                reserve::extend(&mut out, contents)
            };
            match part {
                Part::Number(n) => put(&mut out, *field, *n),
                Part::Texts(texts) => texts.iter().try_for_each(|text| bytes(&text[..]))?,
                Part::Message(numbers) => {
                    let mut message = Vec::new();
                    numbers.iter().for_each(|(field, n)| put(&mut message, *field, *n));
                    bytes(&message)?;
                }
            }
        }
        Ok(out)
    }
}

fn unreadable(_: Malformed) -> Error {
    invalid!("Could not parse serialized_options as valid Options.")
}

fn add_numbers(numbers: &mut BTreeMap<u32, u64>, message: &[u8]) -> Wire<()> {
    let mut fields = Fields(message);
    while let Some((number, field)) = fields.next()? {
        if let Field::Varint(n) = field
            && number < FIELDS
        {
            numbers.insert(number, n);
        }
    }
    Ok(())
}
