"""Input functions of arrays in memory."""

from ..data import Dataset


def numpy_input_fn(x, y=None, batch_size=128, num_epochs=1, shuffle=None, queue_capacity=1000, num_threads=1):
    """Batches of arrays."""
    if shuffle not in (True, False):
        raise ValueError("shuffle must be provided and explicitly set as boolean (it is recommended to set it as True for training)")

    def input_fn():
        dataset = Dataset.from_tensor_slices(x if y is None else (x, y))
        if shuffle:
            dataset = dataset.shuffle(queue_capacity)
        return dataset.repeat(num_epochs).batch(batch_size)

    return input_fn


def pandas_input_fn(x, y=None, batch_size=128, num_epochs=1, shuffle=None, queue_capacity=1000, num_threads=1, target_column="target"):
    """Batches of the columns of a data frame."""
    return numpy_input_fn({name: x[name].values for name in x}, None if y is None else y.values, batch_size, num_epochs, shuffle, queue_capacity)
