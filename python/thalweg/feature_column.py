"""Feature columns: how a model uses features. They are the engine's; here are TensorFlow's arguments."""

from . import _engine
from ._graphs import convert_to_tensor, current_scope
from .initializers import _Initializer


def _column(kind, key="", sources=(), **settings):
    return _engine.FeatureColumn(kind, key, list(sources), {k: v for k, v in settings.items() if v is not None})


def _listed(column_or_columns):
    if isinstance(column_or_columns, _engine.FeatureColumn):
        return [column_or_columns]
    return list(column_or_columns)


def numeric_column(key, shape=(1,), default_value=None, dtype="float32", normalizer_fn=None):
    """Numbers as they are."""
    if default_value is not None:
        raise NotImplementedError("numeric_column with a default_value")
    return _column("numeric", key, shape=[shape] if isinstance(shape, int) else list(shape), normalizer_fn=normalizer_fn)


def bucketized_column(source_column, boundaries):
    """The interval that a number falls into."""
    return _column("bucketized", "", [source_column], boundaries=list(boundaries))


def categorical_column_with_hash_bucket(key, hash_bucket_size, dtype="string"):
    return _column("hash_bucket", key, hash_bucket_size=hash_bucket_size)


def categorical_column_with_identity(key, num_buckets, default_value=None):
    return _column("identity", key, num_buckets=num_buckets, default_value=default_value)


def categorical_column_with_vocabulary_list(key, vocabulary_list, dtype=None, default_value=-1, num_oov_buckets=0):
    return _column("vocabulary_list", key, vocabulary_list=list(vocabulary_list), default_value=default_value, num_oov_buckets=num_oov_buckets)


def categorical_column_with_vocabulary_file(key, vocabulary_file, vocabulary_size=None, num_oov_buckets=0, default_value=None, dtype="string"):
    return _column("vocabulary_file", key, vocabulary_file=vocabulary_file, vocabulary_size=vocabulary_size, default_value=default_value,
                   num_oov_buckets=num_oov_buckets)


def weighted_categorical_column(categorical_column, weight_feature_key, dtype="float32"):
    return _column("weighted", weight_feature_key, [categorical_column])


def indicator_column(categorical_column):
    """How often each id is there."""
    return _column("indicator", "", [categorical_column])


def embedding_column(categorical_column, dimension, combiner="mean", initializer=None, ckpt_to_load_from=None, tensor_name_in_ckpt=None,
                     max_norm=None, trainable=True, use_safe_embedding_lookup=True):
    """Rows of a table, learned with the model."""
    if ckpt_to_load_from is not None or max_norm is not None:
        raise NotImplementedError("embedding_column with ckpt_to_load_from or max_norm")
    if isinstance(initializer, type):
        initializer = initializer()
    if initializer is not None and not isinstance(initializer, _Initializer):
        raise NotImplementedError("the initializer of an embedding_column must be one of tf.initializers")
    return _column("embedding", "", [categorical_column], dimension=dimension, combiner=combiner,
                   initializer=None if initializer is None else initializer._engine, trainable=trainable)


def crossed_column(keys, hash_bucket_size, hash_key=None):
    """Combinations of features or categorical columns, hashed."""
    return _column("crossed", "", [k for k in keys if not isinstance(k, str)], features=[k for k in keys if isinstance(k, str)],
                   hash_bucket_size=hash_bucket_size, hash_key=hash_key)


def _features(features):
    return {name: convert_to_tensor(value) for name, value in features.items()}


def input_layer(features, feature_columns, weight_collections=None, trainable=True, cols_to_vars=None, cols_to_output_tensors=None):
    """Dense columns side by side: the input of a net."""
    return _engine.input_layer(current_scope(), _features(features), _listed(feature_columns))


def linear_model(features, feature_columns, units=1, sparse_combiner="sum", weight_collections=None, trainable=True, cols_to_vars=None):
    """A weight for each number or id of each column, and a bias."""
    return _engine.linear_model(current_scope(), _features(features), _listed(feature_columns), units)


def make_parse_example_spec(feature_columns):
    raise NotImplementedError("make_parse_example_spec: write the features for tf.parse_example yourself")
