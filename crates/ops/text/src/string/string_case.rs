//! `StringLower`, `StringUpper`: case conversion.

use super::mapped::{map_strings, words};
use crate::prelude::*;
use bytes::Bytes;

pub static STRING_LOWER: Op = Op {
    name: "StringLower",
    doc: "Each string in lower case: its ASCII letters, or with encoding 'utf-8' all letters.",
    inputs: &["input: string"],
    outputs: &["output: string"],
    attrs: &["encoding: string = ''"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(make lower),
    cases: |_| {
        let text = words(&[2], &["HÉLLO ß", "aBc"]);
        vec![Case::new(vec![text.clone()]), Case::new(vec![text]).attr("encoding", "utf-8")]
    },
    ..Op::PURE
};

pub static STRING_UPPER: Op = Op {
    name: "StringUpper",
    doc: "Each string in upper case: its ASCII letters, or with encoding 'utf-8' all letters.",
    kernels: cpu!(make upper),
    ..STRING_LOWER
};

fn lower(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    cased(node, u8::to_ascii_lowercase, |text, at, c, out| match c {
        'Σ' => reserve::extend(out, lower_sigma(text, at).encode_utf8(&mut [0; 4]).as_bytes()),
        _ => write(c.to_lowercase(), out),
    })
}

fn upper(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    cased(node, u8::to_ascii_uppercase, |_, _, c, out| write(c.to_uppercase(), out))
}

fn write(letters: impl Iterator<Item = char>, out: &mut Vec<u8>) -> Result<()> {
    for c in letters {
        reserve::extend(out, c.encode_utf8(&mut [0; 4]).as_bytes())?;
    }
    Ok(())
}

/// Lower case of a sigma depends on whether it ends a word.
fn lower_sigma(text: &str, at: usize) -> char {
    const AROUND: usize = 32;
    let before: String =
        text[..at].chars().rev().take(AROUND).collect::<Vec<_>>().into_iter().rev().collect();
    let after: String = text[at..].chars().take(AROUND).collect();
    let place = before.to_lowercase().len();
    (before + &after).to_lowercase()[place..].chars().next().unwrap_or('σ')
}

/// Converts the letter at a position of a text.
type Letter = fn(&str, usize, char, &mut Vec<u8>) -> Result<()>;

fn cased(node: &KernelNode, ascii: fn(&u8) -> u8, letter: Letter) -> Result<Box<dyn Kernel>> {
    let utf8 = match node.attrs.str("encoding")? {
        "" => false,
        "utf-8" => true,
        other => return Err(invalid!("only utf-8 or '' (no encoding) is supported, received {other}")),
    };
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        map_strings(c, |s| {
            let out = if utf8 { cased_text(s, letter)? } else { reserve::collect(s.iter().map(ascii))? };
            Ok(Bytes::from(out))
        })
    }))
}

fn cased_text(s: &[u8], letter: Letter) -> Result<Vec<u8>> {
    let mut out = reserve::with_capacity(s.len())?;
    for chunk in s.utf8_chunks() {
        let text = chunk.valid();
        text.char_indices().try_for_each(|(at, c)| letter(text, at, c, &mut out))?;
        if !chunk.invalid().is_empty() {
            write([char::REPLACEMENT_CHARACTER].into_iter(), &mut out)?;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::call;

    #[test]
    fn letters_are_as_std_makes_them() {
        for text in ["ΑΣ ΣΑ Σ ΑΣ́ ΑΣ́Α", "İıǅß", "", "ΑΣ\u{301}", "ΑΣ."] {
            let attrs = [("encoding", "utf-8".into())];
            let got =
                |op| call(op, &[Tensor::string(text)], &attrs).unwrap()[0].strings().unwrap()[0].clone();
            assert_eq!(got("StringLower"), text.to_lowercase());
            assert_eq!(got("StringUpper"), text.to_uppercase());
        }
        let torn =
            call("StringUpper", &[Tensor::string(*b"a\xffb")], &[("encoding", "utf-8".into())]).unwrap();
        assert_eq!(torn[0].strings().unwrap()[0], "A\u{fffd}B");
    }
}
