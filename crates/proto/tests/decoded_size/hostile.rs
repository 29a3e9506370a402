//! Encodings that expand as much as possible, for any message type: each field of its descriptor, repeated.

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use thalweg_proto::{FILE_DESCRIPTOR_SET, Message};

/// How often things are repeated: enough for vectors to double and for maps to split, several times.
const MANY: usize = 40;

pub struct Schema(BTreeMap<String, DescriptorProto>);

/// The fields that lead from a message to one within it.
type Path = Vec<FieldDescriptorProto>;

impl Schema {
    pub fn new() -> Schema {
        let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
        let mut all = BTreeMap::new();
        for file in &set.file {
            add(&mut all, file.package(), &file.message_type);
        }
        Schema(all)
    }

    /// Hostile messages of this type, each with a description.
    pub fn hostile(&self, root: &str) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        for (name, path) in self.reachable(root) {
            for field in &self.0[&name].field {
                for (how, bytes) in self.repeated(field) {
                    for level in 0..=path.len() {
                        let what = format!("{name}.{}, {how}, repeated at {level}", field.name());
                        found.push((what, wrapped(&path, level, &bytes)));
                    }
                }
            }
        }
        found.push(("groups".into(), [[0xfb, 0x7f].repeat(90), [0xfc, 0x7f].repeat(90)].concat()));
        found.extend(self.deep(root).map(|bytes| ("deep".into(), bytes)));
        found
    }

    /// All messages in a message, with the shortest way to each.
    fn reachable(&self, root: &str) -> Vec<(String, Path)> {
        let (mut seen, mut found) = (BTreeSet::from([root.to_string()]), Vec::new());
        let mut next = VecDeque::from([(root.to_string(), Path::new())]);
        while let Some((name, path)) = next.pop_front() {
            for field in self.0[&name].field.iter().filter(|f| f.r#type() == Type::Message) {
                let inner = field.type_name()[1..].to_string();
                if seen.insert(inner.clone()) {
                    next.push_back((inner, [&path[..], &[field.clone()]].concat()));
                }
            }
            found.push((name, path));
        }
        found
    }

    /// Encodings of one field, repeated.
    fn repeated(&self, field: &FieldDescriptorProto) -> Vec<(&'static str, Vec<u8>)> {
        let repeats = field.label() == Label::Repeated;
        match field.r#type() {
            Type::Message if self.is_map(field) => {
                let keys = (0..MANY).map(|i| delimited(field.number(), &self.map_key(field, i)));
                let down = (0..MANY).rev().map(|i| delimited(field.number(), &self.map_key(field, i)));
                vec![
                    ("an empty entry", delimited(field.number(), &[])),
                    ("entries", keys.collect::<Vec<_>>().concat()),
                    ("entries downwards", down.collect::<Vec<_>>().concat()),
                ]
            }
            Type::Message => vec![("empty", delimited(field.number(), &[]))],
            Type::String | Type::Bytes => {
                let growing = (1..12).map(|n| delimited(field.number(), &vec![b'a'; n * 9]));
                vec![
                    ("empty", delimited(field.number(), &[])),
                    ("short", delimited(field.number(), b"a")),
                    ("long", delimited(field.number(), &[b'a'; 300])),
                    ("ever longer", growing.collect::<Vec<_>>().concat()),
                ]
            }
            _ if repeats => vec![
                ("packed zeros", delimited(field.number(), &[0; 8 * MANY])),
                ("packed nothing", delimited(field.number(), &[])),
                ("one", number(field)),
            ],
            _ => vec![("one", number(field))],
        }
    }

    fn is_map(&self, field: &FieldDescriptorProto) -> bool {
        self.0[&field.type_name()[1..]].options.as_ref().is_some_and(|o| o.map_entry())
    }

    /// The key of an entry, and nothing else.
    fn map_key(&self, field: &FieldDescriptorProto, i: usize) -> Vec<u8> {
        match self.0[&field.type_name()[1..]].field[0].r#type() {
            Type::String => delimited(1, format!("{i:03}").as_bytes()),
            _ => [vec![1 << 3], varint(i as u64)].concat(),
        }
    }

    /// A recursive message, nested to the limit; none if the type is not recursive.
    fn deep(&self, root: &str) -> Option<Vec<u8>> {
        let (path, round) = self.reachable(root).into_iter().find_map(|(name, path)| {
            let back = self.0[&name].field.iter().filter(|f| f.r#type() == Type::Message).find_map(|f| {
                let inner = self.reachable(&f.type_name()[1..]);
                let rest = inner.into_iter().find(|(n, _)| *n == name)?.1;
                Some([&[f.clone()], &rest[..]].concat())
            })?;
            Some((path, back))
        })?;
        let mut bytes = Vec::new();
        for _ in 0..98 / round.len() {
            bytes = wrapped(&round, usize::MAX, &bytes);
        }
        Some(wrapped(&path, 0, &bytes))
    }
}

fn add(all: &mut BTreeMap<String, DescriptorProto>, scope: &str, messages: &[DescriptorProto]) {
    for m in messages {
        let name = format!("{scope}.{}", m.name());
        add(all, &name, &m.nested_type);
        all.insert(name, m.clone());
    }
}

/// Bytes within the messages that lead to them, repeated at one level.
fn wrapped(path: &[FieldDescriptorProto], level: usize, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (i, field) in path.iter().enumerate().rev() {
        if i + 1 == level {
            bytes = bytes.repeat(MANY);
        }
        bytes = delimited(field.number(), &bytes);
    }
    if level == 0 { bytes.repeat(MANY) } else { bytes }
}

fn delimited(number: i32, bytes: &[u8]) -> Vec<u8> {
    [varint((number as u64) << 3 | 2), varint(bytes.len() as u64), bytes.to_vec()].concat()
}

fn number(field: &FieldDescriptorProto) -> Vec<u8> {
    let (wire, bytes) = match field.r#type() {
        Type::Double | Type::Fixed64 | Type::Sfixed64 => (1, vec![0; 8]),
        Type::Float | Type::Fixed32 | Type::Sfixed32 => (5, vec![0; 4]),
        _ => (0, vec![0]),
    };
    [varint((field.number() as u64) << 3 | wire), bytes].concat()
}

fn varint(n: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::encode_varint(n, &mut bytes);
    bytes
}
