//! GIF files: all frames, each drawn over the one before it.

use thalweg_core::error::Result;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_core::{dtype::DataType, invalid, reserve};

type Colors<'a> = &'a [[u8; 3]];

struct Frame<'a> {
    left: usize,
    top: usize,
    cols: usize,
    rows: usize,
    colors: Option<Colors<'a>>,
    transparent: Option<u8>,
    /// Color numbers, by rows.
    pixels: Vec<u8>,
}

struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

fn cut() -> thalweg_core::error::Error {
    invalid!("Invalid GIF data: the file ends early")
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let part = self.at.checked_add(n).and_then(|end| self.data.get(self.at..end)).ok_or_else(cut)?;
        self.at += n;
        Ok(part)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    fn word(&mut self) -> Result<usize> {
        let b = self.take(2)?;
        Ok(usize::from(u16::from_le_bytes([b[0], b[1]])))
    }

    /// A color table, if the flags say that there is one.
    fn colors(&mut self, flags: u8) -> Result<Option<Colors<'a>>> {
        match flags & 0x80 {
            0 => Ok(None),
            _ => Ok(Some(self.take(3 << (flags % 8 + 1))?.as_chunks::<3>().0)),
        }
    }

    /// The contents of the blocks up to the empty one.
    fn blocks(&mut self) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            match self.byte()? {
                0 => return Ok(all),
                n => reserve::extend(&mut all, self.take(usize::from(n))?)?,
            }
        }
    }
}

/// The frames, of shape [frames, rows, columns, 3]; only the first of them if not `all`.
pub fn decode(data: &[u8], all: bool) -> Result<Tensor> {
    let (frames, shared) = read(data)?;
    let largest = |f: fn(&Frame<'_>) -> usize| frames.iter().map(f).max().unwrap_or(0);
    let (rows, cols) = (largest(|f| f.rows), largest(|f| f.cols));
    let shown = if all { frames.len() } else { 1 };
    let mut out = Tensor::zeros(DataType::Uint8, Shape::new(&[shown, rows, cols, 3])?)?;
    let size = rows * cols * 3;
    let pixels = out.as_mut_slice::<u8>()?;
    for (k, frame) in frames.iter().take(shown).enumerate() {
        let (before, rest) = pixels.split_at_mut(k * size);
        let canvas = &mut rest[..size];
        if k > 0 {
            canvas.copy_from_slice(&before[(k - 1) * size..]);
        }
        let Some(colors) = frame.colors.or(shared) else {
            return Err(invalid!("Invalid GIF data: missing color map for frame {k}"));
        };
        frame.draw(colors, canvas, rows, cols)?;
    }
    Ok(out)
}

impl Frame<'_> {
    fn draw(&self, colors: Colors<'_>, canvas: &mut [u8], rows: usize, cols: usize) -> Result<()> {
        for row in self.top..(self.top + self.rows).min(rows) {
            for col in self.left..(self.left + self.cols).min(cols) {
                let color = self.pixels[(row - self.top) * self.cols + col - self.left];
                if Some(color) == self.transparent {
                    continue;
                }
                let Some(rgb) = colors.get(usize::from(color)) else {
                    return Err(invalid!(
                        "Invalid GIF data: found color index {color} outside of color map range {}",
                        colors.len()
                    ));
                };
                canvas[(row * cols + col) * 3..][..3].copy_from_slice(rgb);
            }
        }
        Ok(())
    }
}

fn read(data: &[u8]) -> Result<(Vec<Frame<'_>>, Option<Colors<'_>>)> {
    let mut r = Reader { data, at: 0 };
    if !r.take(6)?.starts_with(b"GIF") {
        return Err(invalid!("Invalid GIF data: it does not begin with GIF"));
    }
    r.take(4)?;
    let flags = r.byte()?;
    r.take(2)?;
    let shared = r.colors(flags)?;
    let (mut frames, mut transparent) = (Vec::new(), None);
    loop {
        match r.byte()? {
            b';' => break,
            b'!' => {
                let kind = r.byte()?;
                let body = r.blocks()?;
                if kind == 0xf9 && body.len() >= 4 {
                    transparent = (body[0] & 1 == 1).then(|| body[3]);
                }
            }
            b',' => {
                let frame = read_frame(&mut r, transparent.take())?;
                reserve::push(&mut frames, frame)?;
            }
            other => return Err(invalid!("Invalid GIF data: a block of kind {other:#x}")),
        }
    }
    match frames.is_empty() {
        true => Err(invalid!("Invalid GIF data: gif file does not contain any image")),
        false => Ok((frames, shared)),
    }
}

fn read_frame<'a>(r: &mut Reader<'a>, transparent: Option<u8>) -> Result<Frame<'a>> {
    let (left, top, cols, rows) = (r.word()?, r.word()?, r.word()?, r.word()?);
    let flags = r.byte()?;
    let colors = r.colors(flags)?;
    let bits = r.byte()?;
    let codes = r.blocks()?;
    if cols == 0 || rows == 0 || !(1..=8).contains(&bits) {
        return Err(invalid!("Invalid GIF data: a frame of {rows} by {cols} pixels, codes of {bits} bits"));
    }
    // A code stands for at most 4097 pixels: frames that cannot be filled take no memory.
    if (rows * cols) / 4097 > codes.len() * 8 {
        return Err(cut());
    }
    let mut pixels = reserve::with_capacity(rows * cols)?;
    unpack(&codes, bits.into(), rows * cols, &mut pixels)?;
    if flags & 0x40 != 0 {
        pixels = deinterlaced(&pixels, rows, cols)?;
    }
    Ok(Frame { left, top, cols, rows, colors, transparent, pixels })
}

/// Rows in the order of the image: every eighth came first, then those between, then every fourth, every second.
fn deinterlaced(pixels: &[u8], rows: usize, cols: usize) -> Result<Vec<u8>> {
    let mut out = reserve::filled(pixels.len(), 0)?;
    let order =
        [(0, 8), (4, 8), (2, 4), (1, 2)].into_iter().flat_map(|(first, step)| (first..rows).step_by(step));
    for (row, from) in order.zip(pixels.chunks_exact(cols)) {
        out[row * cols..][..cols].copy_from_slice(from);
    }
    Ok(out)
}

/// Lempel, Ziv and Welch's codes, of up to 12 bits, to `want` pixels.
fn unpack(codes: &[u8], bits: u32, want: usize, out: &mut Vec<u8>) -> Result<()> {
    let (clear, end) = (1usize << bits, (1usize << bits) + 1);
    // Each entry: the entry that it prolongs, its last pixel, its length.
    let mut table = [(0u16, 0u8, 1u16); 4096];
    for (i, entry) in table.iter_mut().enumerate().take(clear) {
        *entry = (0, i as u8, 1);
    }
    let (mut next, mut width, mut previous) = (end + 1, bits + 1, None::<usize>);
    let (mut held, mut count, mut bytes) = (0u32, 0, codes.iter());
    while out.len() < want {
        while count < width {
            held |= u32::from(*bytes.next().ok_or_else(cut)?) << count;
            count += 8;
        }
        let code = held as usize & ((1 << width) - 1);
        (held, count) = (held >> width, count - width);
        if code == clear {
            (next, width, previous) = (end + 1, bits + 1, None);
            continue;
        }
        if code == end {
            return Err(cut());
        }
        let known = code < clear || (code > end && code < next);
        let from = match (known, previous) {
            (true, _) => code,
            (false, Some(previous)) if code == next && next < 4096 => previous,
            _ => return Err(invalid!("Invalid GIF data: code {code} of {next}")),
        };
        let start = out.len();
        put(&table, from, out);
        let first = out[start];
        // There is room for what is wanted.
        if !known && out.len() < want {
            out.push(first);
        }
        if let Some(previous) = previous
            && next < 4096
        {
            table[next] = (previous as u16, first, table[previous].2.saturating_add(1));
            next += 1;
            if next == 1 << width && width < 12 {
                width += 1;
            }
        }
        previous = Some(code);
        out.truncate(want);
    }
    Ok(())
}

/// Appends the pixels of an entry, as far as there is room.
fn put(table: &[(u16, u8, u16); 4096], entry: usize, out: &mut Vec<u8>) {
    let (start, length) = (out.len(), usize::from(table[entry].2));
    let fits = length.min(out.capacity() - start);
    out.resize(start + fits, 0);
    let mut at = entry;
    for i in (0..length).rev() {
        let (before, pixel, _) = table[at];
        if i < fits {
            out[start + i] = pixel;
        }
        at = usize::from(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two frames of 2 by 1 pixels, the second only the right one.
    const TWO: &[u8] = b"GIF89a\x02\0\x01\0\x80\0\0\xff\0\0\0\x80\xff,\0\0\0\0\x02\0\x01\0\0\x02\x02D\n\0,\x01\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

    #[test]
    fn frames_are_drawn_over_those_before() {
        let both = decode(TWO, true).unwrap();
        assert_eq!(both.shape().dims(), [2, 1, 2, 3]);
        assert_eq!(both.as_slice::<u8>().unwrap(), &[255, 0, 0, 0, 128, 255, 255, 0, 0, 255, 0, 0]);
        assert_eq!(decode(TWO, false).unwrap().shape().dims(), [1, 1, 2, 3]);
    }

    #[test]
    fn files_cut_or_flipped_anywhere_do_no_harm() {
        assert!((0..TWO.len()).all(|end| decode(&TWO[..end], true).is_err()));
        for bit in 0..TWO.len() * 8 {
            let mut bytes = TWO.to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _ = decode(&bytes, true);
        }
    }

    #[test]
    fn interlaced_rows_are_put_in_order() {
        let rows: Vec<u8> = vec![0, 8, 4, 2, 6, 1, 3, 5, 7];
        assert_eq!(deinterlaced(&rows, 9, 1).unwrap(), (0..9).collect::<Vec<u8>>());
    }
}
