//! What the markers of a file say: frame, tables, restart interval, colour space.

use super::BLOCK;
use super::huffman::Table;
use super::{ZIGZAG, standard};
use thalweg_core::error::Result;
use thalweg_core::invalid;

/// A component of the image, as the frame header has it.
#[derive(Clone)]
pub struct Component {
    pub id: u8,
    pub h: usize,
    pub v: usize,
    pub table: usize,
    /// Its quantisation, taken when its first scan begins.
    pub quantisation: Option<[u16; BLOCK]>,
}

pub struct Frame {
    pub progressive: bool,
    pub rows: usize,
    pub cols: usize,
    pub components: Vec<Component>,
    pub max_h: usize,
    pub max_v: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Space {
    Grey,
    Rgb,
    YCbCr,
    Cmyk,
    Ycck,
}

/// One scan: components by number, with their tables; band and bits of progressive files.
pub struct ScanHeader {
    pub components: Vec<(usize, usize, usize)>,
    pub first: usize,
    pub last: usize,
    pub high: u32,
    pub low: u32,
}

/// The state of a reader of markers.
pub struct Markers<'a> {
    data: &'a [u8],
    pub at: usize,
    pub frame: Option<Frame>,
    pub quantisation: [Option<[u16; BLOCK]>; 4],
    pub dc: [Option<Table>; 4],
    pub ac: [Option<Table>; 4],
    pub restart: usize,
    jfif: bool,
    pub adobe: Option<u8>,
}

/// What a reader came to.
pub enum Reached {
    Scan(ScanHeader),
    End,
    /// The file ended before.
    Cut,
}

impl<'a> Markers<'a> {
    pub fn new(data: &'a [u8]) -> Result<Markers<'a>> {
        if !data.starts_with(&[0xff, 0xd8]) {
            return Err(invalid!("not a JPEG file: it does not begin with FF D8"));
        }
        let none = || [None, None, None, None];
        Ok(Markers {
            data,
            at: 2,
            frame: None,
            quantisation: [None; 4],
            dc: none(),
            ac: none(),
            restart: 0,
            jfif: false,
            adobe: None,
        })
    }

    /// Reads on to the next scan or the end. `marker` was read already, if there is one.
    pub fn next(&mut self, mut marker: Option<u8>) -> Result<Reached> {
        loop {
            let code = match marker.take() {
                Some(code) => code,
                None => match self.find_marker() {
                    Some(code) => code,
                    None => return Ok(Reached::Cut),
                },
            };
            match code {
                0xd9 => return Ok(Reached::End),
                0xd8 => return Err(invalid!("two images in one JPEG file")),
                0x01 | 0xd0..=0xd7 => continue,
                _ => {}
            }
            let Some(body) = self.segment()? else { return Ok(Reached::Cut) };
            match code {
                0xc0..=0xc2 => self.read_frame(body, code == 0xc2)?,
                0xc3 | 0xc5..=0xc7 | 0xc8..=0xcb | 0xcd..=0xcf => {
                    return Err(invalid!("JPEG coding process {code:#x} is not supported"));
                }
                0xc4 => self.read_huffman(body)?,
                0xda => return Ok(Reached::Scan(self.read_scan(body)?)),
                0xdb => self.read_quantisation(body)?,
                0xdd => self.restart = usize::from(word(body, 0)?),
                0xe0 => self.jfif |= body.len() >= 14 && body.starts_with(b"JFIF\0"),
                0xee if body.len() >= 12 && body.starts_with(b"Adobe") => self.adobe = Some(body[11]),
                0xe1..=0xef | 0xfe | 0xdc | 0xcc => {}
                other => return Err(invalid!("unknown JPEG marker {other:#x}")),
            }
        }
    }

    /// The next marker; what is before it is skipped.
    fn find_marker(&mut self) -> Option<u8> {
        loop {
            let skip = self.data.get(self.at..)?.iter().position(|b| *b == 0xff)?;
            self.at += skip;
            let fill = self.data[self.at..].iter().position(|b| *b != 0xff)?;
            let code = self.data[self.at + fill];
            self.at += fill + 1;
            if code != 0 {
                return Some(code);
            }
        }
    }

    /// The body of the segment that begins here; none if the file ends in it.
    fn segment(&mut self) -> Result<Option<&'a [u8]>> {
        let Some([high, low]) = self.data.get(self.at..self.at + 2) else { return Ok(None) };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if length < 2 {
            return Err(invalid!("a JPEG segment of length {length}"));
        }
        let body = self.data.get(self.at + 2..self.at + length);
        self.at += length;
        Ok(body)
    }

    fn read_frame(&mut self, body: &[u8], progressive: bool) -> Result<()> {
        if self.frame.is_some() {
            return Err(invalid!("two frames in one JPEG file"));
        }
        let &[8, h1, h0, w1, w0, count, ref rest @ ..] = body else {
            return Err(invalid!("the frame of a JPEG file is not of 8 bits, or too short"));
        };
        let (rows, cols) =
            (usize::from(u16::from_be_bytes([h1, h0])), usize::from(u16::from_be_bytes([w1, w0])));
        let (parts, []) = rest.as_chunks::<3>() else {
            return Err(invalid!("the frame of a JPEG file has an odd length"));
        };
        if rows == 0 || cols == 0 || parts.len() != usize::from(count) || !matches!(count, 1 | 3 | 4) {
            return Err(invalid!("a JPEG image of {rows} by {cols} pixels and {count} components"));
        }
        let mut components = Vec::new();
        for [id, sampling, table] in parts {
            let (h, v) = (usize::from(sampling >> 4), usize::from(sampling & 15));
            if !(1..=4).contains(&h) || !(1..=4).contains(&v) || *table > 3 {
                return Err(invalid!("a JPEG component is sampled {h} by {v} times, with table {table}"));
            }
            components.push(Component { id: *id, h, v, table: usize::from(*table), quantisation: None });
        }
        let most = |f: fn(&Component) -> usize| components.iter().map(f).max().unwrap_or(1);
        let (max_h, max_v) = (most(|c| c.h), most(|c| c.v));
        self.frame = Some(Frame { progressive, rows, cols, components, max_h, max_v });
        Ok(())
    }

    fn read_huffman(&mut self, mut body: &[u8]) -> Result<()> {
        while let Some((kind, rest)) = body.split_first() {
            let Some((counts, rest)) = rest.split_first_chunk::<16>() else {
                return Err(invalid!("a Huffman table is too short"));
            };
            let table = Table::new(*counts, rest)?;
            let total: usize = counts.iter().map(|n| usize::from(*n)).sum();
            body = &rest[total..];
            let place = match kind >> 4 {
                0 => &mut self.dc,
                1 => &mut self.ac,
                _ => return Err(invalid!("a Huffman table of class {}", kind >> 4)),
            };
            match place.get_mut(usize::from(kind & 15)) {
                Some(place) => *place = Some(table),
                None => return Err(invalid!("Huffman table number {}", kind & 15)),
            }
        }
        Ok(())
    }

    fn read_quantisation(&mut self, mut body: &[u8]) -> Result<()> {
        while let Some((kind, rest)) = body.split_first() {
            let size = if kind >> 4 == 0 { BLOCK } else { 2 * BLOCK };
            let (Some(values), Some(place)) =
                (rest.get(..size), self.quantisation.get_mut(usize::from(kind & 15)))
            else {
                return Err(invalid!("quantisation table {} is too short, or one too many", kind & 15));
            };
            let mut table = [0; BLOCK];
            for k in 0..BLOCK {
                table[usize::from(ZIGZAG[k])] = match size {
                    BLOCK => u16::from(values[k]),
                    _ => u16::from_be_bytes([values[2 * k], values[2 * k + 1]]),
                };
            }
            *place = Some(table);
            body = &rest[size..];
        }
        Ok(())
    }

    fn read_scan(&mut self, body: &[u8]) -> Result<ScanHeader> {
        let Some(frame) = &mut self.frame else { return Err(invalid!("a JPEG scan before its frame")) };
        let (count, rest) = body.split_first().map_or((0, body), |(n, rest)| (usize::from(*n), rest));
        if !(1..=4).contains(&count) || rest.len() != 2 * count + 3 {
            return Err(invalid!("a JPEG scan of {count} components in {} bytes", body.len()));
        }
        let mut components: Vec<(usize, usize, usize)> = Vec::new();
        for [id, tables] in rest[..2 * count].as_chunks::<2>().0 {
            let used = |i: usize| components.iter().any(|c| c.0 == i);
            let found = frame.components.iter().enumerate().position(|(i, c)| c.id == *id && !used(i));
            let Some(found) = found else { return Err(invalid!("a JPEG scan of an unknown component")) };
            let (dc, ac) = (usize::from(tables >> 4), usize::from(tables & 15));
            if dc > 3 || ac > 3 {
                return Err(invalid!("a JPEG scan with tables {dc} and {ac}"));
            }
            components.push((found, dc, ac));
            let component = &mut frame.components[found];
            if component.quantisation.is_none() {
                component.quantisation = self.quantisation[component.table];
            }
            if component.quantisation.is_none() {
                return Err(invalid!("quantisation table {} is missing", component.table));
            }
        }
        let tail = &rest[2 * count..];
        let (first, last) = (usize::from(tail[0]), usize::from(tail[1]));
        let (high, low) = (u32::from(tail[2] >> 4), u32::from(tail[2] & 15));
        let scan = ScanHeader { components, first, last, high, low };
        if frame.progressive {
            scan.check_progressive()?;
        }
        let blocks: usize =
            scan.components.iter().map(|c| frame.components[c.0].h * frame.components[c.0].v).sum();
        if scan.components.len() > 1 && blocks > 10 {
            return Err(invalid!("a JPEG scan with {blocks} blocks in one unit"));
        }
        self.check_tables(&scan)?;
        Ok(scan)
    }

    /// Baseline scans without tables of their own use the standard's.
    fn check_tables(&mut self, scan: &ScanHeader) -> Result<()> {
        let progressive = self.frame.as_ref().is_some_and(|f| f.progressive);
        if !progressive {
            for i in 0..2 {
                self.dc[i] = match self.dc[i].take() {
                    Some(table) => Some(table),
                    None => Some(standard::dc(i)?),
                };
                self.ac[i] = match self.ac[i].take() {
                    Some(table) => Some(table),
                    None => Some(standard::ac(i)?),
                };
            }
        }
        for (_, dc, ac) in &scan.components {
            if scan.first == 0 && scan.high == 0 {
                match &self.dc[*dc] {
                    Some(table) => table.check_dc()?,
                    None => return Err(invalid!("Huffman table {dc} is missing")),
                }
            }
            if (!progressive || scan.first > 0) && self.ac[*ac].is_none() {
                return Err(invalid!("Huffman table {ac} is missing"));
            }
        }
        Ok(())
    }

    /// The colour space, from markers of programs, or from the ids of the components.
    pub fn space(&self) -> Space {
        let ids: Vec<u8> = self.frame.iter().flat_map(|f| f.components.iter().map(|c| c.id)).collect();
        match (ids.len(), self.adobe) {
            (1, _) => Space::Grey,
            (3, _) if self.jfif => Space::YCbCr,
            (3, Some(0)) => Space::Rgb,
            (3, Some(_)) => Space::YCbCr,
            (3, None) if ids == *b"RGB" => Space::Rgb,
            (3, None) => Space::YCbCr,
            (_, None | Some(0)) => Space::Cmyk,
            _ => Space::Ycck,
        }
    }
}

impl ScanHeader {
    fn check_progressive(&self) -> Result<()> {
        let band = match self.first {
            0 => self.last == 0,
            first => self.components.len() == 1 && first <= self.last && self.last < BLOCK,
        };
        let bits = (self.high == 0 || self.high == self.low + 1) && self.low <= 13;
        match band && bits {
            true => Ok(()),
            false => Err(invalid!(
                "a progressive JPEG scan of coefficients {} to {}, bits {} to {}",
                self.first,
                self.last,
                self.high,
                self.low
            )),
        }
    }
}

fn word(body: &[u8], at: usize) -> Result<u16> {
    match body.get(at..at + 2) {
        Some(b) => Ok(u16::from_be_bytes([b[0], b[1]])),
        None => Err(invalid!("a JPEG segment of {} bytes", body.len())),
    }
}
