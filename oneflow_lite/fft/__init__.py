"""Discrete Fourier transforms: the extension ``fft`` of the array API standard, with NumPy's bits.

All transforms take ``norm``: which direction is divided by the number of points, ``"forward"`` or
``"backward"`` (the default), or both by its root, ``"ortho"``.

>>> flow.fft.fft(flow.tensor([1.0, 0.0, 0.0, 0.0])).numpy()
array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
"""

from oneflow_lite.fft.frequencies import *
from oneflow_lite.fft.one_axis import *
from oneflow_lite.fft.several_axes import *
