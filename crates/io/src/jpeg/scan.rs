//! Scans: entropy-coded data to coefficients, baseline or progressive.

use super::bits::{Bits, Read};
use super::frame::{Frame, Markers, ScanHeader};
use super::huffman::Table;
use super::{BLOCK, ZIGZAG};
use thalweg_core::error::Result;
use thalweg_core::reserve;

/// The quantised coefficients of a component: whole units of blocks, by rows.
pub struct Plane {
    pub blocks_across: usize,
    pub blocks_down: usize,
    pub coefficients: Vec<i16>,
}

impl Plane {
    pub fn all(frame: &Frame) -> Result<Vec<Plane>> {
        let (across, down) = units(frame);
        let plane = |c: &super::frame::Component| {
            let (blocks_across, blocks_down) = (across * c.h, down * c.v);
            let coefficients = reserve::filled(blocks_across * blocks_down * BLOCK, 0)?;
            Ok(Plane { blocks_across, blocks_down, coefficients })
        };
        frame.components.iter().map(plane).collect()
    }

    fn block(&mut self, row: usize, col: usize) -> &mut [i16] {
        let at = (row * self.blocks_across + col) * BLOCK;
        &mut self.coefficients[at..at + BLOCK]
    }
}

/// Units of interleaved scans, across and down.
pub fn units(frame: &Frame) -> (usize, usize) {
    (frame.cols.div_ceil(8 * frame.max_h), frame.rows.div_ceil(8 * frame.max_v))
}

/// A component in a scan.
struct Part<'a> {
    plane: usize,
    h: usize,
    v: usize,
    dc: Option<&'a Table>,
    ac: Option<&'a Table>,
    /// The last DC coefficient.
    previous: i32,
}

/// How far a scan came.
pub struct Done {
    /// Rows of units that are complete.
    pub rows: usize,
    pub ended: bool,
    pub marker: Option<u8>,
    pub at: usize,
}

/// Decodes a scan whose data begins at `at`.
pub fn read_scan(
    data: &[u8],
    markers: &Markers<'_>,
    frame: &Frame,
    scan: &ScanHeader,
    planes: &mut [Plane],
    recover: bool,
) -> Result<Done> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    for (i, dc, ac) in &scan.components {
        let c = &frame.components[*i];
        parts.push(Part {
            plane: *i,
            h: c.h,
            v: c.v,
            dc: markers.dc[*dc].as_ref(),
            ac: markers.ac[*ac].as_ref(),
            previous: 0,
        });
    }
    let (across, down) = match &mut parts[..] {
        // A single component is not padded to whole units.
        [one] => {
            let (h, v) = (std::mem::replace(&mut one.h, 1), std::mem::replace(&mut one.v, 1));
            ((frame.cols * h).div_ceil(8 * frame.max_h), (frame.rows * v).div_ceil(8 * frame.max_v))
        }
        _ => units(frame),
    };
    let bits = Bits::new(data, markers.at, recover);
    let mut reader = Reader { bits, data, scan, progressive: frame.progressive, empty_blocks: 0 };
    let (mut rows, mut ended) = (0, false);
    let (mut to_restart, mut restarts) = (markers.restart, 0u8);
    'rows: for row in 0..down {
        for col in 0..across {
            if markers.restart > 0 && to_restart == 0 {
                if !reader.restart(restarts, &mut parts) {
                    ended = true;
                    break 'rows;
                }
                (to_restart, restarts) = (markers.restart, (restarts + 1) % 8);
            }
            to_restart = to_restart.saturating_sub(1);
            if reader.bits.insufficient {
                continue;
            }
            match reader.unit(&mut parts, planes, row, col) {
                Ok(()) => {}
                Err(super::bits::Stop::Ended) => {
                    ended = true;
                    break 'rows;
                }
                Err(super::bits::Stop::Wrong(e)) => return Err(e),
            }
        }
        rows = row + 1;
    }
    Ok(Done { rows, ended, marker: reader.bits.marker, at: reader.bits.at })
}

struct Reader<'a> {
    bits: Bits<'a>,
    data: &'a [u8],
    scan: &'a ScanHeader,
    progressive: bool,
    /// Blocks that follow without further coefficients in this band.
    empty_blocks: u32,
}

impl Reader<'_> {
    /// Goes on behind the restart marker; false if the file ends.
    fn restart(&mut self, wanted: u8, parts: &mut [Part<'_>]) -> bool {
        self.bits.align();
        parts.iter_mut().for_each(|p| p.previous = 0);
        self.empty_blocks = 0;
        loop {
            let marker = match self.bits.marker.take() {
                Some(marker) => marker,
                // At the end of the file, as if the end of the image were here.
                None => next_marker(self.data, &mut self.bits.at).unwrap_or(0xd9),
            };
            let number = marker.wrapping_sub(0xd0);
            let distance = number.wrapping_sub(wanted) & 7;
            match marker {
                0xd0..=0xd7 if matches!(distance, 0 | 3..=5) => {
                    self.bits.insufficient = false;
                    return true;
                }
                // One that was due before: the next may fit.
                0xd0..=0xd7 if distance >= 6 => continue,
                0..=0xbf => continue,
                // One that is due later, or the end: this part is missing.
                _ => {
                    self.bits.marker = Some(marker);
                    return true;
                }
            }
        }
    }

    fn unit(&mut self, parts: &mut [Part<'_>], planes: &mut [Plane], row: usize, col: usize) -> Read<()> {
        for part in parts {
            for y in 0..part.v {
                for x in 0..part.h {
                    let block = planes[part.plane].block(row * part.v + y, col * part.h + x);
                    match (self.progressive, self.scan.first, self.scan.high) {
                        (false, ..) => self.baseline(part, block)?,
                        (true, 0, 0) => self.first_dc(part, block)?,
                        (true, 0, _) => {
                            let bit = self.bits.get(1)?;
                            block[0] |= (bit << self.scan.low) as i16;
                        }
                        (true, _, 0) => self.first_ac(part, block)?,
                        (true, ..) => self.refine_ac(part, block)?,
                    }
                }
            }
        }
        Ok(())
    }

    fn dc(&mut self, part: &mut Part<'_>) -> Read<i32> {
        let Some(table) = part.dc else { return Ok(0) };
        let size = self.bits.symbol(table)?;
        part.previous = part.previous.wrapping_add(self.bits.signed(u32::from(size & 15))?);
        Ok(part.previous)
    }

    fn baseline(&mut self, part: &mut Part<'_>, block: &mut [i16]) -> Read<()> {
        block[0] = self.dc(part)? as i16;
        let Some(table) = part.ac else { return Ok(()) };
        let mut k = 1;
        while k < BLOCK {
            let symbol = self.bits.symbol(table)?;
            let (zeros, size) = (usize::from(symbol >> 4), u32::from(symbol & 15));
            if size > 0 {
                k += zeros;
                block[usize::from(ZIGZAG[k])] = self.bits.signed(size)? as i16;
            } else if zeros < 15 {
                break;
            } else {
                k += 15;
            }
            k += 1;
        }
        Ok(())
    }

    fn first_dc(&mut self, part: &mut Part<'_>, block: &mut [i16]) -> Read<()> {
        block[0] = self.dc(part)?.wrapping_shl(self.scan.low) as i16;
        Ok(())
    }

    fn first_ac(&mut self, part: &Part<'_>, block: &mut [i16]) -> Read<()> {
        if self.empty_blocks > 0 {
            self.empty_blocks -= 1;
            return Ok(());
        }
        let Some(table) = part.ac else { return Ok(()) };
        let mut k = self.scan.first;
        while k <= self.scan.last {
            let symbol = self.bits.symbol(table)?;
            let (zeros, size) = (usize::from(symbol >> 4), u32::from(symbol & 15));
            if size > 0 {
                k += zeros;
                block[usize::from(ZIGZAG[k])] = (self.bits.signed(size)? << self.scan.low) as i16;
            } else if zeros < 15 {
                self.empty_blocks = (1 << zeros) + self.bits.get(zeros as u32)? as u32 - 1;
                break;
            } else {
                k += 15;
            }
            k += 1;
        }
        Ok(())
    }

    fn refine_ac(&mut self, part: &Part<'_>, block: &mut [i16]) -> Read<()> {
        let Some(table) = part.ac else { return Ok(()) };
        let one = 1i16 << self.scan.low;
        let mut k = self.scan.first;
        if self.empty_blocks == 0 {
            while k <= self.scan.last {
                let symbol = self.bits.symbol(table)?;
                let (mut zeros, size) = (i32::from(symbol >> 4), symbol & 15);
                let mut new = 0;
                if size > 0 {
                    new = if self.bits.get(1)? == 1 { one } else { -one };
                } else if zeros < 15 {
                    self.empty_blocks = (1 << zeros) + self.bits.get(zeros as u32)? as u32;
                    break;
                }
                while k <= self.scan.last {
                    let at = &mut block[usize::from(ZIGZAG[k])];
                    if *at != 0 {
                        refine(&mut self.bits, at, one)?;
                    } else if zeros == 0 {
                        break;
                    } else {
                        zeros -= 1;
                    }
                    k += 1;
                }
                if new != 0 {
                    block[usize::from(ZIGZAG[k])] = new;
                }
                k += 1;
            }
        }
        if self.empty_blocks > 0 {
            while k <= self.scan.last {
                let at = &mut block[usize::from(ZIGZAG[k])];
                if *at != 0 {
                    refine(&mut self.bits, at, one)?;
                }
                k += 1;
            }
            self.empty_blocks -= 1;
        }
        Ok(())
    }
}

/// The next bit of a coefficient that is not zero.
fn refine(bits: &mut Bits<'_>, at: &mut i16, one: i16) -> Read<()> {
    if bits.get(1)? == 1 && *at & one == 0 {
        *at = at.wrapping_add(if *at >= 0 { one } else { -one });
    }
    Ok(())
}

fn next_marker(data: &[u8], at: &mut usize) -> Option<u8> {
    loop {
        *at += data.get(*at..)?.iter().position(|b| *b == 0xff)?;
        let fill = data[*at..].iter().position(|b| *b != 0xff)?;
        let code = data[*at + fill];
        *at += fill + 1;
        if code != 0 {
            return Some(code);
        }
    }
}
