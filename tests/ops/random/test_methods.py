"""Ways to draw that NumPy's generators can choose between."""

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import same

PARAMETERS = {
    "multivariate_hypergeometric": ([5, 3, 2], 4),
    "multivariate_normal": ([0.0, 1.0], [[2.0, 1.0], [1.0, 2.0]]),
    "standard_exponential": (),
}


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *(("standard_exponential", method) for method in ("zig", "inv")),
        *(("multivariate_normal", method) for method in ("svd", "eigh", "cholesky")),
        *(("multivariate_hypergeometric", method) for method in ("marginals", "count")),
    ],
)
def test_methods(name: str, method: str, device: flow.Device) -> None:
    ours, numpys = flow.random.default_rng(3), np.random.default_rng(3)
    for size in (None, 3, (2, 4), 9000):
        drawn = getattr(ours, name)(*PARAMETERS[name], size=size, method=method, device=device)
        same(getattr(numpys, name)(*PARAMETERS[name], size=size, method=method), drawn)
    if name == "standard_exponential":
        same(
            numpys.standard_exponential(3, "f4", method), ours.standard_exponential(3, "f4", method)
        )
    else:
        with pytest.raises(ValueError, match="method must be"):
            getattr(ours, name)(*PARAMETERS[name], method="other")


def test_covariances_are_checked() -> None:
    ours, numpys = flow.random.default_rng(3), np.random.default_rng(3)
    parameters = ([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]], 2)
    same(
        numpys.multivariate_normal(*parameters, "ignore"),
        ours.multivariate_normal(*parameters, "ignore"),
    )
    with pytest.raises(ValueError, match="positive-semidefinite"):
        ours.multivariate_normal(*parameters, "raise")
