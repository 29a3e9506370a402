"""Images."""

from ._op_functions import call, namespace
from ._graphs import convert_to_tensor


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

__getattr__, __dir__ = namespace(globals(), {
    "decode_jpeg": "DecodeJpeg", "decode_png": "DecodePng", "decode_gif": "DecodeGif", "decode_image": "DecodeImage", "encode_jpeg": "EncodeJpeg",
    "encode_png": "EncodePng", "rgb_to_hsv": "RGBToHSV", "hsv_to_rgb": "HSVToRGB", "non_max_suppression": "NonMaxSuppressionV3",
    "crop_and_resize": "CropAndResize", "draw_bounding_boxes": "DrawBoundingBoxes", "extract_image_patches": "ExtractImagePatches",
    "extract_glimpse": "ExtractGlimpse", "adjust_contrast": "AdjustContrastv2", "adjust_hue": "AdjustHue", "adjust_saturation": "AdjustSaturation",
})
