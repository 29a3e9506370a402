//! `StringToHashBucketFast`, `StringToHashBucketStrong`, `StringToHashBucket`: strings hashed to buckets.

use super::hash::{fingerprint, sip};
use super::mapped::{map_to, words};
use crate::prelude::*;
use thalweg_math::hash::murmur64;

pub static STRING_TO_HASH_BUCKET_FAST: Op = Op {
    name: "StringToHashBucketFast",
    doc: "The FarmHash fingerprint of each string, modulo the number of buckets.",
    inputs: &["input: string"],
    outputs: &["output: int64"],
    attrs: &["num_buckets: int >= 1"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(fast),
    cases: |_| {
        let long = "a string of more than sixty-four bytes, to reach the loop over its blocks of that size";
        vec![
            Case::new(vec![words(&[2, 2], &["", "hello", "seventeen bytes..", long])])
                .attr("num_buckets", i64::MAX),
        ]
    },
    ..Op::PURE
};

pub static STRING_TO_HASH_BUCKET: Op = Op {
    name: "StringToHashBucket",
    doc: "A hash of each string, modulo the number of buckets; StringToHashBucketFast is the better one.",
    inputs: &["string_tensor: string"],
    kernels: cpu!(first),
    ..STRING_TO_HASH_BUCKET_FAST
};

pub static STRING_TO_HASH_BUCKET_STRONG: Op = Op {
    name: "StringToHashBucketStrong",
    doc: "A keyed hash (SipHash) of each string, modulo the number of buckets: no forced collisions without the key.",
    attrs: &["num_buckets: int >= 1", "key: list(int)"],
    kernels: cpu!(make strong),
    cases: |_| {
        let text = words(&[2], &["", "hello, this is longer"]);
        vec![Case::new(vec![text]).attr("num_buckets", 1 << 40).attr("key", Attr::ints(&[1, -2]))]
    },
    ..STRING_TO_HASH_BUCKET_FAST
};

fn fast(c: &mut OpCall<'_>) -> Result<()> {
    let buckets = c.attrs().int("num_buckets")?;
    map_to(c, |s| bucket(fingerprint(s), buckets))
}

fn first(c: &mut OpCall<'_>) -> Result<()> {
    let buckets = c.attrs().int("num_buckets")?;
    map_to(c, |s| bucket(murmur64(s), buckets))
}

fn strong(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let buckets = node.attrs.int("num_buckets")?;
    let key = match node.attrs.ints("key")?[..] {
        [a, b] => [a as u64, b as u64],
        _ => return Err(invalid!("Key must have 2 elements")),
    };
    Ok(Box::new(move |c: &mut OpCall<'_>| map_to(c, |s| bucket(sip(key, s), buckets))))
}

fn bucket(hash: u64, buckets: i64) -> Result<i64> {
    match u64::try_from(buckets) {
        Ok(n @ 1..) => Ok((hash % n) as i64),
        _ => Err(invalid!("num_buckets must be at least 1, got {buckets}")),
    }
}
