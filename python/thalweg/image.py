"""Images."""

from ._op_functions import call, namespace
from ._graphs import convert_to_tensor, name_scope


class ResizeMethod:
    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = range(4)


def resize_images(images, size, method=ResizeMethod.BILINEAR, align_corners=False, name=None):
    op = ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea")[method]
    images = convert_to_tensor(images)
    single = images.shape.rank == 3
    if single:
        images = call("ExpandDims", [images, 0])
    made = call(op, [images, size], {"align_corners": align_corners}, name)
    return call("Squeeze", [made], {"squeeze_dims": [0]}) if single else made


resize = resize_images

def _resizer(op):
    def resize_with(images, size, align_corners=False, name=None, half_pixel_centers=False):
        return call(op, [images, size], {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}, name)

    return resize_with


resize_bilinear, resize_nearest_neighbor, resize_bicubic = map(_resizer, ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic"))


def _along(images, from_end):
    """The axis of an image, alone or in a batch, counted from the end."""
    return convert_to_tensor(images).shape.rank - from_end


def flip_left_right(image):
    return call("ReverseV2", [image, [_along(image, 2)]])


def flip_up_down(image):
    return call("ReverseV2", [image, [_along(image, 3)]])


def _sometimes(flip):
    def flipped(image, seed=None):
        from ._arrays import where_v2
        from ._random import random_uniform

        image = convert_to_tensor(image)
        return where_v2(call("Less", [random_uniform([], seed=seed), 0.5]), flip(image), image)

    return flipped


random_flip_left_right, random_flip_up_down = _sometimes(flip_left_right), _sometimes(flip_up_down)


def transpose_image(image, name=None):
    from ._arrays import transpose

    rank = convert_to_tensor(image).shape.rank
    return transpose(image, [1, 0, 2] if rank == 3 else [0, 2, 1, 3], name=name or "transpose")


def convert_image_dtype(image, dtype, saturate=False, name=None):
    """Numbers of another type: integers are over their whole range, floats between 0 and 1."""
    from . import _engine
    from ._mathematics import cast, saturate_cast

    image, dtype = convert_to_tensor(image), _engine.as_dtype(dtype)
    highest = {"uint8": 255, "int8": 127, "uint16": 65535, "int16": 32767, "int32": 2 ** 31 - 1}
    with name_scope(name, "convert_image"):
        if image.dtype == dtype:
            return call("Identity", [image])
        if image.dtype.is_integer and dtype.is_floating:
            return cast(image, dtype) * (1.0 / highest[image.dtype.name])
        if image.dtype.is_floating and dtype.is_integer:
            scaled = image * (highest[dtype.name] + 0.5)
            return saturate_cast(scaled, dtype) if saturate else cast(scaled, dtype)
        return cast(image, dtype)


def rgb_to_grayscale(images, name=None):
    from ._mathematics import tensordot

    images = convert_to_tensor(images)
    gray = tensordot(convert_image_dtype(images, "float32"), [0.2989, 0.587, 0.114], [[-1], [-1]])
    return convert_image_dtype(call("ExpandDims", [gray, -1]), images.dtype)


def grayscale_to_rgb(images, name=None):
    from ._arrays import tile

    images = convert_to_tensor(images)
    return tile(images, [1] * (images.shape.rank - 1) + [3])


def total_variation(images, name=None):
    """The sum of the differences of neighbours."""
    from ._mathematics import reduce_sum

    with name_scope(name, "total_variation"):
        images = convert_to_tensor(images)
        down, right = images[..., 1:, :, :] - images[..., :-1, :, :], images[..., 1:, :] - images[..., :-1, :]
        axes = [-3, -2, -1]
        return reduce_sum(abs(down), axes) + reduce_sum(abs(right), axes)


def per_image_standardization(image):
    """Each image with the mean 0 and the variance 1."""
    from ._mathematics import reduce_mean, square, sqrt

    image = convert_image_dtype(image, "float32")
    axes = [-3, -2, -1]
    mean = reduce_mean(image, axes, keepdims=True)
    deviation = sqrt(reduce_mean(square(image - mean), axes, keepdims=True))
    count = 1
    for size in image.shape[-3:]:
        count *= size
    return (image - mean) / call("Maximum", [deviation, 1.0 / count ** 0.5])


def adjust_brightness(image, delta):
    image = convert_to_tensor(image)
    changed = convert_image_dtype(image, "float32") + delta
    return convert_image_dtype(changed, image.dtype, saturate=True)


def random_brightness(image, max_delta, seed=None):
    from ._random import random_uniform

    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def adjust_contrast(images, contrast_factor):
    images = convert_to_tensor(images)
    changed = call("AdjustContrastv2", [convert_image_dtype(images, "float32"), contrast_factor])
    return convert_image_dtype(changed, images.dtype, saturate=True)


def random_contrast(image, lower, upper, seed=None):
    from ._random import random_uniform

    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    return convert_to_tensor(image)[..., offset_height:offset_height + target_height, offset_width:offset_width + target_width, :]


def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    image = convert_to_tensor(image)
    height, width = image.shape[-3], image.shape[-2]
    own = [[offset_height, target_height - offset_height - height], [offset_width, target_width - offset_width - width], [0, 0]]
    return call("Pad", [image, ([[0, 0]] if image.shape.rank == 4 else []) + own])


def resize_image_with_crop_or_pad(image, target_height, target_width):
    """Cut or padded to a size, around the centre."""
    image = convert_to_tensor(image)
    height, width = image.shape[-3], image.shape[-2]
    cut = [max(height - target_height, 0), max(width - target_width, 0)]
    image = crop_to_bounding_box(image, cut[0] // 2, cut[1] // 2, min(height, target_height), min(width, target_width))
    more = [max(target_height - height, 0), max(target_width - width, 0)]
    return pad_to_bounding_box(image, more[0] // 2, more[1] // 2, target_height, target_width)


resize_with_crop_or_pad = resize_image_with_crop_or_pad


def central_crop(image, central_fraction):
    image = convert_to_tensor(image)
    height, width = image.shape[-3], image.shape[-2]
    top, left = int((height - height * central_fraction) / 2), int((width - width * central_fraction) / 2)
    return crop_to_bounding_box(image, top, left, height - 2 * top, width - 2 * left)


__getattr__, __dir__ = namespace(globals(), {
    "decode_jpeg": "DecodeJpeg", "decode_png": "DecodePng", "decode_gif": "DecodeGif", "decode_image": "DecodeImage", "encode_jpeg": "EncodeJpeg",
    "encode_png": "EncodePng", "rgb_to_hsv": "RGBToHSV", "hsv_to_rgb": "HSVToRGB", "non_max_suppression": "NonMaxSuppressionV3",
    "crop_and_resize": "CropAndResize", "draw_bounding_boxes": "DrawBoundingBoxes", "extract_image_patches": "ExtractImagePatches",
    "extract_glimpse": "ExtractGlimpse", "adjust_hue": "AdjustHue", "adjust_saturation": "AdjustSaturation",
})
