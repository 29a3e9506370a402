//! `SpaceToDepth`, `DepthToSpace`: blocks of an image moved to the channels; inverse.

use crate::moving::Block;
use crate::prelude::*;
use crate::windows::Layout;

pub static SPACE_TO_DEPTH: Op = Op {
    name: "SpaceToDepth",
    doc: "Moves the positions in blocks of images to the channels.",
    inputs: &["input: T"],
    outputs: &["output: T"],
    attrs: &["T: type", "block_size: int >= 2", "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'"],
    shape: |c| shape(c, true),
    grad: Rule(|g| other(g, "DepthToSpace")),
    kernels: cpu!(make prepare_to_depth),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 4, 6, 3])]).attr("block_size", 2)],
    ..Op::PURE
};

pub static DEPTH_TO_SPACE: Op = Op {
    name: "DepthToSpace",
    doc: "The reverse of SpaceToDepth: moves channels into blocks of the image.",
    shape: |c| shape(c, false),
    grad: Rule(|g| other(g, "SpaceToDepth")),
    kernels: cpu!(make prepare_to_space),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 2, 3, 12])]).attr("block_size", 2)],
    ..SPACE_TO_DEPTH
};

fn shape(c: &ShapeCall<'_>, to_depth: bool) -> Result<Vec<PartialShape>> {
    if c.attrs.str("data_format")? == "NCHW_VECT_C" {
        return Ok(vec![PartialShape::unknown_of_rank(5)]);
    }
    let x = c.rank(0, 4)?;
    let dims = x.dims().unwrap_or(&[-1; 4]);
    Ok(vec![
        moved_dims(dims, c.attrs.int("block_size")?, Layout::of(c.attrs)?, to_depth)?.into_iter().collect(),
    ])
}

/// The output sizes; -1: unknown.
fn moved_dims(dims: &[i64], block: i64, a: Layout, to_depth: bool) -> Result<Vec<i64>> {
    let area = block.checked_mul(block).filter(|_| block > 1);
    let area =
        area.ok_or_else(|| invalid!("block size must be > 1 and its square fit 64 bits, got {block}"))?;
    let times = |d: i64, n: i64| match d {
        -1 => Ok(-1),
        d => d.checked_mul(n).ok_or_else(|| invalid!("a dimension of {d} times {n} is too large")),
    };
    let by = |d: i64, n: i64, what: &str| match d {
        -1 => Ok(-1),
        d if d % n == 0 => Ok(d / n),
        d => Err(invalid!("Image {what} {d} should be divisible by {n}, for block_size {block}")),
    };
    let mut out = dims.to_vec();
    if to_depth {
        out[a.height] = by(dims[a.height], block, "height")?;
        out[a.width] = by(dims[a.width], block, "width")?;
        out[a.channels] = times(dims[a.channels], area)?;
    } else {
        out[a.height] = times(dims[a.height], block)?;
        out[a.width] = times(dims[a.width], block)?;
        out[a.channels] = by(dims[a.channels], area, "depth")?;
    }
    Ok(out)
}

fn other(g: &mut GradCall<'_>, op: &str) -> Result<Vec<Grad>> {
    let (dy, block) = (g.dy()?, g.attrs.int("block_size")?);
    let format = Attr::str(g.attrs.str("data_format")?);
    Ok(vec![g.op(op, [dy.into()], &[("block_size", block.into()), ("data_format", format)])?.into()])
}

fn prepare_to_depth(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    prepare(node, true)
}

fn prepare_to_space(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    prepare(node, false)
}

fn prepare(node: &KernelNode, to_depth: bool) -> Result<Box<dyn Kernel>> {
    let (block, a) = (node.attrs.int("block_size")?, Layout::of(&node.attrs)?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let x = c.input(0)?;
        if x.rank() != 4 {
            return Err(invalid!("Input rank should be: 4 instead of: {}", x.rank()));
        }
        let dims = moved_dims(&x.shape().to_i64(), block, a, to_depth)?;
        let mut out = Tensor::uninit(x.dtype(), Shape::from_i64(&dims)?)?;
        let (space, depth) = if to_depth { (x.shape(), out.shape()) } else { (out.shape(), x.shape()) };
        let (wide, deep) = (space.strides(), depth.strides());
        let (b, channels) = (block as usize, space[a.channels]);
        // Count, stride in the space layout, stride in the depth layout; channels innermost or outermost.
        let place = channels * deep[a.channels];
        let mut steps = vec![
            (space[0], wide[0], deep[0]),
            (depth[a.height], b * wide[a.height], deep[a.height]),
            (b, wide[a.height], b * place),
            (depth[a.width], b * wide[a.width], deep[a.width]),
            (b, wide[a.width], place),
        ];
        let at = if a.channels == 1 { 1 } else { steps.len() };
        steps.insert(at, (channels, wide[a.channels], deep[a.channels]));
        let copy = steps.into_iter().fold(Block::at(0, 0), |copy, (n, wide, deep)| match to_depth {
            true => copy.dim(n, wide as isize, deep as isize),
            false => copy.dim(n, deep as isize, wide as isize),
        });
        copy.copy(c.par(), x, &mut out)?;
        c.set(0, out);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats};

    #[test]
    fn sizes_that_are_no_whole_blocks_are_refused() {
        let run = |op: &str, dims: &[usize], block: i64| {
            let x = floats(dims, &vec![1.0; dims.iter().product()]);
            call(op, &[x], &[("block_size", block.into())])
        };
        assert_eq!(code(run("SpaceToDepth", &[1, 1, 2, 1], 2)), Code::InvalidArgument);
        assert_eq!(code(run("DepthToSpace", &[1, 1, 2, 3], 2)), Code::InvalidArgument);
        assert_eq!(code(run("DepthToSpace", &[1, 2, 3], 2)), Code::InvalidArgument);
        assert_eq!(code(run("SpaceToDepth", &[1, 0, 0, 1], i64::MAX)), Code::InvalidArgument);
    }

    #[test]
    fn channels_first_moves_the_same_elements() {
        let x = floats(&[1, 4, 1, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let attrs = [("block_size", Attr::Int(2)), ("data_format", "NCHW".into())];
        let y = call("DepthToSpace", &[x.clone()], &attrs).unwrap();
        assert_eq!(y[0].as_slice::<f32>().unwrap(), &[1.0, 3.0, 2.0, 4.0, 5.0, 7.0, 6.0, 8.0]);
        assert!(call("SpaceToDepth", &y, &attrs).unwrap()[0].same_bits(&x));
    }
}
