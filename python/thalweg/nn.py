"""Neural networks."""

from . import _engine
from ._engine import Variable
from ._arrays import concat, gather, reshape, shape as shape_, zeros_like
from ._graphs import convert_to_tensor, current_scope, name_scope
from ._mathematics import argmax, cast, log_sigmoid, reduce_mean, reduce_sum, sigmoid, top_k
from ._op_functions import call, namespace
from ._random import random_uniform

_OPS = {
    "relu": "Relu", "relu6": "Relu6", "elu": "Elu", "selu": "Selu", "softplus": "Softplus", "softsign": "Softsign", "tanh": "Tanh",
    "l2_loss": "L2Loss", "lrn": "LRN", "local_response_normalization": "LRN", "in_top_k": "InTopK",
    "ctc_greedy_decoder": "CTCGreedyDecoder",
}


def leaky_relu(features, alpha=0.2, name=None):
    return call("LeakyRelu", [features], {"alpha": alpha}, name)


def _last(op):
    def function(logits, axis=None, name=None, dim=None):
        logits = convert_to_tensor(logits)
        axis = dim if axis is None else axis
        rank = logits.shape.rank
        if axis not in (None, -1) and (rank is None or axis % rank != rank - 1):
            from ._arrays import transpose

            order = [i for i in range(rank) if i != axis % rank] + [axis % rank]
            back = [order.index(i) for i in range(rank)]
            return transpose(call(op, [transpose(logits, order)], None, name), back)
        return call(op, [logits], None, name)

    return function


softmax, log_softmax = _last("Softmax"), _last("LogSoftmax")


def bias_add(value, bias, data_format=None, name=None):
    attrs = {"data_format": "NCHW" if data_format and data_format.startswith("NC") else "NHWC"}
    return call("BiasAdd", [value, bias], attrs, name or "BiasAdd")


def xw_plus_b(x, weights, biases, name=None):
    from ._mathematics import matmul

    with name_scope(name, "xw_plus_b") as scope:
        return call("BiasAdd", [matmul(x, weights), biases], None, scope)


def softmax_cross_entropy_with_logits_v2(labels=None, logits=None, axis=None, name=None, dim=None):
    """The cross entropy of each row of logits, in one op that does not overflow."""
    if labels is None or logits is None:
        raise ValueError("Both `labels` and `logits` must be provided.")
    with name_scope(name, "softmax_cross_entropy_with_logits"):
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels", dtype_hint=logits.dtype)
        labels = cast(labels, logits.dtype)
        if logits.shape.rank in (None, 2):
            flat_logits, flat_labels, back = logits, labels, None
        else:
            last = logits.shape[-1] if logits.shape[-1] is not None else -1
            flat_logits, flat_labels = reshape(logits, [-1, last]), reshape(labels, [-1, last])
            back = shape_(logits)[:-1]
        loss = call("SoftmaxCrossEntropyWithLogits", [flat_logits, flat_labels])[0]
        return loss if back is None else reshape(loss, back)


def softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, dim=-1, name=None, axis=None):
    """As of TensorFlow 1: no gradient with respect to the labels."""
    from ._arrays import stop_gradient

    if _sentinel is not None:
        raise ValueError("Only call `softmax_cross_entropy_with_logits` with named arguments (labels=..., logits=..., ...)")
    if labels is None or logits is None:
        raise ValueError("Both `labels` and `logits` must be provided.")
    with name_scope(name, "softmax_cross_entropy_with_logits_sg") as scope:
        labels = stop_gradient(labels, name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(labels, logits, name=scope)


def sparse_softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    if _sentinel is not None:
        raise ValueError("Only call `sparse_softmax_cross_entropy_with_logits` with named arguments (labels=..., logits=..., ...)")
    if labels is None or logits is None:
        raise ValueError("Both `labels` and `logits` must be provided.")
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits") as scope:
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        if logits.shape.rank in (None, 2):
            return call("SparseSoftmaxCrossEntropyWithLogits", [logits, labels], None, scope)[0]
        flat = reshape(logits, [-1, logits.shape[-1]])
        loss = call("SparseSoftmaxCrossEntropyWithLogits", [flat, reshape(labels, [-1])])[0]
        return reshape(loss, shape_(labels))


def sigmoid_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    if _sentinel is not None:
        raise ValueError("Only call `sigmoid_cross_entropy_with_logits` with named arguments (labels=..., logits=..., ...)")
    with name_scope(name, "logistic_loss"):
        return _engine.losses.sigmoid_cross_entropy_with_logits(current_scope(), labels, logits)


def _strides(value, data_format):
    if isinstance(value, int):
        value = [value, value]
    value = list(value)
    if len(value) == 1:
        value = value * 2
    if len(value) == 2:
        value = [1] + value + [1] if data_format == "NHWC" else [1, 1] + value
    return value


def conv2d(input, filter=None, strides=None, padding=None, use_cudnn_on_gpu=True, data_format="NHWC", dilations=(1, 1, 1, 1), name=None,
           filters=None):
    filter = filters if filter is None else filter
    attrs = {"strides": _strides(strides or 1, data_format), "padding": padding, "data_format": data_format,
             "dilations": _strides(dilations, data_format)}
    return call("Conv2D", [input, filter], attrs, name)


def depthwise_conv2d(input, filter, strides, padding, rate=None, name=None, data_format="NHWC", dilations=None):
    attrs = {"strides": list(strides), "padding": padding, "data_format": data_format}
    return call("DepthwiseConv2dNative", [input, filter], attrs, name)


def conv2d_transpose(value=None, filter=None, output_shape=None, strides=None, padding="SAME", data_format="NHWC", name=None, input=None,
                     filters=None, dilations=None):
    attrs = {"strides": _strides(strides, data_format), "padding": padding, "data_format": data_format}
    filter = filters if filter is None else filter
    value = input if value is None else value
    return call("Conv2DBackpropInput", [output_shape, filter, value], attrs, name or "conv2d_transpose")


def _pool(op):
    def function(value=None, ksize=None, strides=None, padding=None, data_format="NHWC", name=None, input=None):
        attrs = {"ksize": _strides(ksize, data_format), "strides": _strides(strides, data_format), "padding": padding,
                 "data_format": data_format}
        return call(op, [input if value is None else value], attrs, name)

    return function


max_pool, avg_pool = _pool("MaxPool"), _pool("AvgPool")
max_pool2d, avg_pool2d = max_pool, avg_pool


def dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
    """In each step, a random part of the elements is zero, and the others are scaled up."""
    if rate is None:
        if keep_prob is None:
            raise ValueError("`rate` must be provided.")
        rate = 1.0 - keep_prob
    is_number = isinstance(rate, (int, float))
    if is_number and not 0 <= rate < 1:
        raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
    with name_scope(name, "dropout"):
        x = convert_to_tensor(x, name="x")
        if is_number and rate == 0:
            return x
        if is_number:
            scaled = call("Mul", [x, convert_to_tensor(1 / (1 - rate), dtype=x.dtype)])
        else:
            rate = cast(rate, x.dtype)
            one = convert_to_tensor(1, dtype=x.dtype)
            scaled = call("RealDiv", [x, call("Sub", [one, rate])])
        noise = random_uniform(shape_(x) if noise_shape is None else noise_shape, dtype=x.dtype, seed=seed)
        kept = noise >= rate
        return call("SelectV2", [kept, scaled, convert_to_tensor(0, dtype=x.dtype)])


def embedding_lookup(params, ids, partition_strategy="mod", name=None, validate_indices=True, max_norm=None):
    """The rows of a table, which may be in parts."""
    if max_norm is not None:
        raise NotImplementedError("embedding_lookup with max_norm")
    if isinstance(params, (list, tuple)):
        if len(params) > 1:
            return _engine.losses.embedding_lookup(current_scope(), list(params), ids, partition_strategy == "div")
        params = params[0]
    with name_scope(name, "embedding_lookup") as scope:
        return call("Identity", [gather(params, ids)], None, scope)


def embedding_lookup_sparse(params, sp_ids, sp_weights, partition_strategy="mod", name=None, combiner=None, max_norm=None):
    """The combined rows of each example's ids; zeros for an example without ids."""
    if isinstance(params, (list, tuple)):
        if len(params) > 1:
            raise NotImplementedError("embedding_lookup_sparse in a table of parts")
        params = params[0]
    if max_norm is not None:
        raise NotImplementedError("embedding_lookup_sparse with max_norm")
    ids = [sp_ids.indices, cast(sp_ids.values, "int64"), sp_ids.dense_shape]
    weights = None if sp_weights is None else cast(sp_weights.values, "float32")
    return _engine.losses.embedding_lookup_sparse(current_scope(), params, ids, weights, combiner or "mean", int(params.shape[1]))


def safe_embedding_lookup_sparse(embedding_weights, sparse_ids, sparse_weights=None, combiner="mean", default_id=None, name=None,
                                 partition_strategy="div", max_norm=None):
    return embedding_lookup_sparse(embedding_weights, sparse_ids, sparse_weights, partition_strategy, name, combiner, max_norm)


def _sampled(kind, weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, partition_strategy, seed):
    listed = [list(v) if isinstance(v, (list, tuple)) else [v] for v in (weights, biases)]
    labels = convert_to_tensor(labels)
    if labels.shape.rank != 2 or labels.shape[1] not in (None, num_true):
        raise ValueError(f"`labels` must have the shape [batch, {num_true}], got {labels.shape}")
    candidates = None if sampled_values is None else [convert_to_tensor(v) for v in sampled_values]
    return _engine.losses.sampled_loss(current_scope(), kind, *listed, labels, inputs, num_sampled, num_classes, seed, candidates,
                                       partition_strategy == "div")


def sampled_softmax_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None, remove_accidental_hits=True,
                         partition_strategy="mod", name="sampled_softmax_loss", seed=None):
    """A softmax over the true classes and a sample of the others."""
    if not remove_accidental_hits:
        raise NotImplementedError("sampled_softmax_loss without remove_accidental_hits")
    return _sampled("sampled_softmax", weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, partition_strategy, seed)


def nce_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None, remove_accidental_hits=False,
             partition_strategy="mod", name="nce_loss"):
    """Noise-contrastive estimation: the true classes against a sample."""
    if remove_accidental_hits:
        raise NotImplementedError("nce_loss with remove_accidental_hits")
    return _sampled("nce", weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, partition_strategy, None)


def _sampler(op):
    def function(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
        seed, seed2 = current_scope().seeds(seed)
        attrs = {"num_true": num_true, "num_sampled": num_sampled, "unique": unique, "range_max": range_max, "seed": seed, "seed2": seed2}
        return call(op, [cast(true_classes, "int64")], attrs, name)

    return function


log_uniform_candidate_sampler, uniform_candidate_sampler, learned_unigram_candidate_sampler = map(
    _sampler, ("LogUniformCandidateSampler", "UniformCandidateSampler", "LearnedUnigramCandidateSampler"))


def weighted_cross_entropy_with_logits(labels=None, logits=None, pos_weight=None, name=None, targets=None):
    labels = targets if labels is None else labels
    with name_scope(name, "logistic_loss"):
        logits = convert_to_tensor(logits)
        labels = convert_to_tensor(labels, dtype=logits.dtype)
        weight = 1 + (pos_weight - 1) * labels
        return (1 - labels) * logits + weight * (call("Log1p", [call("Exp", [-abs(logits)])]) + call("Relu", [-logits]))


def relu_layer(x, weights, biases, name=None):
    with name_scope(name, "relu_layer") as scope:
        return call("Relu", [xw_plus_b(x, weights, biases)], None, scope)


def conv1d(value=None, filters=None, stride=None, padding=None, use_cudnn_on_gpu=None, data_format=None, name=None, input=None, dilations=None):
    """A convolution over sequences [batch, width, channels]."""
    from ._arrays import expand_dims, squeeze

    if data_format not in (None, "NWC", "NHWC"):
        raise NotImplementedError("conv1d: only NWC")
    stride = stride[0] if isinstance(stride, (list, tuple)) else stride
    with name_scope(name, "conv1d"):
        wide = expand_dims(input if value is None else value, 1)
        return squeeze(conv2d(wide, expand_dims(filters, 0), [1, 1, stride, 1], padding), [1])


def separable_conv2d(input, depthwise_filter, pointwise_filter, strides, padding, rate=None, name=None, data_format=None, dilations=None):
    with name_scope(name, "separable_conv2d") as scope:
        return conv2d(depthwise_conv2d(input, depthwise_filter, strides, padding), pointwise_filter, [1, 1, 1, 1], "VALID", name=scope)


def fused_batch_norm(x, scale, offset, mean=None, variance=None, epsilon=0.001, data_format="NHWC", is_training=True, name=None,
                     exponential_avg_factor=1.0):
    none = convert_to_tensor([], "float32")
    made = call("FusedBatchNormV3", [x, scale, offset, none if mean is None else mean, none if variance is None else variance],
                {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}, name)
    return made[0], made[1], made[2]


def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    raise NotImplementedError("tf.nn.normalize_moments: use tf.nn.moments")


def crelu(features, name=None, axis=-1):
    return call("Relu", [concat([features, call("Neg", [features])], axis)], None, name)


def moments(x, axes, shift=None, name=None, keep_dims=None, keepdims=None):
    with name_scope(name, "moments"):
        from ._arrays import squeeze, stop_gradient

        x = convert_to_tensor(x)
        mean = reduce_mean(x, axes, keepdims=True)
        variance = reduce_mean(call("SquaredDifference", [x, stop_gradient(mean)]), axes, keepdims=True)
        if not (keepdims or keep_dims):
            mean, variance = squeeze(mean, axes), squeeze(variance, axes)
        return mean, variance


def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    with name_scope(name, "batchnorm"):
        factor = call("Rsqrt", [variance + variance_epsilon])
        if scale is not None:
            factor = factor * scale
        shift = -mean * factor
        return x * factor + (shift if offset is None else offset + shift)


def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    with name_scope(name, "l2_normalize") as scope:
        x = convert_to_tensor(x)
        total = reduce_sum(call("Square", [x]), dim if axis is None else axis, keepdims=True)
        return call("Mul", [x, call("Rsqrt", [call("Maximum", [total, convert_to_tensor(epsilon, x.dtype)])])], None, scope)


def zero_fraction(value, name=None):
    with name_scope(name, "zero_fraction"):
        value = convert_to_tensor(value)
        return reduce_mean(cast(call("Equal", [value, zeros_like(value)]), "float32"))


def swish(x, beta=1.0):
    x = convert_to_tensor(x)
    return x * sigmoid(beta * x)


silu = swish

from ._rnn import (bidirectional_dynamic_rnn, dynamic_rnn, static_bidirectional_rnn, static_rnn)  # noqa: E402
from . import rnn_cell  # noqa: E402

__getattr__, __dir__ = namespace(globals(), _OPS)
