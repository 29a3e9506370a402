"""Random numbers."""

from ._random import multinomial, random_gamma, random_normal, random_poisson, random_shuffle, random_uniform, truncated_normal
from ._graphs import set_random_seed
from ._op_functions import namespace

normal, uniform, shuffle, gamma, poisson, categorical = (random_normal, random_uniform, random_shuffle, random_gamma, random_poisson,
                                                         multinomial)

__getattr__, __dir__ = namespace(globals(), {}, ("random_", "stateless_random_"))
