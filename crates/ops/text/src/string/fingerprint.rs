//! `Fingerprint`: hashes of the rows of a tensor.

use super::hash::fingerprint;
use crate::prelude::*;

pub static FINGERPRINT: Op = Op {
    name: "Fingerprint",
    doc: "The FarmHash fingerprint of each row along the first dimension, as 8 bytes.",
    inputs: &["data: T", "method: string"],
    outputs: &["fingerprint: uint8"],
    attrs: &["T: type"],
    shape: |c| {
        c.scalar(1)?;
        let data = c.rank_at_least(0, 1)?;
        let rows = if data.rank().is_some() { data.dim(0) } else { -1 };
        Ok(vec![[rows, SIZE as i64].into_iter().collect()])
    },
    grad: Stops,
    kernels: cpu!(run),
    cases: |r| vec![Case::new(vec![r.ints(&[3, 2], 0, 99), Tensor::string("farmhash64")])],
    host_inputs: &["method"],
    ..Op::PURE
};

/// Bytes of a fingerprint.
const SIZE: usize = 8;

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (data, method) = (c.input(0)?, c.input(1)?);
    if !method.shape().is_scalar() {
        return Err(invalid!("`method` should be a scalar string: {}", method.shape()));
    }
    let [method] = method.strings()? else { return Err(invalid!("`method` should be a scalar string")) };
    if &method[..] != b"farmhash64" {
        let shown = String::from_utf8_lossy(method.get(..40).unwrap_or(method));
        return Err(invalid!("Unsupported fingerprint method: {shown}; there is only farmhash64"));
    }
    let Some((&rows, inner)) = data.shape().split_first() else {
        return Err(invalid!("`data` should have at least one dimension: {}", data.shape()));
    };
    let mut out = Tensor::uninit(DataType::Uint8, Shape::new(&[rows, SIZE])?)?;
    let places = out.as_mut_slice::<u8>()?;
    if data.dtype() == DataType::String {
        let hashes = reserve::collect(data.strings()?.iter().map(|s| fingerprint(s).to_le_bytes()))?;
        if inner.is_empty() {
            places.copy_from_slice(hashes.as_flattened());
        } else {
            // Strings have no common size: what is hashed is their fingerprints.
            write(places, hashes.as_flattened(), rows);
        }
    } else {
        write(places, data.bytes()?, rows);
    }
    c.set(0, out);
    Ok(())
}

/// The fingerprints of equal parts of the bytes.
fn write(places: &mut [u8], bytes: &[u8], rows: usize) {
    let size = bytes.len().checked_div(rows).unwrap_or(0);
    for (row, place) in places.chunks_mut(SIZE).enumerate() {
        place.copy_from_slice(&fingerprint(&bytes[row * size..][..size]).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, ints};

    /// TensorFlow 2.21's.
    #[test]
    fn known_answers() {
        let method = Tensor::string("farmhash64");
        let y = call("Fingerprint", &[ints(&[2, 2], &[1, 2, 3, 4]), method.clone()], &[]).unwrap();
        let rows = [76, 18, 253, 133, 168, 204, 240, 10, 254, 162, 60, 240, 103, 244, 53, 255];
        assert_eq!(y[0].as_slice::<u8>().unwrap(), rows);
        assert_eq!(code(call("Fingerprint", &[ints(&[], &[1]), method], &[])), Code::InvalidArgument);
        let other = Tensor::string("x");
        assert_eq!(code(call("Fingerprint", &[ints(&[1], &[1]), other], &[])), Code::InvalidArgument);
    }
}
