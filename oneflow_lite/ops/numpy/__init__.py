"""Functions that NumPy has besides those of the array API standard."""
