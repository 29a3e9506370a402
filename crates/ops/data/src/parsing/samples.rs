//! Small messages for cases, written by hand.

use crate::prelude::*;
use bytes::Bytes;

/// A field of bytes.
fn field(number: u8, contents: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, contents.len() as u8], contents].concat()
}

pub fn floats(values: &[f32]) -> Vec<u8> {
    let packed: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    field(2, &field(1, &packed))
}

/// Integers below 128.
pub fn ints(values: &[u8]) -> Vec<u8> {
    field(3, &field(1, values))
}

pub fn texts(values: &[&str]) -> Vec<u8> {
    field(1, &values.iter().flat_map(|v| field(1, v.as_bytes())).collect::<Vec<u8>>())
}

fn entries(of: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let entry =
        |(key, value): &(&str, Vec<u8>)| field(1, &[field(1, key.as_bytes()), field(2, value)].concat());
    of.iter().flat_map(entry).collect()
}

pub fn example_of(features: &[(&str, Vec<u8>)]) -> Vec<u8> {
    field(1, &entries(features))
}

/// Feature lists of a key each.
fn sequence_of(context: &[(&str, Vec<u8>)], lists: &[(&str, &[Vec<u8>])]) -> Vec<u8> {
    let lists: Vec<(&str, Vec<u8>)> =
        lists.iter().map(|(key, steps)| (*key, steps.iter().flat_map(|s| field(1, s)).collect())).collect();
    [field(1, &entries(context)), field(2, &entries(&lists))].concat()
}

fn first() -> Vec<u8> {
    example_of(&[
        ("x", floats(&[1.5, -2.0])),
        ("more", floats(&[3.0])),
        ("tags", texts(&["a", "bc"])),
        ("counts", ints(&[7, 8, 9])),
        ("other", ints(&[1])),
    ])
}

/// An Example with features x, more, tags and counts.
pub fn example() -> Tensor {
    Tensor::string(first())
}

/// Two of them; the second has neither tags nor counts.
pub fn examples() -> Tensor {
    let second = example_of(&[("x", floats(&[0.0, 4.0])), ("more", floats(&[5.0, 6.0]))]);
    of_strings(vec![first().into(), second.into()])
}

fn first_sequence() -> Vec<u8> {
    let lists: &[(&str, &[Vec<u8>])] = &[
        ("steps", &[floats(&[1.0, 2.0]), floats(&[3.0, 4.0])]),
        ("words", &[texts(&["a", "b"]), texts(&[]), texts(&["c"])]),
        ("ids", &[ints(&[1, 2]), ints(&[3])]),
    ];
    sequence_of(&[("x", floats(&[1.5, -2.0])), ("tags", texts(&["t"])), ("counts", ints(&[4, 5]))], lists)
}

/// A SequenceExample with context x, tags and counts, and feature lists steps, words and ids.
pub fn sequence() -> Tensor {
    Tensor::string(first_sequence())
}

/// Two of them.
pub fn sequences() -> Tensor {
    let second = sequence_of(&[("x", floats(&[0.5, 1.0]))], &[("steps", &[floats(&[5.0, 6.0])])]);
    of_strings(vec![first_sequence().into(), second.into()])
}

fn of_strings(items: Vec<Bytes>) -> Tensor {
    Tensor::from_objects(Shape::vector(items.len()), items).unwrap_or_else(|_| Tensor::string(""))
}

pub fn strings(items: &[&'static str]) -> Tensor {
    of_strings(items.iter().map(|s| Bytes::from_static(s.as_bytes())).collect())
}

pub fn float_vector(values: &[f32]) -> Tensor {
    Tensor::vector(values).unwrap_or_else(|_| Tensor::scalar(0f32))
}

pub fn shape_list(shapes: &[&[i64]]) -> Attr {
    Attr::List(shapes.iter().map(|s| Attr::Shape(s.iter().copied().collect())).collect())
}

pub fn string_list(items: &[&str]) -> Attr {
    Attr::List(items.iter().map(|s| Attr::str(s)).collect())
}

/// Two `TensorProto`s: one with strings, a type, packed floats and one more, and one with a shape.
pub fn message_list() -> Tensor {
    let packed: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let first =
        [&field(8, b"a")[..], &field(8, b"bc"), &[8, 1], &field(5, &packed), &[0x2D, 0, 0, 0x80, 0x3F]];
    of_strings(vec![first.concat().into(), field(2, &field(2, &[8, 3])).into()])
}
