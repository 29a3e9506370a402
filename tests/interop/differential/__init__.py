"""The differential bench: every op on TensorFlow's own session and on a Thalweg server, compared.

`values` generates arrays, `kernels` lists the types TensorFlow has kernels for, `families` generate cases, `driver` runs them on both
sides, `compare` compares, `coverage` counts. `python -m differential --help` (from tests/interop) is the long run.
"""
