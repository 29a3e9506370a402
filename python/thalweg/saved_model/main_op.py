"""What a served model runs once."""

from .._graphs import current_scope
from .._variables import global_variables_initializer, local_variables_initializer, tables_initializer


def main_op():
    return current_scope().group([global_variables_initializer(), local_variables_initializer(), tables_initializer()])
