"""What a served model takes and gives."""

import collections

ServingInputReceiver = collections.namedtuple("ServingInputReceiver", ["features", "receiver_tensors", "receiver_tensors_alternatives"],
                                              defaults=(None,))


class _Output:
    def __init__(self, outputs):
        self.outputs = outputs


class PredictOutput(_Output):
    pass


class ClassificationOutput(_Output):
    def __init__(self, scores=None, classes=None):
        super().__init__({k: v for k, v in (("scores", scores), ("classes", classes)) if v is not None})


class RegressionOutput(_Output):
    def __init__(self, value):
        super().__init__({"outputs": value})


def build_raw_serving_input_receiver_fn(features, default_batch_size=None):
    """Placeholders like these features."""
    def receiver():
        from .._arrays import placeholder

        tensors = {name: placeholder(t.dtype, [default_batch_size] + list(t.shape[1:]), name) for name, t in features.items()}
        return ServingInputReceiver(tensors, tensors)

    return receiver


def build_parsing_serving_input_receiver_fn(feature_spec, default_batch_size=None):
    """Serialised Examples."""
    def receiver():
        from .._arrays import placeholder
        from .._parsing import parse_example

        serialized = placeholder("string", [default_batch_size], "input_example_tensor")
        return ServingInputReceiver(parse_example(serialized, feature_spec), {"examples": serialized})

    return receiver
