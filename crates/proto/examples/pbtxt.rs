//! Converts a message between its two forms, from standard input to standard output:
//! `pbtxt print GraphDef < graph.pb > graph.pbtxt`, or `pbtxt parse GraphDef` for the way back.

use std::error::Error;
use std::io::{Read, Write, stdin, stdout};

use prost::Name;
use thalweg_proto::{ConfigProto, GraphDef, Message, MetaGraphDef, SavedModel, decode, text};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[1..] {
        [way, "GraphDef"] => convert::<GraphDef>(way),
        [way, "MetaGraphDef"] => convert::<MetaGraphDef>(way),
        [way, "SavedModel"] => convert::<SavedModel>(way),
        [way, "ConfigProto"] => convert::<ConfigProto>(way),
        _ => Err("usage: pbtxt (print | parse) (GraphDef | MetaGraphDef | SavedModel | ConfigProto)".into()),
    }
}

fn convert<M: Message + Name + Default>(way: &str) -> Result<(), Box<dyn Error>> {
    let mut input = Vec::new();
    stdin().read_to_end(&mut input)?;
    let output = match way {
        "print" => text::print(&decode::<M>(input)?).into_bytes(),
        "parse" => text::parse::<M>(&String::from_utf8(input)?)?.encode_to_vec(),
        _ => return Err(format!("neither print nor parse: {way}").into()),
    };
    Ok(stdout().write_all(&output)?)
}
