//! Colour conversion, in integers with 16 bits below the point.

use super::frame::Space;

const fn fixed(x: f64) -> i32 {
    (x * 65536.0 + 0.5) as i32
}

const HALF: i32 = 1 << 15;

fn clamp(x: i32) -> u8 {
    x.clamp(0, 255) as u8
}

fn rgb([y, cb, cr]: [u8; 3]) -> [u8; 3] {
    let (y, cb, cr) = (i32::from(y), i32::from(cb) - 128, i32::from(cr) - 128);
    let red = (fixed(1.40200) * cr + HALF) >> 16;
    let blue = (fixed(1.77200) * cb + HALF) >> 16;
    let green = (-fixed(0.34414) * cb + HALF - fixed(0.71414) * cr) >> 16;
    [clamp(y + red), clamp(y + green), clamp(y + blue)]
}

fn grey([r, g, b]: [u8; 3]) -> u8 {
    let sum = fixed(0.29900) * i32::from(r) + fixed(0.58700) * i32::from(g) + fixed(0.11400) * i32::from(b);
    ((sum + HALF) >> 16) as u8
}

/// Luminance and chrominance of a colour.
pub fn ycc([r, g, b]: [u8; 3]) -> [u8; 3] {
    let (red, green, blue) = (i32::from(r), i32::from(g), i32::from(b));
    // Rounded down a little, so that 255.5 is not reached.
    let centre = (128 << 16) + HALF - 1;
    let cb = (-fixed(0.16874) * red - fixed(0.33126) * green + fixed(0.50000) * blue + centre) >> 16;
    let cr = (fixed(0.50000) * red - fixed(0.41869) * green - fixed(0.08131) * blue + centre) >> 16;
    [grey([r, g, b]), cb as u8, cr as u8]
}

/// Whether `space` can become grey (1) or RGB (3).
pub fn allowed(space: Space, channels: usize) -> bool {
    channels == 3 || matches!(space, Space::Grey | Space::YCbCr | Space::Rgb)
}

/// One row from the rows of its components. Files with Adobe's marker hold inverted inks.
pub fn row(space: Space, inverted: bool, parts: &[Vec<u8>], channels: usize, out: &mut [u8]) {
    let at = |k: usize, i: usize| parts[k][i];
    let three = |i: usize| [at(0, i), at(1, i), at(2, i)];
    for (i, out) in out.chunks_exact_mut(channels).enumerate() {
        match (space, channels) {
            (Space::Grey | Space::YCbCr, 1) => out[0] = at(0, i),
            (Space::Rgb, 1) => out[0] = grey(three(i)),
            (Space::Grey, _) => out.fill(at(0, i)),
            (Space::YCbCr, _) => out.copy_from_slice(&rgb(three(i))),
            (Space::Rgb, _) => out.copy_from_slice(&three(i)),
            (Space::Cmyk | Space::Ycck, _) => {
                let inks = match space {
                    Space::Ycck => rgb(three(i)).map(|v| 255 - v),
                    _ => three(i),
                };
                let black = u32::from(at(3, i));
                for (out, ink) in out.iter_mut().zip(inks) {
                    let ink = u32::from(ink);
                    *out =
                        (if inverted { black * ink / 255 } else { (255 - black) * (255 - ink) / 255 }) as u8;
                }
            }
        }
    }
}
