"""Everyday operations on tensors."""
import numpy as np
import thalweg as tf

tf.logging.set_verbosity(tf.logging.ERROR)
a = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
b = tf.Variable([[1, 2], [3, 4], [5, 6]], dtype=tf.float32)
r = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
t = tf.constant(r)
sess = tf.InteractiveSession()
sess.run(tf.global_variables_initializer())
show = {
    "matmul": tf.matmul(a, b), "batch": tf.matmul(t, t, transpose_b=True)[0], "einsum": tf.einsum("ijk,ilk->jl", t, t),
    "tensordot": tf.tensordot(t, t, [[0, 1], [0, 1]]), "sum": tf.reduce_sum(t, [0, 2]), "prod": tf.reduce_prod(a, keepdims=True),
    "logsumexp": tf.reduce_logsumexp(a, 1), "all": tf.reduce_all(a > 0), "cumsum": tf.cumsum(a, 1, exclusive=True, reverse=True),
    "split": tf.split(a, 3, 1)[1], "splits": tf.split(a, [1, 2], 1)[1], "stack": tf.stack([a, a * 2], 1), "tile": tf.tile(a, [1, 2]),
    "pad": tf.pad(a, [[1, 0], [0, 1]], constant_values=9.0), "mirror": tf.pad(a, [[0, 0], [1, 1]], "REFLECT"), "gather": tf.gather(t, [2, 0], axis=1),
    "gather_nd": tf.gather_nd(a, [[0, 1], [1, 2]]), "scatter": tf.scatter_nd([[1], [3]], [5, 6], [5]), "where": tf.where(a > 3, a, -a),
    "indices": tf.where(a > 3), "mask": tf.boolean_mask(a, [True, False]), "slice": t[1, ..., ::2], "strided": a[:, tf.newaxis, 1:],
    "onehot": tf.one_hot([0, 2, -1], 3, 5.0, 0.0), "unique": tf.unique([3, 1, 3, 2])[0], "setdiff": tf.setdiff1d([1, 2, 3], [2])[0],
    "argsort": tf.argsort([3, 1, 2]), "sort": tf.sort([3, 1, 2], direction="DESCENDING"), "topk": tf.nn.top_k([1.0, 9.0, 4.0], 2)[1],
    "inverse": tf.matrix_inverse([[2.0, 0.0], [0.0, 4.0]]), "det": tf.matrix_determinant([[1.0, 2.0], [3.0, 4.0]]), "trace": tf.trace([[1, 2], [3, 4]]),
    "solve": tf.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [[2.0], [8.0]]), "cholesky": tf.cholesky([[4.0, 2.0], [2.0, 5.0]]), "eye": tf.eye(2, 3),
    "diag": tf.diag([1, 2]), "diag_part": tf.linalg.diag_part([[1, 2], [3, 4]]), "band": tf.matrix_band_part(tf.ones([3, 3]), 0, 1),
    "transpose": tf.transpose(t, [2, 0, 1])[0], "reverse": tf.reverse(a, [1]), "reverse_seq": tf.reverse_sequence(a, [2, 3], seq_axis=1, batch_axis=0),
    "range": tf.range(1, 10, 3), "linspace": tf.linspace(0.0, 1.0, 5), "meshgrid": tf.meshgrid([1, 2], [3, 4, 5])[1], "fill": tf.fill([2, 2], 7),
    "cast": tf.cast([1.7, -1.7], tf.int32), "saturate": tf.saturate_cast([300.0, -5.0], tf.uint8), "floordiv": tf.constant([7, -7]) // 2,
    "mod": tf.constant([7, -7]) % 3, "truediv": tf.constant([7, 8]) / 2, "minmax": tf.minimum(tf.maximum(a, 2.0), 5.0), "clip": tf.clip_by_value(a, 2, 4),
    "norm": tf.norm(a), "normalize": tf.nn.l2_normalize(a, 1), "erf": tf.erf([0.5]), "lgamma": tf.lgamma([5.0]), "segment": tf.segment_sum(a, [0, 0]),
    "accumulate": tf.accumulate_n([a, a]), "addn": tf.add_n([a, a, a]), "round": tf.round([0.5, 1.5, 2.5]), "sign": tf.sign([-2.0, 0.0]),
    "squeeze": tf.squeeze([[[1], [2]]], [0, 2]), "expand": tf.expand_dims([1, 2], -1), "rank": tf.rank(t), "size": tf.size(t), "shape": tf.shape(t)[1:],
    "string": tf.string_join(["a", "b"], "-"), "number": tf.string_to_number("2.5"), "as_string": tf.as_string([1, 2]), "substr": tf.substr("hello", 1, 3),
    "fft": tf.abs(tf.fft(tf.cast([1.0, 2.0, 3.0, 4.0], tf.complex64))), "complex": tf.real(tf.complex(1.0, 2.0) * tf.complex(3.0, 4.0)),
    "bucket": tf.histogram_fixed_width([0.1, 0.5, 0.9], [0.0, 1.0], 2), "bitcast": tf.bitcast(tf.constant(1.0), tf.int32), "moments": tf.nn.moments(a, [0])[1],
    "sequence_mask": tf.sequence_mask([1, 3], 3), "space": tf.space_to_depth(tf.reshape(tf.range(16.0), [1, 4, 4, 1]), 2)[0, 0, 0],
    "resize": tf.image.resize_bilinear(tf.reshape(tf.range(4.0), [1, 2, 2, 1]), [3, 3])[0, :, :, 0], "flip": tf.image.flip_left_right(t)[0, 0],
    "gray": tf.image.rgb_to_grayscale(tf.constant([[[0.5, 0.25, 1.0]]])), "approx": tf.equal(a, 2.0), "invert": tf.invert_permutation([2, 0, 1]),
    "confusion": tf.confusion_matrix([0, 1, 1], [0, 0, 1]), "bincount": tf.bincount([1, 1, 3]), "edit": tf.edit_distance(
        tf.SparseTensor([[0, 0], [0, 1]], ["a", "b"], [1, 2]), tf.SparseTensor([[0, 0]], ["a"], [1, 1]), normalize=False),
}
for name, value in show.items():
    got = value.eval()
    print(name, np.round(got, 4).tolist() if getattr(got, "dtype", np.dtype(object)).kind == "f" else got.tolist() if hasattr(got, "tolist") else got)
print(tf.assert_equal(1, 1) is not None, tf.convert_to_tensor(np.float64(2)).dtype, tf.constant(2.5).eval())
print(sess.run(tf.global_norm([a, b])), sess.run(tf.verify_tensor_all_finite(a, "finite"))[0, 0])
sess.close()
