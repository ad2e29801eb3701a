"""The types of what the analyses are given."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.integer[Any]]
Integers = Sequence[int] | Array
Rows = Sequence[Integers] | Array
Edges = Sequence[tuple[int, int]] | Array
Pairs = Sequence[tuple[int, int]] | Array
Triples = Sequence[tuple[int, int, int]] | Array
Quadruples = Sequence[tuple[int, int, int, int]] | Array
Accesses = Sequence[Sequence[tuple[int, int]]]
