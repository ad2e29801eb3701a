"""What NumPy has in ``numpy.lib``: views of windows, and with any strides."""

from oneflow_lite.lib import stride_tricks as stride_tricks
