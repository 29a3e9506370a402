"""The differential bench: every op on TensorFlow's own session and on a Thalweg server, compared.

`values` makes arrays, `kernels` says which types TensorFlow really computes, `families` make cases, `driver` runs them on both
sides, `compare` judges, `coverage` counts. `python -m differential --help` (from tests/interop) is the long run.
"""
