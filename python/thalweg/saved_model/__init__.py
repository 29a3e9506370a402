"""SavedModels: graphs with variables and named signatures, which TensorFlow serves and reads too."""

import os

from .. import _engine
from .._graphs import get_default_graph
from . import builder, loader, main_op, signature_constants, signature_def_utils, tag_constants, utils
from .builder import SavedModelBuilder
from .signature_def_utils import (SignatureDef, build_signature_def, classification_signature_def, predict_signature_def,
                                  regression_signature_def)
from .utils import TensorInfo, build_tensor_info, get_tensor_from_tensor_info

Builder = SavedModelBuilder
load = loader.load
maybe_saved_model_directory = contains_saved_model = loader.maybe_saved_model_directory


def simple_save(session, export_dir, inputs, outputs, legacy_init_op=None):
    """One signature for serving."""
    made = SavedModelBuilder(export_dir)
    made.add_meta_graph_and_variables(session, [tag_constants.SERVING],
                                      {signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: predict_signature_def(inputs, outputs)},
                                      main_op=legacy_init_op)
    made.save()
