"""Text."""

from ._op_functions import namespace

__getattr__, __dir__ = namespace(globals(), {
    "join": "StringJoin", "length": "StringLength", "lower": "StringLower", "upper": "StringUpper", "strip": "StringStrip", "split": "StringSplit",
    "substr": "Substr", "to_number": "StringToNumber", "to_hash_bucket_fast": "StringToHashBucketFast",
    "to_hash_bucket_strong": "StringToHashBucketStrong", "to_hash_bucket": "StringToHashBucket", "regex_replace": "RegexReplace",
    "regex_full_match": "RegexFullMatch", "reduce_join": "ReduceJoin", "as_string": "AsString", "format": "StringFormat",
    "unicode_script": "UnicodeScript", "unicode_transcode": "UnicodeTranscode",
}, ("string_",))
