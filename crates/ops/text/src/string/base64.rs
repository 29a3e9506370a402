//! `EncodeBase64`, `DecodeBase64`: URL-safe base64.

use super::mapped::{map_strings, words};
use crate::prelude::*;
use bytes::Bytes;

pub static ENCODE_BASE64: Op = Op {
    name: "EncodeBase64",
    doc: "Each string in web-safe base64.",
    inputs: &["input: string"],
    outputs: &["output: string"],
    attrs: &["pad: bool = false"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(encode),
    cases: |_| {
        let text = words(&[4], &["", "a", "ab", "~~?"]);
        vec![Case::new(vec![text.clone()]), Case::new(vec![text]).attr("pad", true)]
    },
    ..Op::PURE
};

pub static DECODE_BASE64: Op = Op {
    name: "DecodeBase64",
    doc: "Each string decoded from web-safe base64, with or without padding.",
    attrs: &[],
    kernels: cpu!(decode),
    cases: |_| vec![Case::new(vec![words(&[4], &["-__-", "YQ", "YWI=", ""])])],
    ..ENCODE_BASE64
};

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn encode(c: &mut OpCall<'_>) -> Result<()> {
    let pad = c.attrs().bool("pad")?;
    map_strings(c, |s| {
        let mut out = reserve::with_capacity(s.len().div_ceil(3).saturating_mul(4))?;
        for group in s.chunks(3) {
            let bits =
                group.iter().enumerate().fold(0u32, |bits, (i, b)| bits | u32::from(*b) << (16 - 8 * i));
            let letters = group.len() + 1;
            out.extend((0..letters).map(|i| LETTERS[(bits >> (18 - 6 * i)) as usize & 63]));
            if pad {
                out.resize(out.len() + 4 - letters, b'=');
            }
        }
        Ok(Bytes::from(out))
    })
}

fn decode(c: &mut OpCall<'_>) -> Result<()> {
    map_strings(c, |s| {
        // Padding is only valid where it completes a group of four.
        let text = match s.len() % 4 {
            0 => s.strip_suffix(b"==").or_else(|| s.strip_suffix(b"=")).unwrap_or(s),
            _ => s,
        };
        if text.len() % 4 == 1 {
            return Err(invalid!("Base64 string length cannot be 1 modulo 4."));
        }
        let mut out = reserve::with_capacity(text.len() / 4 * 3 + 2)?;
        for group in text.chunks(4) {
            let mut bits = 0u32;
            for (i, b) in group.iter().enumerate() {
                let value = LETTERS.iter().position(|l| l == b);
                let value = value.ok_or_else(|| invalid!("Invalid character found in base64."))?;
                bits |= (value as u32) << (18 - 6 * i);
            }
            out.extend((0..group.len() - 1).map(|i| (bits >> (16 - 8 * i)) as u8));
        }
        Ok(Bytes::from(out))
    })
}
