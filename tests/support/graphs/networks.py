"""Programs of networks, forward and backward, as integers: what memory is planned for."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod

from oneflow_lite.graph.analyses import (
    ELEMENTWISE,
    READ,
    WRITE,
    Access,
    ValueKind,
    Values,
    in_place,
)

Shape = tuple[int, ...]
Back = Callable[[int], list[tuple[int, int]]]  # gradient of the result -> (operand, its gradient)


@dataclass
class Network:
    """Values of float32 by shape, and operations; with a tape of what goes backwards."""

    shapes: list[Shape] = field(default_factory=list)
    kinds: list[ValueKind] = field(default_factory=list)
    accesses: list[list[tuple[int, Access]]] = field(default_factory=list)
    tape: list[tuple[int, Back]] = field(default_factory=list)

    @property
    def sizes(self) -> list[int]:
        return [4 * prod(shape) for shape in self.shapes]

    def given(self, *shape: int) -> int:
        self.shapes.append(shape)
        self.kinds.append(ValueKind.GIVEN)
        return len(self.shapes) - 1

    def op(self, shape: Shape, *operands: int, how: Access | None = None) -> int:
        """Elementwise in operands of the result's shape, unless ``how`` says otherwise."""
        self.shapes.append(shape)
        self.kinds.append(ValueKind.TEMPORARY)
        result = len(self.shapes) - 1
        reads = [(x, how or (ELEMENTWISE if self.shapes[x] == shape else READ)) for x in operands]
        self.accesses.append([*reads, (result, WRITE)])
        return result

    # --- Operations that are differentiated

    def product(self, shape: Shape, a: int, b: int) -> int:
        result = self.op(shape, a, b, how=READ)
        self.tape.append(
            (
                result,
                lambda g: [
                    (a, self.op(self.shapes[a], g, b, how=READ)),
                    (b, self.op(self.shapes[b], a, g, how=READ)),
                ],
            )
        )
        return result

    def unary(self, x: int, saves_result: bool = False) -> int:
        result = self.op(self.shapes[x], x)
        saved = result if saves_result else x
        self.tape.append((result, lambda g: [(x, self.op(self.shapes[x], g, saved))]))
        return result

    def add(self, a: int, b: int) -> int:
        result = self.op(max(self.shapes[a], self.shapes[b], key=prod), a, b)
        self.tape.append((result, lambda g: [(x, self.sum_to(g, x)) for x in (a, b)]))
        return result

    def mul(self, a: int, b: int) -> int:
        shape = max(self.shapes[a], self.shapes[b], key=prod)
        result = self.op(shape, a, b)
        self.tape.append(
            (
                result,
                lambda g: [
                    (a, self.sum_to(self.op(shape, g, b), a)),
                    (b, self.sum_to(self.op(shape, g, a), b)),
                ],
            )
        )
        return result

    def mean(self, x: int) -> int:
        shape = (*self.shapes[x][:-1], 1)
        result = self.op(shape, x)
        self.tape.append((result, lambda g: [(x, self.op(self.shapes[x], g))]))
        return result

    def sum_to(self, gradient: int, x: int) -> int:
        if self.shapes[gradient] == self.shapes[x]:
            return gradient
        return self.op(self.shapes[x], gradient)

    def softmax(self, x: int) -> int:
        shape = self.shapes[x]
        shifted = self.op(shape, x, self.op((*shape[:-1], 1), x))
        exp = self.op(shape, shifted)
        result = self.op(shape, exp, self.op((*shape[:-1], 1), exp))

        def back(g: int) -> list[tuple[int, int]]:
            weighted = self.op(shape, g, result)
            inner = self.op((*shape[:-1], 1), weighted)
            return [(x, self.op(shape, self.op(shape, g, inner), result))]

        self.tape.append((result, back))
        return result

    def norm(self, x: int, axis_shape: Shape) -> int:
        centred = self.add(x, self.mean(x))
        scale = self.unary(self.mean(self.unary(centred)))
        normal = self.mul(centred, scale)
        return self.add(self.mul(normal, self.given(*axis_shape)), self.given(*axis_shape))

    def gelu(self, x: int) -> int:
        return self.mul(x, self.unary(self.unary(x)))

    def backward(self, loss: int) -> dict[int, int]:
        """Gradients by value."""
        gradients = {loss: self.op(self.shapes[loss])}
        for result, back in reversed(self.tape):
            if result not in gradients:
                continue
            for x, gradient in back(gradients[result]):
                known = gradients.get(x)
                gradients[x] = (
                    gradient if known is None else self.op(self.shapes[x], known, gradient)
                )
        return gradients

    def returns(self, *values: int) -> "Network":
        for value in values:
            self.kinds[value] = ValueKind.RESULT
        return self

    # --- Arguments of analyses

    def classes(self) -> list[int]:
        """With everything in place that may be."""
        count = len(self.shapes)
        pairs = [
            (operation, x, row[-1][0])
            for operation, row in enumerate(self.accesses)
            for x, _ in row[:-1]
        ]
        elements = [prod(shape) for shape in self.shapes]
        values = Values(range(count), self.kinds, [0] * count, elements, [4] * count)
        return in_place(self.accesses, pairs, values).classes


def mlp_step() -> Network:
    """784-512-512-10, batch 128, forward, backward and descent."""
    net = Network()
    widths = (784, 512, 512, 10)
    x, target = net.given(128, 784), net.given(128, 10)
    weights = []
    for before, after in pairwise(widths):
        weights += [net.given(before, after), net.given(after)]
    h = x
    for layer in range(3):
        h = net.add(
            net.product((128, widths[layer + 1]), h, weights[2 * layer]), weights[2 * layer + 1]
        )
        h = net.unary(h, saves_result=True) if layer < 2 else net.softmax(h)
    loss = net.add(h, target)
    gradients = net.backward(loss)
    new = [net.op(net.shapes[w], w, net.op(net.shapes[w], gradients[w])) for w in weights]
    return net.returns(*new)


def transformer_block(backward: bool) -> Network:
    """(8, 128, 512), 8 heads."""
    net = Network()
    batch, time, width, heads = 8, 128, 512, 8
    shape, split = (batch, time, width), (batch, heads, time, width // heads)
    scores = (batch, heads, time, time)
    x = net.given(*shape)
    weights = [net.given(width, width) for _ in range(4)]
    wide, narrow = net.given(width, 4 * width), net.given(4 * width, width)
    h = net.norm(x, (width,))
    q, k, v = (net.add(net.product(split, h, w), net.given(width)) for w in weights[:3])
    attention = net.softmax(net.unary(net.product(scores, q, k)))
    mixed = net.product(split, attention, v)
    h = net.add(net.add(net.product(shape, mixed, weights[3]), net.given(width)), x)
    inner = net.product((batch, time, 4 * width), net.norm(h, (width,)), wide)
    inner = net.gelu(net.add(inner, net.given(4 * width)))
    y = net.add(net.add(net.product(shape, inner, narrow), net.given(width)), h)
    if not backward:
        return net.returns(y)
    gradients = net.backward(y)
    return net.returns(y, *(gradients[w] for w in [x, *weights, wide, narrow]))


def resnet_block(backward: bool) -> Network:
    """(8, 64, 56, 56): two convolutions with normalization, and the way around."""
    net = Network()
    shape, channels = (8, 64, 56, 56), (1, 64, 1, 1)
    x, filters = net.given(*shape), [net.given(64, 64, 3, 3) for _ in range(2)]
    h = x
    for layer, filter_ in enumerate(filters):
        h = net.product(shape, h, filter_)
        h = net.norm(h, channels)
        h = net.unary(net.add(h, x) if layer else h, saves_result=True)
    if not backward:
        return net.returns(h)
    gradients = net.backward(h)
    return net.returns(h, *(gradients[w] for w in [x, *filters]))


NETWORKS: dict[str, Callable[[], Network]] = {
    "mlp": mlp_step,
    "transformer": lambda: transformer_block(False),
    "transformer backward": lambda: transformer_block(True),
    "resnet": lambda: resnet_block(False),
    "resnet backward": lambda: resnet_block(True),
}
