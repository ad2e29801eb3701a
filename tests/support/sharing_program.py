"""Random programs over memory that came in, or came back, several times: handles over windows of
one array, written by one and read by another, with NumPy's result as the judge."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import oneflow_lite as flow

SIZE = 6000  # elements: most operations are work for a worker

Window = Callable[[int, int], Any]  # what exports elements [begin, end)


class Exported:
    """A tensor as another library would give it back: with the protocol, and of no known type."""

    def __init__(self, x: flow.Tensor) -> None:
        self.x = x

    def __dlpack__(self, **asked: Any) -> Any:
        return self.x.__dlpack__(**asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.x.__dlpack_device__()


class Program:
    """Handles over windows of one array, and what NumPy makes of the same calls."""

    def __init__(
        self, seed: int, values: npt.NDArray[Any], window: Window, first: flow.Tensor | None = None
    ) -> None:
        self.random = np.random.default_rng(seed)
        self.expected = values.copy()
        self.window = window
        self.handles: list[tuple[flow.Tensor, int, int]] = []
        if first is not None:
            self.handles.append((first, 0, len(values)))
        self.looks: list[tuple[flow.Tensor, npt.NDArray[Any]]] = []

    def run(self, steps: int) -> None:
        kinds = (self.take_in, self.add, self.assign, self.add_two, self.look, self.drop, self.item)
        weights = np.array([2, 4, 3, 3, 4, 1, 1])
        self.take_in()
        for kind in self.random.choice(len(kinds), steps, p=weights / weights.sum()):
            kinds[kind]()
        for seen, expected in self.looks:
            np.testing.assert_array_equal(seen.numpy(), expected)
        for x, begin, end in self.handles:
            np.testing.assert_array_equal(x.numpy(), self.expected[begin:end])

    def _bounds(self, begin: int, end: int, length: int) -> slice:
        start = int(self.random.integers(begin, end - length + 1))
        return slice(start, start + length)

    def _views(self, count: int) -> list[tuple[flow.Tensor, npt.NDArray[Any]]]:
        """As many views of one length, each of some handle."""
        handles = [self.handles[i] for i in self.random.integers(len(self.handles), size=count)]
        length = int(self.random.integers(1, min(end - begin for _, begin, end in handles) + 1))
        views = []
        for x, begin, end in handles:
            where = self._bounds(begin, end, length)
            step = int(self.random.choice([1, 1, 1, -1]))
            tensor = x[where.start - begin : where.stop - begin]
            views.append((tensor[::step], self.expected[where][::step]))
        return views

    def take_in(self) -> None:
        where = self._bounds(0, SIZE, int(self.random.integers(1, SIZE + 1)))
        x = flow.from_dlpack(self.window(where.start, where.stop))
        self.handles.append((x, where.start, where.stop))

    def add(self) -> None:
        ((x, a),) = self._views(1)
        x += 1
        a += 1

    def assign(self) -> None:
        (x, a), (y, b) = self._views(2)
        x[...] = y
        a[...] = b

    def add_two(self) -> None:
        (x, a), (y, b), (z, c) = self._views(3)
        flow.add(y, z, out=x)
        np.add(b, c, out=a)
        x %= 1009
        a %= 1009

    def look(self) -> None:
        ((x, a),) = self._views(1)
        copy = x.to("cpu") if x.device.type != "cpu" else x.to("mock:0")
        self.looks.append((copy, a.copy()))

    def drop(self) -> None:
        if len(self.handles) > 2:
            del self.handles[int(self.random.integers(len(self.handles)))]

    def item(self) -> None:
        ((x, a),) = self._views(1)
        x[0] = 7.0
        a[0] = 7.0
        assert x[-1].item() == a[-1]


def values_of(seed: int) -> npt.NDArray[Any]:
    return np.random.default_rng(seed).integers(0, 1000, SIZE).astype("float64")


def run_on(device: str, seed: int, steps: int = 60) -> None:
    """The memory is a tensor's; its windows come back."""
    values = values_of(seed)
    x = flow.tensor(values, device=device)
    Program(seed, values, lambda begin, end: Exported(x[begin:end]), x).run(steps)
