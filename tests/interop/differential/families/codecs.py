"""Image files: pixels are compared, and the bytes of JPEG files."""

import numpy as np
import tensorflow as tf


def picture(g, channels):
    """Waves and noise, of a size that is rarely a multiple of a block."""
    rows, cols = g.int(1, 40), g.int(1, 40)
    y, x = np.mgrid[0:rows, 0:cols]
    waves = np.stack([127 + 110 * np.sin(x / g.int(2, 9) + k) * np.cos(y / g.int(2, 9) - k) for k in range(channels)], -1)
    return np.clip(waves + g.rng.normal(0, g.pick([1, 20]), waves.shape), 0, 255).astype(np.uint8)


def encoding(g):
    """Attrs of an encoder. Files are encoded in the program itself: both sides write the same bytes (see EncodeJpeg)."""
    return {"quality": g.int(20, 100), "progressive": g.coin(0.3), "optimize_size": g.coin(0.3), "chroma_downsampling": g.coin(0.6)}


def text(value):
    out = np.empty((), object)
    out[()] = value
    return out


def decode_jpeg(g):
    pixels, encode = picture(g, g.pick([1, 3, 3])), encoding(g)
    # Not try_recover_truncated: TensorFlow's reader does not end on some files that it has to fill.
    attrs = {"channels": g.pick([0, 0, 1, 3]), "ratio": g.pick([1, 1, 1, 2, 4, 8]), "fancy_upscaling": g.coin(0.7), "dct_method": g.pick(["", "INTEGER_FAST", "INTEGER_ACCURATE"])}
    if g.op == "DecodeJpeg":
        return g.program(lambda t: [tf.raw_ops.DecodeJpeg(contents=tf.raw_ops.EncodeJpeg(image=t[0], **encode), **attrs)], pixels)
    rows, cols = (-(-n // attrs["ratio"]) for n in pixels.shape[:2])
    top, left = g.int(0, rows - 1), g.int(0, cols - 1)
    window = g.of([top, left, g.int(1, rows - top), g.int(1, cols - left)], tf.int32)
    return g.program(lambda t: [tf.raw_ops.DecodeAndCropJpeg(contents=tf.raw_ops.EncodeJpeg(image=t[0], **encode), crop_window=t[1], **attrs)], pixels, window)


def encode_jpeg(g):
    image = picture(g, g.pick([1, 3]))
    if g.op == "EncodeJpegVariableQuality":
        return g.case(image, g.of(g.int(0, 100), tf.int32))
    attrs = {"quality": g.int(0, 100), "progressive": g.coin(0.4), "optimize_size": g.coin(), "chroma_downsampling": g.coin(), "density_unit": g.pick(["in", "cm"])}
    return g.case(image, x_density=g.int(1, 600), y_density=300, xmp_metadata=g.pick(["", "<x:xmpmeta/>"]), **attrs)


def shape(g):
    encode, out = encoding(g), g.types["output_type"]
    return g.program(lambda t: [tf.raw_ops.ExtractJpegShape(contents=tf.raw_ops.EncodeJpeg(image=t[0], **encode), output_type=out)], picture(g, g.pick([1, 3])))


def gif_codes(pixels):
    """Pixels of two bits as codes of three, the table cleared before it grows."""
    bits, at = 0, 0
    for i, p in enumerate(pixels):
        for code in ([4, int(p)] if i % 2 == 0 else [int(p)]):
            bits |= code << at
            at += 3
    bits |= 5 << at
    data = bits.to_bytes((at + 3 + 7) // 8, "little")
    blocks = [data[i : i + 255] for i in range(0, len(data), 255)]
    return b"\x02" + b"".join(bytes([len(b)]) + b for b in blocks) + b"\0"


def gif(g):
    """Frames of four colours, some smaller than the first, some transparent, some interlaced."""
    rows, cols = g.int(1, 12), g.int(1, 12)
    word = lambda v: int(v).to_bytes(2, "little")
    out = b"GIF89a" + word(cols) + word(rows) + b"\x81\0\0" + g.rng.bytes(12)
    for k in range(g.int(1, 3)):
        top, left = (g.int(0, rows - 1), g.int(0, cols - 1)) if k and g.coin() else (0, 0)
        if g.coin(0.3):
            out += b"!\xf9\x04\x01\0\0" + bytes([g.int(0, 3)]) + b"\0"
        own = g.coin(0.3)
        out += b"," + word(left) + word(top) + word(cols - left) + word(rows - top) + bytes([(0x81 if own else 0) | (0x40 if g.coin(0.3) else 0)])
        out += (g.rng.bytes(12) if own else b"") + gif_codes(g.rng.integers(0, 4, (rows - top) * (cols - left)))
    return out + b";"


def bmp(g):
    rows, cols, depth = g.int(1, 6), g.int(1, 6), g.pick([1, 3, 4])
    stride = -(-cols * depth // 4) * 4
    long = lambda v: int(v).to_bytes(4, "little", signed=True)
    height = rows if g.coin() else -rows
    head = b"BM" + long(54 + rows * stride) + long(0) + long(54) + long(40) + long(cols) + long(height) + b"\x01\0" + bytes([8 * depth, 0])
    return head.ljust(54, b"\0") + g.rng.bytes(rows * stride)


def decode_gif(g):
    return g.case(text(gif(g)))


def decode_bmp(g):
    return g.case(text(bmp(g)), channels=g.pick([0, 3, 4]))


def decode_image(g):
    if g.coin(0.3):
        encode, attrs = encoding(g), {"dtype": g.pick([tf.uint8, tf.uint16, tf.float32]), "channels": g.pick([0, 1, 3])}
        return g.program(lambda t: [tf.raw_ops.DecodeImage(contents=tf.raw_ops.EncodeJpeg(image=t[0], **encode), **attrs)], picture(g, 3))
    file = g.pick([bmp, gif])(g)
    # TensorFlow writes beyond its buffer for bitmaps that go upwards in other types than bytes.
    dtype = tf.uint8 if file[:2] == b"BM" else g.pick([tf.uint8, tf.uint16, tf.float32])
    expand = g.coin()
    # Only the first frame, in another type: TensorFlow reads as many as the file has.
    if file[:3] == b"GIF" and dtype != tf.uint8:
        expand = True
    return g.case(text(file), channels=g.pick([0, 3]), expand_animations=expand, dtype=dtype)


GENERATORS = {"DecodeJpeg": decode_jpeg, "DecodeAndCropJpeg": decode_jpeg, "EncodeJpeg": encode_jpeg, "EncodeJpegVariableQuality": encode_jpeg, "ExtractJpegShape": shape}
GENERATORS |= {"DecodeGif": decode_gif, "DecodeBmp": decode_bmp, "DecodeImage": decode_image}
