"""Draws that are refused: nothing has been drawn then."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow


@pytest.mark.parametrize("make", [flow.random.default_rng, flow.random.RandomState])
def test_errors_of_other_arguments_leave_the_state(make: Any) -> None:
    fixed = np.arange(5.0)
    fixed.flags.writeable = False
    rng = make(3)
    wrong: list[dict[str, Any]] = [{"device": name} for name in ("mock:99", "nowhere")]
    wrong += [{"device": flow.Device("mock:99")}, {"dtype": "number"}]
    for arguments in wrong:
        for size in (3, 30_000):
            for call in (rng.normal, rng.exponential):
                with pytest.raises((TypeError, ValueError)):
                    call(size=size, **arguments)
    for device in ("mock:99", "nowhere"):
        for x in (5, flow.arange(5)):
            with pytest.raises(ValueError, match="device"):
                rng.permutation(x, device=device)
            with pytest.raises(ValueError, match="device"):
                rng.choice(x, 2, device=device)
    for target in (flow.from_dlpack(fixed), flow.broadcast_to(flow.tensor(1.0), (4,))):
        with pytest.raises(ValueError, match="cannot write into a"):
            rng.shuffle(target)
    assert float(rng.random()) == float(make(3).random())


def test_a_shift_of_minus_zero_is_refused_as_in_numpy() -> None:
    for name, parameters in (("noncentral_chisquare", (1.5, -0.0)), ("noncentral_f", (1, 2, -0.0))):
        with pytest.raises(ValueError, match="nonc < 0"):
            getattr(np.random.default_rng(0), name)(*parameters)
        with pytest.raises(ValueError, match="nonc < 0"):
            getattr(flow.random.default_rng(0), name)(*parameters)
