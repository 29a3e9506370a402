//! Compiles `proto/*.proto`, without protoc, into three things in `OUT_DIR`: Rust messages (by prost),
//! the descriptor set, and `schema.rs`, the static tables of what messages hold.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use heck::{ToSnakeCase, ToUpperCamelCase};
use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut files: Vec<PathBuf> =
        fs::read_dir("proto")?.map(|entry| Ok(entry?.path())).collect::<Result<_, std::io::Error>>()?;
    files.sort();

    let mut set = protox::compile(files, ["proto"])?;
    fs::write(out.join("schema.rs"), Schema::of(&set).to_rust())?;
    messages(&mut set, &out)
}

/// Runs prost over the descriptors. Byte strings become `Bytes`, which share the buffer they are decoded
/// from, and maps keep their keys sorted, so that the same message always has the same encoding.
fn messages(set: &mut FileDescriptorSet, out: &Path) -> Result<(), Box<dyn Error>> {
    let mut config = prost_build::Config::new();
    config
        .bytes(["."])
        .btree_map(["."])
        // A map's node has room for eleven values: those of a NodeDef's attrs took five kilobytes, however small its attrs.
        .boxed(".tensorflow.AttrValue.value.tensor")
        .boxed(".tensorflow.AttrValue.value.list")
        .compile_well_known_types()
        .disable_comments([".google"])
        .enable_type_names();
    config.compile_fds(set.clone())?;

    // Comments are of use to prost only.
    set.file.iter_mut().for_each(|file| file.source_code_info = None);
    fs::write(out.join("descriptors.bin"), set.encode_to_vec())?;
    Ok(())
}

/// All messages and enums by full name. A type's place in its map is its number in the tables.
#[derive(Default)]
struct Schema<'a> {
    messages: BTreeMap<String, &'a DescriptorProto>,
    enums: BTreeMap<String, &'a EnumDescriptorProto>,
}

impl<'a> Schema<'a> {
    fn of(set: &'a FileDescriptorSet) -> Self {
        let mut schema = Schema::default();
        for file in &set.file {
            schema.add(file.package(), &file.message_type, &file.enum_type);
        }
        schema
    }

    fn add(&mut self, scope: &str, messages: &'a [DescriptorProto], enums: &'a [EnumDescriptorProto]) {
        for e in enums {
            self.enums.insert(format!("{scope}.{}", e.name()), e);
        }
        for m in messages {
            let name = format!("{scope}.{}", m.name());
            self.add(&name, &m.nested_type, &m.enum_type);
            self.messages.insert(name, m);
        }
    }

    fn to_rust(&self) -> String {
        let mut text = format!("pub(super) static MESSAGES: [MessageType; {}] = [\n", self.messages.len());
        for (name, m) in &self.messages {
            assert!(
                m.field.len() <= 64,
                "{name} has more fields than the parser's set of seen ones can hold"
            );
            let map_entry = m.options.as_ref().is_some_and(|o| o.map_entry());
            let size = if map_entry { "0".into() } else { format!("size_of::<{}>()", rust_path(name)) };
            let head = format!("name: {name:?}, map_entry: {map_entry}, size: {size}");
            writeln!(text, "MessageType {{ {head}, fields: &[").unwrap();
            let mut fields: Vec<_> = m.field.iter().collect();
            fields.sort_by_key(|f| f.number());
            fields.into_iter().for_each(|f| self.field(f, &mut text));
            text.push_str("] },\n");
        }
        writeln!(text, "];\npub(super) static ENUMS: [EnumType; {}] = [", self.enums.len()).unwrap();
        for (name, e) in &self.enums {
            let values: Vec<_> = e.value.iter().map(|v| (v.name(), v.number())).collect();
            writeln!(text, "EnumType {{ name: {name:?}, values: &{values:?} }},").unwrap();
        }
        text.push_str("];\n");
        text
    }

    fn field(&self, f: &FieldDescriptorProto, text: &mut String) {
        let target = f.type_name().trim_start_matches('.');
        let kind = match f.r#type() {
            Type::Message => format!("Message({})", self.messages.keys().position(|n| n == target).unwrap()),
            Type::Enum => format!("Enum({})", self.enums.keys().position(|n| n == target).unwrap()),
            Type::Group => panic!("proto3 has no groups"),
            scalar => format!("{scalar:?}"),
        };
        let (name, number, oneof) = (f.name(), f.number(), f.oneof_index);
        let repeated = f.label() == Label::Repeated;
        let field = format!("name: {name:?}, number: {number}, kind: Kind::{kind}, repeated: {repeated}");
        writeln!(text, "Field {{ {field}, oneof: {oneof:?} }},").unwrap();
    }
}

/// What prost calls a message: `tensorflow.GPUOptions.Experimental` is `tensorflow::gpu_options::Experimental`.
fn rust_path(name: &str) -> String {
    let (scope, own) = name.rsplit_once('.').unwrap_or(("", name));
    let modules: String = scope.split('.').map(|m| m.to_snake_case() + "::").collect();
    format!("crate::{modules}{}", own.to_upper_camel_case())
}
