//! Encodings by name, and their decoders. The Unicode ones, ASCII and Latin-1 are decoded here, others by `encoding_rs`.

use crate::prelude::*;
use encoding_rs::{DecoderResult, Encoding};

#[derive(Clone, Copy)]
pub enum Charset {
    Utf8,
    Utf16 {
        big: bool,
    },
    /// The byte order is that of a mark at the front, else big.
    Utf16Marked,
    Utf32 {
        big: bool,
    },
    Utf32Marked,
    Ascii,
    Latin1,
    /// The code page of the first PCs.
    Cp437,
    /// As this encoding of the web, but for control characters from 0x80 to 0x9F.
    IsoOf(&'static Encoding),
    Web(&'static Encoding),
}

/// The upper half of code page 437.
const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

impl Charset {
    /// By a name as ICU has it: case, hyphens, underscores and spaces do not matter.
    pub fn named(name: &str) -> Result<Charset> {
        let plain: String = name
            .chars()
            .filter(|c| c.is_ascii_alphanumeric())
            .take(64)
            .collect::<String>()
            .to_ascii_lowercase();
        Ok(match plain.as_str() {
            "utf8" => Charset::Utf8,
            "utf16be" => Charset::Utf16 { big: true },
            "utf16le" => Charset::Utf16 { big: false },
            "utf16" => Charset::Utf16Marked,
            "utf32be" => Charset::Utf32 { big: true },
            "utf32le" => Charset::Utf32 { big: false },
            "utf32" => Charset::Utf32Marked,
            "usascii" | "ascii" | "iso646us" | "ansix341968" => Charset::Ascii,
            "iso88591" | "latin1" | "l1" | "cp819" | "ibm819" => Charset::Latin1,
            "cp437" | "ibm437" | "437" => Charset::Cp437,
            "iso88599" | "latin5" | "l5" => Charset::IsoOf(encoding_rs::WINDOWS_1254),
            "iso885911" => Charset::IsoOf(encoding_rs::WINDOWS_874),
            _ => {
                let found = Encoding::for_label(name.as_bytes()).or_else(|| by_plain_name(&plain));
                let found =
                    found.filter(|e| *e != encoding_rs::REPLACEMENT && *e != encoding_rs::X_USER_DEFINED);
                match found {
                    Some(encoding) => Charset::Web(encoding),
                    None => {
                        return Err(invalid!("Could not create converter for input encoding: {name}"));
                    }
                }
            }
        })
    }

    /// Calls `each` with the characters in order, `None` for malformed bytes, and the offset where each begins.
    pub fn decode(self, bytes: &[u8], each: &mut dyn FnMut(Option<u32>, usize) -> Result<()>) -> Result<()> {
        match self {
            Charset::Utf8 => utf8(bytes, each),
            Charset::Utf16 { big } => utf16(bytes, big, 0, each),
            Charset::Utf16Marked => match bytes {
                [0xFF, 0xFE, ..] => utf16(bytes, false, 2, each),
                [0xFE, 0xFF, ..] => utf16(bytes, true, 2, each),
                _ => utf16(bytes, true, 0, each),
            },
            Charset::Utf32 { big } => utf32(bytes, big, 0, each),
            Charset::Utf32Marked => match bytes {
                [0xFF, 0xFE, 0, 0, ..] => utf32(bytes, false, 4, each),
                [0, 0, 0xFE, 0xFF, ..] => utf32(bytes, true, 4, each),
                _ => utf32(bytes, true, 0, each),
            },
            Charset::Ascii => single(bytes, each, |b| (b < 0x80).then_some(u32::from(b))),
            Charset::Latin1 => single(bytes, each, |b| Some(u32::from(b))),
            Charset::Cp437 => {
                let upper = reserve::collect(CP437.chars().map(u32::from))?;
                single(bytes, each, |b| match b {
                    0..0x80 => Some(u32::from(b)),
                    _ => upper.get(usize::from(b - 0x80)).copied(),
                })
            }
            Charset::IsoOf(encoding) => web(encoding, bytes, true, each),
            Charset::Web(encoding) => web(encoding, bytes, false, each),
        }
    }
}

/// The encodings of the web whose names agree but for case and signs between.
fn by_plain_name(plain: &str) -> Option<&'static Encoding> {
    const NAMES: [&str; 34] = [
        "ISO-8859-2",
        "ISO-8859-3",
        "ISO-8859-4",
        "ISO-8859-5",
        "ISO-8859-6",
        "ISO-8859-7",
        "ISO-8859-8",
        "ISO-8859-10",
        "ISO-8859-13",
        "ISO-8859-14",
        "ISO-8859-15",
        "ISO-8859-16",
        "windows-874",
        "windows-1250",
        "windows-1251",
        "windows-1252",
        "windows-1253",
        "windows-1254",
        "windows-1255",
        "windows-1256",
        "windows-1257",
        "windows-1258",
        "macintosh",
        "KOI8-R",
        "KOI8-U",
        "IBM866",
        "Shift_JIS",
        "EUC-JP",
        "ISO-2022-JP",
        "EUC-KR",
        "GBK",
        "GB18030",
        "GB2312",
        "Big5",
    ];
    let same = |name: &&&str| {
        let letters = name.bytes().filter(|b| b.is_ascii_alphanumeric()).map(|b| b.to_ascii_lowercase());
        letters.eq(plain.bytes())
    };
    let name = NAMES.iter().find(same)?;
    Encoding::for_label(name.as_bytes())
}

fn utf8(bytes: &[u8], each: &mut dyn FnMut(Option<u32>, usize) -> Result<()>) -> Result<()> {
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for (i, c) in chunk.valid().char_indices() {
            each(Some(u32::from(c)), at + i)?;
        }
        at += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            each(None, at)?;
            at += chunk.invalid().len();
        }
    }
    Ok(())
}

/// From byte `skip` on, after a mark; the first character counts the mark as its own.
fn utf16(
    bytes: &[u8],
    big: bool,
    skip: usize,
    each: &mut dyn FnMut(Option<u32>, usize) -> Result<()>,
) -> Result<()> {
    let (units, rest) = bytes.get(skip..).unwrap_or_default().as_chunks::<2>();
    let unit = |b: &[u8; 2]| if big { u16::from_be_bytes(*b) } else { u16::from_le_bytes(*b) };
    let (mut at, mut start) = (skip, 0);
    for c in char::decode_utf16(units.iter().map(unit)) {
        each(c.as_ref().ok().map(|c| u32::from(*c)), start)?;
        at += c.map_or(2, |c| 2 * c.len_utf16());
        start = at;
    }
    if rest.is_empty() { Ok(()) } else { each(None, start) }
}

fn utf32(
    bytes: &[u8],
    big: bool,
    skip: usize,
    each: &mut dyn FnMut(Option<u32>, usize) -> Result<()>,
) -> Result<()> {
    let (units, rest) = bytes.get(skip..).unwrap_or_default().as_chunks::<4>();
    let mut start = 0;
    for (i, b) in units.iter().enumerate() {
        let code = if big { u32::from_be_bytes(*b) } else { u32::from_le_bytes(*b) };
        each(char::from_u32(code).map(u32::from), start)?;
        start = skip + 4 * (i + 1);
    }
    if rest.is_empty() { Ok(()) } else { each(None, start) }
}

fn single(
    bytes: &[u8],
    each: &mut dyn FnMut(Option<u32>, usize) -> Result<()>,
    code: impl Fn(u8) -> Option<u32>,
) -> Result<()> {
    bytes.iter().enumerate().try_for_each(|(i, b)| each(code(*b), i))
}

/// Byte by byte, to know where each character begins.
fn web(
    encoding: &'static Encoding,
    bytes: &[u8],
    controls: bool,
    each: &mut dyn FnMut(Option<u32>, usize) -> Result<()>,
) -> Result<()> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let (mut out, mut start) = ([0u8; 32], 0);
    for (i, b) in bytes.iter().enumerate() {
        if controls && (0x80..0xA0).contains(b) {
            each(Some(u32::from(*b)), i)?;
            start = i + 1;
            continue;
        }
        let mut input = std::slice::from_ref(b);
        let last = i + 1 == bytes.len();
        loop {
            let (result, read, written) = decoder.decode_to_utf8_without_replacement(input, &mut out, last);
            input = input.get(read..).unwrap_or_default();
            for c in out.get(..written).unwrap_or_default().utf8_chunks().flat_map(|c| c.valid().chars()) {
                each(Some(u32::from(c)), start)?;
                start = i + 1;
            }
            match result {
                DecoderResult::Malformed(_, after) => {
                    each(None, start)?;
                    start = (i + 1).saturating_sub(usize::from(after));
                }
                DecoderResult::InputEmpty => break,
                DecoderResult::OutputFull => {}
            }
        }
    }
    Ok(())
}
