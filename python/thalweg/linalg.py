"""Linear algebra."""

from ._arrays import eye, transpose
from ._mathematics import einsum, matmul, norm, tensordot
from ._op_functions import namespace

__getattr__, __dir__ = namespace(globals(), {
    "inv": "MatrixInverse", "det": "MatrixDeterminant", "logdet": "LogMatrixDeterminant", "slogdet": "LogMatrixDeterminant",
    "cholesky": "Cholesky", "qr": "Qr", "svd": "Svd", "solve": "MatrixSolve", "triangular_solve": "MatrixTriangularSolve",
    "diag": "MatrixDiag", "diag_part": "MatrixDiagPart", "set_diag": "MatrixSetDiag", "band_part": "MatrixBandPart", "eigh": "SelfAdjointEigV2",
    "expm": "MatrixExponential", "logm": "MatrixLogarithm", "cross": "Cross", "lu": "Lu", "sqrtm": "MatrixSquareRoot",
}, ("matrix_",))
