"""The operations, by chapter of the Python array API standard."""
