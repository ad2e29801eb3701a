"""Tests, sorted by what they are about and by what they need.

contract/  the machine, seen from Python: order, waiting, errors, memory; process/ is how one ends
engine/    functions that are pushed
fusion/    operations that run as one
tensor/    tensors as Python objects: attributes, elements, dtypes, text
distributed/  tensors over many ranks
graph/     the analyses of programs, with checkers written without their algorithms
ops/       the values of all operations are NumPy's, by chapter
interop/   memory and calls shared with other libraries, files
cuda/      CUDA devices on the simulated driver; kernels/ runs in a process with a driver of its own
sim/       the simulated driver itself; driver/ runs in a process of its own
cpp/       C++ programs, plain and under sanitizers; needs a compiler
tools/     documentation, benchmarks, examples, packaging, and the shape of the tree
support/   what is no test: oracles, helpers, programs that tests start
"""
