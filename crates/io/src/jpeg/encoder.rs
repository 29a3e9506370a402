//! `encode`: pixels to a file, of the bytes that libjpeg-turbo writes.

use super::forward::forward;
use super::huffman::Table;
use super::{BLOCK, ZIGZAG, color, optimal, standard};
use thalweg_core::error::Result;
use thalweg_core::{invalid, reserve};

#[derive(Clone, Debug)]
pub struct Encode<'a> {
    /// 0 to 100.
    pub quality: i32,
    pub progressive: bool,
    /// Huffman tables of its own.
    pub optimize: bool,
    /// Chrominance of half the width and height.
    pub downsample: bool,
    /// 1 for inches, 2 for centimetres.
    pub density_unit: u8,
    pub density: [u16; 2],
    pub xmp: &'a [u8],
}

/// The file of an image of 1 (grey) or 3 (RGB) channels.
pub fn encode(pixels: &[u8], [rows, cols, channels]: [usize; 3], options: &Encode<'_>) -> Result<Vec<u8>> {
    if !matches!(channels, 1 | 3) || rows == 0 || cols == 0 || rows > 65500 || cols > 65500 {
        return Err(invalid!("a JPEG file of {rows} by {cols} pixels and {channels} channels"));
    }
    if pixels.len() != rows * cols * channels {
        return Err(invalid!("{} samples for {rows} by {cols} pixels of {channels} channels", pixels.len()));
    }
    let image = Image {
        pixels,
        rows,
        cols,
        channels,
        factor: if channels == 3 && options.downsample { 2 } else { 1 },
    };
    let tables = [0, 1].map(|chroma| scaled(chroma, options.quality));
    let mut components = Vec::new();
    for i in 0..channels {
        components.push(image.component(i, &tables[i.min(1)])?);
    }
    let mut out = Vec::new();
    header(&mut out, options)?;
    for (i, table) in tables.iter().enumerate().take(channels.min(2)) {
        segment(
            &mut out,
            0xdb,
            &[&[i as u8], &std::array::from_fn::<_, 64, _>(|k| table[usize::from(ZIGZAG[k])] as u8)],
        )?;
    }
    image.frame(&mut out, options.progressive)?;
    let file = File { image: &image, components: &components };
    if options.progressive {
        for scan in script(channels) {
            file.write(&mut out, &scan, true)?;
        }
    } else {
        let all =
            Scan { components: (0..channels).collect(), first: 0, last: 63, high: 0, low: 0, baseline: true };
        file.write(&mut out, &all, options.optimize)?;
    }
    reserve::extend(&mut out, &[0xff, 0xd9])?;
    Ok(out)
}

/// The suggested table at a quality: 50 is the table itself.
fn scaled(chroma: usize, quality: i32) -> [u16; BLOCK] {
    let quality = quality.clamp(1, 100) as u32;
    let percent = if quality < 50 { 5000 / quality } else { 200 - 2 * quality };
    standard::QUANTISATION[chroma].map(|v| ((u32::from(v) * percent + 50) / 100).clamp(1, 255) as u16)
}

fn segment(out: &mut Vec<u8>, marker: u8, parts: &[&[u8]]) -> Result<()> {
    let length = 2 + parts.iter().map(|p| p.len()).sum::<usize>();
    let Ok(length) = u16::try_from(length) else {
        return Err(invalid!("a JPEG segment of {length} bytes is too long"));
    };
    reserve::extend(out, &[0xff, marker])?;
    reserve::extend(out, &length.to_be_bytes())?;
    parts.iter().try_for_each(|part| reserve::extend(out, part))
}

fn header(out: &mut Vec<u8>, options: &Encode<'_>) -> Result<()> {
    reserve::extend(out, &[0xff, 0xd8])?;
    let [x, y] = options.density.map(u16::to_be_bytes);
    segment(out, 0xe0, &[b"JFIF\0\x01\x01", &[options.density_unit], &x, &y, &[0, 0]])?;
    if !options.xmp.is_empty() {
        segment(out, 0xe1, &[b"http://ns.adobe.com/xap/1.0/\0", options.xmp])?;
    }
    Ok(())
}

struct Image<'a> {
    pixels: &'a [u8],
    rows: usize,
    cols: usize,
    channels: usize,
    /// Luminance samples for each of chrominance, across and down.
    factor: usize,
}

/// The coefficients of a component, padded to whole units.
struct Component {
    across: usize,
    down: usize,
    /// Blocks that hold pixels.
    real_across: usize,
    real_down: usize,
    /// Blocks in a unit, across and down.
    unit: usize,
    coefficients: Vec<[i16; BLOCK]>,
}

impl Image<'_> {
    /// The sample of a component at a place of the full image; the last pixels are repeated beyond the edges.
    fn at(&self, component: usize, row: usize, col: usize) -> u8 {
        let at = (row.min(self.rows - 1) * self.cols + col.min(self.cols - 1)) * self.channels;
        match self.channels {
            1 => self.pixels[at],
            _ => color::ycc([self.pixels[at], self.pixels[at + 1], self.pixels[at + 2]])[component],
        }
    }

    fn sample(&self, component: usize, row: usize, col: usize) -> u8 {
        if component == 0 || self.factor == 1 {
            return self.at(component, row, col);
        }
        // The last row of means is repeated, not that of pixels.
        let row = 2 * row.min(self.rows.div_ceil(2) - 1);
        let sum: u32 = (0..4).map(|i| u32::from(self.at(component, row + i / 2, 2 * col + i % 2))).sum();
        // Rounded down and up in turn.
        ((sum + 1 + col as u32 % 2) >> 2) as u8
    }

    fn component(&self, i: usize, quantisation: &[u16; BLOCK]) -> Result<Component> {
        let unit = if i == 0 { self.factor } else { 1 };
        let part = self.factor / unit;
        let (units_across, units_down) =
            (self.cols.div_ceil(8 * self.factor), self.rows.div_ceil(8 * self.factor));
        let (across, down) = (units_across * unit, units_down * unit);
        let (real_across, real_down) = (self.cols.div_ceil(8 * part), self.rows.div_ceil(8 * part));
        let mut coefficients = reserve::filled(across * down, [0; BLOCK])?;
        for row in 0..down {
            for col in 0..across {
                let done = if row < real_down && col < real_across {
                    let samples = std::array::from_fn(|k| self.sample(i, row * 8 + k / 8, col * 8 + k % 8));
                    forward(&samples, quantisation)
                } else {
                    // Blocks without pixels: as bright as the one coded before them.
                    let before = match row < real_down {
                        true => row * across + col - 1,
                        false => (row - 1) * across + (col / unit + 1) * unit - 1,
                    };
                    let mut flat = [0; BLOCK];
                    flat[0] = coefficients[before][0];
                    flat
                };
                coefficients[row * across + col] = done;
            }
        }
        Ok(Component { across, down, real_across, real_down, unit, coefficients })
    }

    fn frame(&self, out: &mut Vec<u8>, progressive: bool) -> Result<()> {
        let (rows, cols) = ((self.rows as u16).to_be_bytes(), (self.cols as u16).to_be_bytes());
        let sampling = [(self.factor * 17) as u8, 0x11, 0x11];
        let parts: [[u8; 3]; 3] = std::array::from_fn(|i| [i as u8 + 1, sampling[i], i.min(1) as u8]);
        let marker = if progressive { 0xc2 } else { 0xc0 };
        let parts = &parts.as_flattened()[..3 * self.channels];
        segment(out, marker, &[&[8], &rows, &cols, &[self.channels as u8], parts])
    }
}

struct Scan {
    components: Vec<usize>,
    first: usize,
    last: usize,
    high: u32,
    low: u32,
    baseline: bool,
}

/// The scans of a progressive file: coarse before fine, luminance before chrominance.
fn script(channels: usize) -> Vec<Scan> {
    let scan = |components: Vec<usize>, first: usize, last: usize, high: u32, low: u32| Scan {
        components,
        first,
        last,
        high,
        low,
        baseline: false,
    };
    let all = || (0..channels).collect::<Vec<_>>();
    match channels {
        1 => vec![
            scan(all(), 0, 0, 0, 1),
            scan(all(), 1, 5, 0, 2),
            scan(all(), 6, 63, 0, 2),
            scan(all(), 1, 63, 2, 1),
            scan(all(), 0, 0, 1, 0),
            scan(all(), 1, 63, 1, 0),
        ],
        _ => vec![
            scan(all(), 0, 0, 0, 1),
            scan(vec![0], 1, 5, 0, 2),
            scan(vec![2], 1, 63, 0, 1),
            scan(vec![1], 1, 63, 0, 1),
            scan(vec![0], 6, 63, 0, 2),
            scan(vec![0], 1, 63, 2, 1),
            scan(all(), 0, 0, 1, 0),
            scan(vec![2], 1, 63, 1, 0),
            scan(vec![1], 1, 63, 1, 0),
            scan(vec![0], 1, 63, 1, 0),
        ],
    }
}

/// Where symbols and bits go: to be counted, or to the file.
trait Sink {
    /// A symbol of table 0 to 3: DC of luminance and chrominance, then AC.
    fn symbol(&mut self, table: usize, symbol: u8) -> Result<()>;
    fn bits(&mut self, bits: u32, count: u32) -> Result<()>;
}

struct Counts([[u64; 256]; 4]);

impl Sink for Counts {
    fn symbol(&mut self, table: usize, symbol: u8) -> Result<()> {
        self.0[table][usize::from(symbol)] += 1;
        Ok(())
    }

    fn bits(&mut self, _: u32, _: u32) -> Result<()> {
        Ok(())
    }
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    codes: [[(u32, u8); 256]; 4],
    held: u64,
    count: u32,
}

impl Sink for Writer<'_> {
    fn symbol(&mut self, table: usize, symbol: u8) -> Result<()> {
        let (code, length) = self.codes[table][usize::from(symbol)];
        self.bits(code, u32::from(length))
    }

    fn bits(&mut self, bits: u32, count: u32) -> Result<()> {
        self.held = self.held << count | u64::from(bits & ((1 << count) - 1));
        self.count += count;
        while self.count >= 8 {
            self.count -= 8;
            let byte = (self.held >> self.count) as u8;
            reserve::push(self.out, byte)?;
            if byte == 0xff {
                reserve::push(self.out, 0)?;
            }
        }
        Ok(())
    }
}

impl Writer<'_> {
    /// Fills the last byte with ones.
    fn finish(&mut self) -> Result<()> {
        self.bits(0x7f, 7)?;
        (self.held, self.count) = (0, 0);
        Ok(())
    }
}

struct File<'a> {
    image: &'a Image<'a>,
    components: &'a [Component],
}

impl File<'_> {
    fn write(&self, out: &mut Vec<u8>, scan: &Scan, optimize: bool) -> Result<()> {
        let mut tables: [Option<Table>; 4] = [None, None, None, None];
        let chroma = scan.components.iter().map(|i| i.min(&1));
        let (dc, ac) = (scan.first == 0 && scan.high == 0, scan.baseline || scan.first > 0);
        let mut counts = Counts([[0; 256]; 4]);
        if optimize {
            self.code(scan, &mut counts)?;
        }
        let parts = [0u8, 1].into_iter().filter(|k| chroma.clone().any(|c| *c == usize::from(*k)));
        for k in parts {
            for (class, used) in [(0, dc), (1, ac)].into_iter().filter(|(_, used)| *used) {
                let _ = used;
                let at = 2 * class + usize::from(k);
                let table = match (optimize, class) {
                    (true, _) => optimal::table(&counts.0[at])?,
                    (false, 0) => standard::dc(usize::from(k))?,
                    (false, _) => standard::ac(usize::from(k))?,
                };
                let total: usize = table.counts.iter().map(|n| usize::from(*n)).sum();
                segment(out, 0xc4, &[&[(class as u8) << 4 | k], &table.counts, &table.symbols[..total]])?;
                tables[at] = Some(table);
            }
        }
        let mut body = vec![scan.components.len() as u8];
        for i in &scan.components {
            let k = *i.min(&1) as u8;
            let tables = (if dc { k << 4 } else { 0 }) | if ac { k } else { 0 };
            body.extend([*i as u8 + 1, tables]);
        }
        body.extend([scan.first as u8, scan.last as u8, (scan.high << 4 | scan.low) as u8]);
        segment(out, 0xda, &[&body])?;
        let codes = tables.map(|t| t.map_or([(0, 0); 256], |t| t.codes()));
        let mut writer = Writer { out, codes, held: 0, count: 0 };
        self.code(scan, &mut writer)?;
        writer.finish()
    }

    fn code(&self, scan: &Scan, sink: &mut dyn Sink) -> Result<()> {
        let mut coder =
            Coder { scan, sink, previous: [0; 3], table: 0, empty_blocks: 0, waiting: Vec::new() };
        if let [one] = scan.components[..] {
            let c = &self.components[one];
            for row in 0..c.real_down {
                for col in 0..c.real_across {
                    coder.block(one, &c.coefficients[row * c.across + col])?;
                }
            }
        } else {
            let factor = self.image.factor;
            let units = self.components[0].across / factor;
            for unit in 0..units * (self.components[0].down / factor) {
                for i in &scan.components {
                    let c = &self.components[*i];
                    for k in 0..c.unit * c.unit {
                        let (row, col) =
                            (unit / units * c.unit + k / c.unit, unit % units * c.unit + k % c.unit);
                        coder.block(*i, &c.coefficients[row * c.across + col])?;
                    }
                }
            }
        }
        coder.end_of_blocks()
    }
}

struct Coder<'a> {
    scan: &'a Scan,
    sink: &'a mut dyn Sink,
    previous: [i32; 3],
    /// The AC table of the current component.
    table: usize,
    /// Blocks whose band is empty from some place on, and the bits of their other coefficients.
    empty_blocks: u32,
    waiting: Vec<u8>,
}

/// Bits that may wait.
const MOST_WAITING: usize = 1000 - 64 + 1;

fn size_of(v: u32) -> u32 {
    u32::BITS - v.leading_zeros()
}

impl Coder<'_> {
    fn block(&mut self, component: usize, block: &[i16; BLOCK]) -> Result<()> {
        let chroma = component.min(1);
        self.table = 2 + chroma;
        match (self.scan.baseline, self.scan.first, self.scan.high) {
            (true, ..) => {
                self.dc(component, i32::from(block[0]))?;
                self.baseline_ac(block)
            }
            (_, 0, 0) => self.dc(component, i32::from(block[0]) >> self.scan.low),
            (_, 0, _) => self.sink.bits((block[0] >> self.scan.low) as u32 & 1, 1),
            (_, _, 0) => self.first_ac(block),
            _ => self.refine_ac(block),
        }
    }

    /// A number: as it is, or less one if it is negative.
    fn number(&mut self, v: i32) -> Result<()> {
        let size = size_of(v.unsigned_abs());
        self.sink.bits((if v < 0 { v - 1 } else { v }) as u32, size)
    }

    fn dc(&mut self, component: usize, v: i32) -> Result<()> {
        let difference = v - self.previous[component];
        self.previous[component] = v;
        self.sink.symbol(component.min(1), size_of(difference.unsigned_abs()) as u8)?;
        self.number(difference)
    }

    /// A coefficient after so many zeros.
    fn coefficient(&mut self, zeros: &mut u32, v: i32) -> Result<()> {
        while *zeros > 15 {
            self.sink.symbol(self.table, 0xf0)?;
            *zeros -= 16;
        }
        self.sink.symbol(self.table, (*zeros << 4 | size_of(v.unsigned_abs())) as u8)?;
        *zeros = 0;
        self.number(v)
    }

    fn baseline_ac(&mut self, block: &[i16; BLOCK]) -> Result<()> {
        let mut zeros = 0;
        for place in &ZIGZAG[1..BLOCK] {
            match i32::from(block[usize::from(*place)]) {
                0 => zeros += 1,
                v => self.coefficient(&mut zeros, v)?,
            }
        }
        if zeros > 0 { self.sink.symbol(self.table, 0) } else { Ok(()) }
    }

    fn first_ac(&mut self, block: &[i16; BLOCK]) -> Result<()> {
        let mut zeros = 0;
        for place in &ZIGZAG[self.scan.first..=self.scan.last] {
            let v = i32::from(block[usize::from(*place)]);
            let size = v.abs() >> self.scan.low;
            if size == 0 {
                zeros += 1;
                continue;
            }
            self.end_of_blocks()?;
            self.coefficient(&mut zeros, if v < 0 { -size } else { size })?;
        }
        if zeros > 0 {
            self.empty_blocks += 1;
            if self.empty_blocks == 0x7fff {
                self.end_of_blocks()?;
            }
        }
        Ok(())
    }

    fn refine_ac(&mut self, block: &[i16; BLOCK]) -> Result<()> {
        let places = &ZIGZAG[self.scan.first..=self.scan.last];
        let size = |place: &u8| u32::from(block[usize::from(*place)].unsigned_abs()) >> self.scan.low;
        // Runs of zeros are coded only before the last coefficient that is new.
        let last_new = places.iter().rposition(|p| size(p) == 1);
        // The waiting bits up to here are of blocks before.
        let (mut zeros, mut own) = (0, Vec::new());
        for (k, place) in places.iter().enumerate() {
            let size = size(place);
            if size == 0 {
                zeros += 1;
                continue;
            }
            while zeros > 15 && last_new.is_some_and(|last| k <= last) {
                self.end_of_blocks()?;
                self.sink.symbol(self.table, 0xf0)?;
                zeros -= 16;
                self.bit_list(&mut own)?;
            }
            if size > 1 {
                reserve::push(&mut own, (size & 1) as u8)?;
                continue;
            }
            self.end_of_blocks()?;
            self.sink.symbol(self.table, (zeros << 4 | 1) as u8)?;
            self.sink.bits(u32::from(block[usize::from(*place)] >= 0), 1)?;
            self.bit_list(&mut own)?;
            zeros = 0;
        }
        if zeros > 0 || !own.is_empty() {
            self.empty_blocks += 1;
            reserve::extend(&mut self.waiting, &own)?;
            if self.empty_blocks == 0x7fff || self.waiting.len() > MOST_WAITING {
                self.end_of_blocks()?;
            }
        }
        Ok(())
    }

    fn bit_list(&mut self, bits: &mut Vec<u8>) -> Result<()> {
        bits.drain(..).try_for_each(|bit| self.sink.bits(bit.into(), 1))
    }

    /// Codes the blocks that ended, and the bits that wait for it.
    fn end_of_blocks(&mut self) -> Result<()> {
        if self.empty_blocks > 0 {
            let bits = size_of(self.empty_blocks) - 1;
            self.sink.symbol(self.table, (bits << 4) as u8)?;
            self.sink.bits(self.empty_blocks, bits)?;
            self.empty_blocks = 0;
            let mut waiting = std::mem::take(&mut self.waiting);
            self.bit_list(&mut waiting)?;
        }
        Ok(())
    }
}
