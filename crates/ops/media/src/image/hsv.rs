//! `RGBToHSV`, `HSVToRGB`: red, green and blue as hue, saturation and value, and back.

use crate::elementwise::for_chunks_of;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&RGB_TO_HSV, &HSV_TO_RGB];

static RGB_TO_HSV: Op = Op {
    name: "RGBToHSV",
    doc: "Hue, saturation and value of RGB colours, all in [0, 1].",
    inputs: &["images: T"],
    outputs: &["output: T"],
    attrs: &["T: {half, bfloat16, float, double} = DT_FLOAT"],
    shape: |c| {
        let x = c.rank_at_least(0, 1)?;
        let dims = x.dims().map(|d| (&d[..d.len() - 1], d[d.len() - 1]));
        Ok(vec![match dims {
            None => x,
            Some((outer, last)) => outer.iter().copied().chain([merge_dim(last, 3)?]).collect(),
        }])
    },
    grad: Rule(grad),
    kernels: cpu!(to_hsv: T in f16, bf16, f32, f64),
    cases: |r| {
        vec![Case::new(vec![r.range(&[2, 4, 3], 0.05, 1.0)]), Case::new(vec![r.range(&[3], 0.05, 1.0)])]
    },
    ..Op::PURE
};

static HSV_TO_RGB: Op = Op {
    name: "HSVToRGB",
    doc: "Red, green and blue of colours given by hue, saturation and value, all in [0, 1].",
    grad: Stops,
    kernels: cpu!(to_rgb: T in f16, bf16, f32, f64),
    cases: |r| vec![Case::new(vec![r.range(&[2, 4, 3], 0.0, 1.0)])],
    ..RGB_TO_HSV
};

/// Hue from the differences to the largest part, saturation from the range, the largest as value.
pub fn hsv<T: Real>([r, g, b]: [T; 3]) -> [T; 3] {
    let n = |v: f64| T::from_f64(v);
    let value = r.larger(g).larger(b);
    let range = value.sub(r.smaller(g).smaller(b));
    let saturation = if value > T::ZERO { range.div(value) } else { T::ZERO };
    let norm = T::ONE.div(range).mul(T::ONE.div(n(6.0)));
    let hue = if r == value {
        norm.mul(g.sub(b))
    } else if g == value {
        norm.mul(b.sub(r)).add(n(2.0).div(n(6.0)))
    } else {
        norm.mul(r.sub(g)).add(n(4.0).div(n(6.0)))
    };
    let hue = if range > T::ZERO { hue } else { T::ZERO };
    [if hue < T::ZERO { hue.add(T::ONE) } else { hue }, saturation, value]
}

pub fn rgb<T: Real>([h, s, v]: [T; 3]) -> [T; 3] {
    let n = |v: f64| T::from_f64(v);
    let clip = |x: T| x.larger(T::ZERO).smaller(T::ONE);
    let around = h.mul(n(6.0));
    let red = clip(around.sub(n(3.0)).absolute().sub(T::ONE));
    let green = clip(n(2.0).sub(around.sub(n(2.0)).absolute()));
    let blue = clip(n(2.0).sub(around.sub(n(4.0)).absolute()));
    let grey = T::ONE.sub(s);
    [red, green, blue].map(|part| grey.add(s.mul(part)).mul(v))
}

fn each_pixel<T: Real>(c: &mut OpCall<'_>, f: fn([T; 3]) -> [T; 3]) -> Result<()> {
    let shape = c.shape(0)?.clone();
    match shape.dims().last() {
        None => return Err(invalid!("input must be at least 1D, got a scalar")),
        Some(3) => {}
        Some(n) => {
            return Err(failed_precondition(format_args!(
                "input must have 3 channels but input only has {n} channels."
            )));
        }
    }
    let mut out = Tensor::uninit(T::DTYPE, shape)?;
    let x = c.slice::<T>(0)?;
    for_chunks_of(c.par(), out.as_mut_slice::<T>()?, 3, 4096, &|pixels, out| {
        let (x, out) = (x[3 * pixels.start..].as_chunks::<3>().0, out.as_chunks_mut::<3>().0);
        x.iter().zip(out).for_each(|(x, out)| *out = f(*x));
    });
    c.set(0, out);
    Ok(())
}

fn to_hsv<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    each_pixel(c, hsv::<T>)
}

fn to_rgb<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    each_pixel(c, rgb::<T>)
}

/// By the largest, the smallest and the range of the parts, and masks that say which part each is. Of equal parts, red
/// counts as the largest before green, and blue as the smallest before green.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, dy) = (g.x[0], g.dy()?);
    let dtype = g.graph.dtype(x);
    let parts = |g: &mut GradCall<'_>, t: Output| {
        g.ops("Unpack", [t.into()], &[("num", Attr::Int(3)), ("axis", Attr::Int(-1))])
    };
    let (rgb, d) = (parts(g, x)?, parts(g, dy)?);
    let (&[red, green, blue], &[dh, ds, dv]) = (&rgb[..], &d[..]) else {
        return Err(internal("an image has three channels"));
    };
    let both = |g: &mut GradCall<'_>, a: (&str, Output, Output), b: (&str, Output, Output)| {
        let (a, b) = (g.binary(a.0, a.1, a.2)?, g.binary(b.0, b.1, b.2)?);
        let mask = g.binary("LogicalAnd", a, b)?;
        g.op("Cast", [mask.into()], &[("DstT", Attr::Type(dtype))])
    };
    let (ge, gt, le, lt) = ("GreaterEqual", "Greater", "LessEqual", "Less");
    let largest = [
        both(g, (ge, red, blue), (ge, red, green))?,
        both(g, (gt, green, red), (ge, green, blue))?,
        both(g, (gt, blue, red), (gt, blue, green))?,
    ];
    let smallest = [
        both(g, (lt, red, blue), (lt, red, green))?,
        both(g, (le, green, red), (lt, green, blue))?,
        both(g, (le, blue, red), (le, blue, green))?,
    ];
    let pick = |g: &mut GradCall<'_>, masks: [Output; 3], of: [Output; 3]| {
        let [a, b, c] = [0, 1, 2].map(|i| g.binary("Mul", masks[i], of[i]));
        let sum = g.binary("AddV2", a?, b?)?;
        g.binary("AddV2", sum, c?)
    };
    let high = pick(g, largest, [red, green, blue])?;
    let low = pick(g, smallest, [red, green, blue])?;
    let range = g.binary("Sub", high, low)?;
    let one = g.number(1.0, x)?;
    // ds = d(1 - low / high)
    let over_high = g.binary("DivNoNan", one, high)?;
    let low_over_high = g.binary("Mul", low, over_high)?;
    let by_high = g.binary("Mul", low_over_high, over_high)?;
    // dh = d((ahead - behind) / range) / 6
    let six = g.number(6.0, x)?;
    let over_range = g.binary("DivNoNan", one, range)?;
    let sixth = g.binary("RealDiv", over_range, six)?;
    let differences = [(green, blue), (blue, red), (red, green)].map(|(a, b)| g.binary("Sub", a, b));
    let [a, b, c] = differences;
    let difference = pick(g, largest, [a?, b?, c?])?;
    let slope = g.binary("Mul", difference, over_range)?;
    let by_range = g.binary("Mul", slope, sixth)?;
    let mut grads = Vec::new();
    for i in 0..3 {
        let (big, small) = (largest[i], smallest[i]);
        let of_value = g.binary("Mul", dv, big)?;
        let up = g.binary("Mul", big, by_high)?;
        let down = g.binary("Mul", small, over_high)?;
        let by_saturation = g.binary("Sub", up, down)?;
        let of_saturation = g.binary("Mul", ds, by_saturation)?;
        // A part is ahead in the hue of the part before it, and behind in that of the part after it.
        let side = g.binary("Sub", largest[(i + 2) % 3], largest[(i + 1) % 3])?;
        let direct = g.binary("Mul", side, sixth)?;
        let in_range = g.binary("Sub", big, small)?;
        let through_range = g.binary("Mul", in_range, by_range)?;
        let by_hue = g.binary("Sub", direct, through_range)?;
        let of_hue = g.binary("Mul", dh, by_hue)?;
        let sum = g.binary("AddV2", of_value, of_saturation)?;
        grads.push(g.binary("AddV2", sum, of_hue)?);
    }
    let dx = g.op("Pack", [Arg::List(grads)], &[("axis", Attr::Int(-1)), ("N", Attr::Int(3))])?;
    Ok(vec![dx.into()])
}
