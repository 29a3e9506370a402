//! Strings, which are bytes.

mod as_string;
mod base64;
mod decode_raw;
mod fingerprint;
pub mod hash;
pub mod mapped;
mod reduce_join;
mod regex;
mod regex_full_match;
mod regex_replace;
mod string_case;
mod string_join;
mod string_length;
mod string_n_grams;
mod string_split;
mod string_strip;
mod string_to_hash_bucket;
mod string_to_number;
mod substr;
mod unicode;
mod unsorted_segment_join;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![unicode::OPS, SINGLE];

static SINGLE: &[&Op] = &[
    &fingerprint::FINGERPRINT,
    &string_join::STRING_JOIN,
    &reduce_join::REDUCE_JOIN,
    &as_string::AS_STRING,
    &string_to_number::STRING_TO_NUMBER,
    &substr::SUBSTR,
    &string_length::STRING_LENGTH,
    &string_case::STRING_LOWER,
    &string_case::STRING_UPPER,
    &string_strip::STRING_STRIP,
    &string_split::STRING_SPLIT,
    &string_split::STRING_SPLIT_V2,
    &regex_replace::REGEX_REPLACE,
    &regex_replace::STATIC_REGEX_REPLACE,
    &regex_full_match::REGEX_FULL_MATCH,
    &regex_full_match::STATIC_REGEX_FULL_MATCH,
    &string_to_hash_bucket::STRING_TO_HASH_BUCKET,
    &string_to_hash_bucket::STRING_TO_HASH_BUCKET_FAST,
    &string_to_hash_bucket::STRING_TO_HASH_BUCKET_STRONG,
    &decode_raw::DECODE_RAW,
    &base64::ENCODE_BASE64,
    &base64::DECODE_BASE64,
    &string_n_grams::STRING_N_GRAMS,
    &unsorted_segment_join::UNSORTED_SEGMENT_JOIN,
];

#[cfg(test)]
mod tests;
