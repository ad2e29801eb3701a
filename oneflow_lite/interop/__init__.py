"""Other libraries, other processes and files: DLPack, CUDA arrays, NumPy's protocols, pickle."""
