"""Signatures: what a model takes and gives, by name."""

from . import signature_constants as names
from .utils import build_tensor_info


class SignatureDef:
    def __init__(self, inputs=None, outputs=None, method_name=""):
        self.inputs, self.outputs, self.method_name = dict(inputs or {}), dict(outputs or {}), method_name


def build_signature_def(inputs=None, outputs=None, method_name=None):
    return SignatureDef(inputs, outputs, method_name or "")


def _infos(tensors):
    return {name: build_tensor_info(t) for name, t in tensors.items()}


def predict_signature_def(inputs, outputs):
    return SignatureDef(_infos(inputs), _infos(outputs), names.PREDICT_METHOD_NAME)


def classification_signature_def(examples, classes, scores):
    outputs = {k: v for k, v in ((names.CLASSIFY_OUTPUT_CLASSES, classes), (names.CLASSIFY_OUTPUT_SCORES, scores)) if v is not None}
    return SignatureDef(_infos({names.CLASSIFY_INPUTS: examples}), _infos(outputs), names.CLASSIFY_METHOD_NAME)


def regression_signature_def(examples, predictions):
    return SignatureDef(_infos({names.REGRESS_INPUTS: examples}), _infos({names.REGRESS_OUTPUTS: predictions}), names.REGRESS_METHOD_NAME)
