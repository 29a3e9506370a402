"""Fourier transforms."""

from ._op_functions import namespace

__getattr__, __dir__ = namespace(globals(), {"fft": "FFT", "ifft": "IFFT", "fft2d": "FFT2D", "ifft2d": "IFFT2D", "fft3d": "FFT3D",
                                             "ifft3d": "IFFT3D", "rfft": "RFFT", "irfft": "IRFFT"})
