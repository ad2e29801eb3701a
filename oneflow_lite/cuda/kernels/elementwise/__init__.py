"""Elementwise kernels: the rows of the op table, casts, copies, fills."""
