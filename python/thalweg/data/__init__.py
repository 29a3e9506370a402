"""Input pipelines: datasets and their iterators, which are the engine's ops."""

from .dataset import (Dataset, FixedLengthRecordDataset, Options, TextLineDataset, TFRecordDataset, get_output_classes, get_output_shapes,
                      get_output_types)
from .iterator import Iterator, make_initializable_iterator, make_one_shot_iterator
from . import experimental

AUTOTUNE = experimental.AUTOTUNE
DatasetV1 = Dataset
