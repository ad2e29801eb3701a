"""Linear algebra: the extension ``linalg`` of the array API standard, and NumPy's own functions.

Shapes are checked at the call; what depends on the numbers (a singular matrix) is raised where the
result is looked at.

>>> flow.linalg.solve(flow.eye(2), flow.tensor([1.0, 2.0])).numpy()
array([1., 2.])
"""

from numpy.linalg import LinAlgError as LinAlgError

from oneflow_lite.linalg.decompositions import *
from oneflow_lite.linalg.norms import *
from oneflow_lite.linalg.products import *
from oneflow_lite.linalg.solving import *
from oneflow_lite.linalg.tensors import *
from oneflow_lite.ops.linear_algebra import (
    cross as cross,
    matmul as matmul,
    tensordot as tensordot,
    vecdot as vecdot,
)
from oneflow_lite.ops.manipulation.shapes import matrix_transpose as matrix_transpose
