"""Images: boxes, resampling, colours."""

import numpy as np
import tensorflow as tf

from .windows import image


def unit_image(g, dtype, shape):
    return g.of(g.rng.uniform(0, 1, shape), dtype)


def glimpse(g):
    shape = image(g)
    attrs = {"centered": g.coin(), "normalized": g.coin()}
    offsets = g.rng.uniform(-1, 1, (shape[0], 2)) if attrs["normalized"] else g.rng.uniform(-3, 6, (shape[0], 2))
    # Noise differs from run to run: zeros, but where the glimpse is inside.
    attrs |= {"uniform_noise": False, "noise": "zero"}
    return g.case(g.array(tf.float32, shape, "plain"), g.of([g.int(1, 8), g.int(1, 8)], tf.int32), g.of(offsets, tf.float32), **attrs)


def boxes(g, count, low=-0.2, high=1.2):
    return g.of(g.rng.uniform(low, high, (*count, 4)), tf.float32)


def draw(g):
    shape = image(g, g.pick([1, 3, 4]))
    # Away from whole pixels, where rounding decides.
    inputs = [unit_image(g, g.t(), shape), boxes(g, (shape[0], g.int(0, 12)))]
    if g.op.endswith("V2"):
        inputs.append(g.of(g.rng.uniform(0, 1, (g.pick([0, 1, 3]), 4)), tf.float32))
    return g.case(*inputs)


def suppression(g):
    n, version = g.int(0, 12), g.op.removeprefix("NonMaxSuppression")
    dtype = g.t() if version in ("V2", "V3", "V4", "V5") else tf.float32
    corners = g.rng.uniform(0, 1, (n, 2))
    found = np.concatenate([corners, corners + g.rng.uniform(0.1, 0.6, (n, 2))], 1)
    scores = g.of(g.rng.uniform(0, 1, n) if g.coin(0.7) else g.rng.integers(0, 3, n) / 2, dtype)
    size, few = g.of(g.int(0, 10), tf.int32), g.types.get("T_threshold", dtype)
    overlap, least = g.of(g.pick([0.1, 0.3, 0.6]), few), g.of(g.pick([0.0, 0.25, 0.6]), few)
    if version == "WithOverlaps":
        return g.case(g.of(g.rng.uniform(0, 1, (n, n)), tf.float32), scores, size, g.of(0.4, tf.float32), least)
    inputs = [g.of(found, dtype), scores, size]
    if version == "":
        return g.case(*inputs, iou_threshold=g.pick([0.1, 0.3, 0.6]))
    inputs.append(overlap)
    if version != "V2":
        inputs.append(least)
    if version == "V5":
        inputs.append(g.of(g.pick([0.0, 0.3]), dtype))
    return g.case(*inputs, judge="close", **({"pad_to_max_output_size": g.coin()} if version in ("V4", "V5") else {}))


def combined(g):
    batch, n, classes = g.int(1, 2), g.int(1, 8), g.int(1, 3)
    sets = g.pick([1, classes])
    corners = g.rng.uniform(-0.2, 0.8, (batch, n, sets, 2))
    found = g.of(np.concatenate([corners, corners + g.rng.uniform(0.1, 0.6, corners.shape)], 3), tf.float32)
    scores = g.of(g.rng.uniform(0, 1, (batch, n, classes)), tf.float32)
    sizes = [g.of(g.int(1, 4), tf.int32), g.of(g.int(1, 9), tf.int32)]
    return g.case(found, scores, *sizes, g.of(g.pick([0.1, 0.5]), tf.float32), g.of(g.pick([0.0, 0.4]), tf.float32), pad_per_class=g.coin(), clip_boxes=g.coin())


def crop(g):
    shape, n = image(g), g.int(0, 4)
    at, size = g.ints(0, shape[0] - 1, (n,)), (g.int(1, 6), g.int(1, 6))
    method = {"method": g.pick(["bilinear", "nearest"])}
    grads = g.array(tf.float32, (n, *size, shape[3]), "plain")
    if g.op.endswith("GradImage"):
        return g.case(grads, boxes(g, (n,)), at, g.of(shape, tf.int32), judge="norm", **method)
    pixels = g.array(g.t(), shape, "plain")
    if g.op.endswith("GradBoxes"):
        return g.case(grads, pixels, boxes(g, (n,)), at, judge="norm")
    return g.case(pixels, boxes(g, (n,)), at, g.of(size, tf.int32), judge="norm", extrapolation_value=g.pick([0.0, 2.5]), **method)


def project(g):
    shape = image(g)
    n = g.pick([1, shape[0]])
    maps = g.rng.normal(0, 0.3, (n, 8)) + np.array([1, 0, 0, 0, 1, 0, 0, 0])
    maps[:, [2, 5]] *= 6
    maps[:, 6:] *= 0.1
    inputs = [g.array(g.types["dtype"], shape, "plain"), g.of(maps, tf.float32), g.of([g.int(1, 7), g.int(1, 7)], tf.int32)]
    if g.op.endswith("V3"):
        inputs.append(g.of(g.pick([0.0, 3.0]), tf.float32))
    return g.case(*inputs, judge="norm", interpolation=g.pick(["BILINEAR", "NEAREST"]), fill_mode=g.pick(["CONSTANT", "REFLECT", "WRAP", "NEAREST"]))


def resample(g):
    shape, size = image(g), (g.int(1, 8), g.int(1, 8))
    dtype = g.t()
    grads = lambda t: g.array(t, (shape[0], *size, shape[3]), "plain")
    if "Bicubic" in g.op or "Area" in g.op:
        align = g.coin(0.4)
        attrs = {"align_corners": align} | ({"half_pixel_centers": not align and g.coin()} if "Bicubic" in g.op else {})
        first = [grads(tf.float32), g.array(dtype, shape, "plain")] if "Grad" in g.op else [g.array(dtype, shape, "plain"), g.of(size, tf.int32)]
        return g.case(*first, judge="norm", **attrs)
    kernels = "lanczos1 lanczos3 lanczos5 gaussian box triangle keyscubic mitchellcubic".split()
    attrs = {"kernel_type": g.pick(kernels), "antialias": g.coin()}
    move = [g.of(g.rng.uniform(0.3, 2.5, 2), tf.float32), g.of(g.rng.uniform(-2, 2, 2), tf.float32)]
    first = [grads(dtype), g.array(dtype, shape, "plain")] if "Grad" in g.op else [g.array(dtype, shape, "plain"), g.of(size, tf.int32)]
    return g.case(*first, *move, judge="norm", **attrs)


def colour(g):
    shape = (*g.shape(0, 3), 3)
    pixels = unit_image(g, g.t(), shape)
    if g.op == "RGBToHSV" and g.coin(0.3):
        # Greys, and colours with equal parts.
        pixels = g.of(g.rng.integers(0, 3, shape) / 2, g.t())
    return g.case(pixels, judge="series")


def adjust(g):
    shape = (*g.shape(0, 1), g.int(1, 4), g.int(1, 4), 3)
    by = {"AdjustContrastv2": (-1, 3), "AdjustHue": (-1, 1), "AdjustSaturation": (0, 3)}[g.op]
    return g.case(unit_image(g, tf.float32, shape), g.of(g.rng.uniform(*by), tf.float32), judge="norm")


def sample(g):
    """A window with seeds: the same numbers are drawn on both sides."""
    size = g.of([g.int(1, 100), g.int(1, 100), 3], g.types["T"])
    corners = g.rng.uniform(0, 0.6, (1, g.int(0, 3), 2))
    found = g.of(np.concatenate([corners, corners + g.rng.uniform(0.05, 0.4, corners.shape)], 2), tf.float32)
    attrs = {"aspect_ratio_range": g.pick([[0.75, 1.33], [0.5, 2.0]]), "area_range": g.pick([[0.05, 1.0], [0.3, 0.6]]), "max_attempts": g.pick([1, 100]), "use_image_if_no_bounding_boxes": g.coin(0.8)}
    least = g.pick([0.0, 0.1, 0.9])
    if g.op == "SampleDistortedBoundingBox":
        return g.case(size, found, min_object_covered=least, seed=g.int(1, 99), seed2=g.int(0, 99), **attrs)
    if g.op == "SampleDistortedBoundingBoxV2":
        return g.case(size, found, g.of(least, tf.float32), seed=g.int(1, 99), seed2=g.int(0, 99), **attrs)
    return g.case(size, found, g.of(least, tf.float32), g.ints(-99, 99, (2,), g.types["Tseed"]), **attrs)


GENERATORS = {f"{op}": sample for op in "SampleDistortedBoundingBox SampleDistortedBoundingBoxV2 StatelessSampleDistortedBoundingBox".split()}
GENERATORS |= {"ExtractGlimpse": glimpse, "ExtractGlimpseV2": glimpse, "DrawBoundingBoxes": draw, "DrawBoundingBoxesV2": draw}
GENERATORS |= {f"NonMaxSuppression{v}": suppression for v in ("", "V2", "V3", "V4", "V5", "WithOverlaps")} | {"CombinedNonMaxSuppression": combined}
GENERATORS |= {f"CropAndResize{v}": crop for v in ("", "GradImage", "GradBoxes")}
GENERATORS |= {f"ImageProjectiveTransform{v}": project for v in ("V2", "V3")}
GENERATORS |= {op: resample for op in "ResizeArea ResizeBicubic ResizeBicubicGrad ScaleAndTranslate ScaleAndTranslateGrad".split()}
GENERATORS |= {"RGBToHSV": colour, "HSVToRGB": colour} | {op: adjust for op in "AdjustContrastv2 AdjustHue AdjustSaturation".split()}
