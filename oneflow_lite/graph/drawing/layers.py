"""Layered drawings of directed graphs, over integers.

    nodes, edges ─► layers ─► bends of long edges ─► order in each layer ─► places ─► paths

Every step takes about linear time, so graphs of 10^4 nodes and more are drawn, and none recurses.
Sources: Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System
Structures", 1981 (the steps, barycentres); Coffman and Graham, 1972 (layers of bounded width);
Barth, Juenger and Mutzel, "Simple and Efficient Bilayer Cross Counting", 2002; Gansner et al., "A
Technique for Drawing Directed Graphs", 1993 (weights that keep long edges straight); Ayer et al.,
1955 (least squares in a given order, by pooling adjacent violators).
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

Edge = tuple[int, int]
Point = tuple[int, int]

_SWEEPS = 8  # over a graph of few nodes
_SWEEPS_OF_MANY = 3
_MANY = 4000
_BEND_WIDTH = 4
_STRAIGHT = 8  # the weight of an edge between two bends


class Layout(NamedTuple):
    """Where nodes and edges of a drawing are, in units of the sizes; y goes down."""

    layers: list[int]
    lefts: list[int]
    tops: list[int]
    paths: list[list[Point]]  # of each edge; empty: it is longer than the reach
    width: int
    height: int


def layered(
    sizes: Sequence[tuple[int, int]],
    edges: Sequence[Edge],
    *,
    gaps: tuple[int, int] = (14, 34),
    most: int = 16,
    reach: int = 10,
) -> Layout:
    """Return a drawing in which every edge goes down.

    Parameters
    ----------
    sizes
        width and height of each node.
    edges
        pairs of nodes, the lower number first: nodes are in a topological order.
    gaps
        least distances between nodes of a layer, and between layers.
    most
        how many nodes a layer has at most.
    reach
        through how many layers an edge is drawn; longer ones have no path.

    Raises
    ------
    ValueError
        An edge names no node, or does not go from a lower to a higher one.
    """
    _check(len(sizes), edges)
    layers = assigned_layers(len(sizes), edges, most)
    graph = _Graph(sizes, edges, layers, reach)
    rows = ordered_rows(graph.rows, graph.above, graph.below)
    centres = placed(rows, graph.widths, graph.neighbours(), gaps[0])
    return _drawn(graph, rows, centres, gaps[1])


def _check(count: int, edges: Sequence[Edge]) -> None:
    for a, b in edges:
        if not 0 <= a < b < count:
            raise ValueError(f"[layered] the edge {a} to {b} is not one of {count} nodes, upwards")


# --- layers


def assigned_layers(count: int, edges: Sequence[Edge], most: int) -> list[int]:
    """Return the layer of each node: below all that it depends on, as high as there is room.

    A node without predecessors is in the layer above its first user.
    """
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        before[b].append(a)
        after[a].append(b)
    rooms = _Rooms(most)
    layers = [-1] * count
    for node in range(count):
        if before[node] or not after[node]:
            layers[node] = rooms.take(max((layers[a] + 1 for a in before[node]), default=0))
    sources: dict[int, list[int]] = {}
    for node in range(count):
        if after[node] and not before[node]:
            sources.setdefault(min(layers[b] for b in after[node]) - 1, []).append(node)
    return _with_sources(layers, sources, rooms.used, most)


class _Rooms:
    """Layers with room for some nodes each."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.used: list[int] = []
        self._next: list[int] = []  # a layer at or below it that has room, or leads to one

    def take(self, least: int) -> int:
        """Take a place in the first layer from ``least`` on that has one."""
        path, at = [], least
        while True:
            while len(self._next) <= at:
                self._next.append(len(self._next))
                self.used.append(0)
            if self._next[at] == at:
                break
            path.append(at)
            at = self._next[at]
        for passed in path:
            self._next[passed] = at
        self.used[at] += 1
        if self.used[at] >= self._most:
            self._next[at] = at + 1
        return at


def _with_sources(
    layers: list[int], sources: dict[int, list[int]], used: list[int], most: int
) -> list[int]:
    """Put nodes without predecessors above their users, in further layers where they are many."""
    found, number = list(layers), 0
    shifted: dict[int, int] = {}
    for layer in range(-1, len(used)):
        waiting = sources.get(layer, [])
        taken = used[layer] if layer >= 0 else 0
        room = max(most - taken, 0)
        extra, same = waiting[: max(len(waiting) - room, 0)], waiting[max(len(waiting) - room, 0) :]
        for k, node in enumerate(extra):
            found[node] = number + k // most
        number += -(-len(extra) // most)
        for node in same:
            found[node] = number
        shifted[layer] = number
        number += 1 if taken or same else 0
    for node, layer in enumerate(layers):
        if layer >= 0:
            found[node] = shifted[layer]
    return found


# --- bends


class _Graph:
    """Nodes, and a bend for each layer that an edge passes through."""

    def __init__(
        self,
        sizes: Sequence[tuple[int, int]],
        edges: Sequence[Edge],
        layers: list[int],
        reach: int,
    ) -> None:
        self.sizes, self.edges, self.layers = sizes, edges, list(layers)
        self.widths = [width for width, _ in sizes]
        self.above: list[list[int]] = [[] for _ in sizes]
        self.below: list[list[int]] = [[] for _ in sizes]
        self.chains: list[list[int]] = []  # of each edge: its ends, and the bends between
        for a, b in edges:
            self.chains.append(self._chain(a, b) if layers[b] - layers[a] <= reach else [])
        self.rows: list[list[int]] = [[] for _ in range(max(self.layers, default=-1) + 1)]
        for node, layer in enumerate(self.layers):
            self.rows[layer].append(node)

    def _chain(self, a: int, b: int) -> list[int]:
        chain = [a]
        for layer in range(self.layers[a] + 1, self.layers[b]):
            self.layers.append(layer)
            self.widths.append(_BEND_WIDTH)
            self.above.append([])
            self.below.append([])
            chain.append(len(self.layers) - 1)
        chain.append(b)
        for one, other in pairwise(chain):
            self.below[one].append(other)
            self.above[other].append(one)
        return chain

    def is_bend(self, node: int) -> bool:
        return node >= len(self.sizes)

    def neighbours(self) -> tuple[list[list[Edge]], list[list[Edge]]]:
        """Return the neighbours above and below of each node, with their weights."""

        def weighted(rows: list[list[int]]) -> list[list[Edge]]:
            return [[(x, self._weight(node, x)) for x in row] for node, row in enumerate(rows)]

        return weighted(self.above), weighted(self.below)

    def _weight(self, a: int, b: int) -> int:
        bends = self.is_bend(a) + self.is_bend(b)
        return _STRAIGHT if bends == 2 else 1 + bends


# --- order


def ordered_rows(
    rows: list[list[int]], above: list[list[int]], below: list[list[int]]
) -> list[list[int]]:
    """Return the rows in the order with the fewest crossings that the sweeps have met."""
    best = [list(row) for row in rows]
    fewest = crossings(best, below)
    now = [list(row) for row in rows]
    sweeps = _SWEEPS if len(above) < _MANY else _SWEEPS_OF_MANY
    for sweep in range(sweeps):
        if not fewest:
            break
        is_down = sweep % 2 == 0
        _sweep(now, above if is_down else below, is_down)
        found = crossings(now, below)
        if found < fewest:
            fewest, best = found, [list(row) for row in now]
    return best


def _sweep(rows: list[list[int]], fixed: list[list[int]], is_down: bool) -> None:
    """Sort each row by the mean place of its neighbours in the row before."""
    place: dict[int, int] = {}
    for row in rows if is_down else reversed(rows):
        keys = {}
        for k, node in enumerate(row):
            near = [place[x] for x in fixed[node] if x in place]
            keys[node] = sum(near) / len(near) if near else k
        row.sort(key=keys.__getitem__)
        place = {node: k for k, node in enumerate(row)}


def crossings(rows: list[list[int]], below: list[list[int]]) -> int:
    """Return how many pairs of edges between neighbouring rows cross."""
    return sum(
        _inversions([[place[x] for x in below[node]] for node in row], len(lower))
        for row, lower in pairwise(rows)
        for place in [{node: k for k, node in enumerate(lower)}]
    )


def _inversions(ends: list[list[int]], count: int) -> int:
    """Count the pairs that are not in order, with a tree of partial sums."""
    tree = [0] * (count + 1)
    found = seen = 0
    for row in ends:
        for end in row:
            k, upto = end + 1, 0
            while k:
                upto += tree[k]
                k &= k - 1
            found += seen - upto
        for end in row:
            k = end + 1
            while k <= count:
                tree[k] += 1
                k += k & -k
        seen += len(row)
    return found


# --- places


def placed(
    rows: list[list[int]],
    widths: Sequence[int],
    neighbours: tuple[list[list[Edge]], list[list[Edge]]],
    gap: int,
) -> list[int]:
    """Return the middle of each node: near its neighbours, in the order of the rows."""
    centres = [0] * len(widths)
    offsets = [_offsets(row, widths, gap) for row in rows]
    for row, places in zip(rows, offsets, strict=True):
        for node, place in zip(row, places, strict=True):
            centres[node] = place - places[-1] // 2
    both = [[*a, *b] for a, b in zip(*neighbours, strict=True)]
    sweeps = 2 if len(widths) < _MANY else 1
    for fixed, step in [*((neighbours[k], 1 - 2 * k) for k in (0, 1)), (both, 1)] * sweeps:
        for row, places in list(zip(rows, offsets, strict=True))[::step]:
            targets = [_target(centres[node], centres, fixed[node]) for node in row]
            for node, x in zip(row, in_order(targets, places), strict=True):
                centres[node] = x
    return centres


def _offsets(row: list[int], widths: Sequence[int], gap: int) -> list[int]:
    """Return the least distance of each middle from the first one of the row."""
    found = [0] * len(row)
    for k in range(1, len(row)):
        found[k] = found[k - 1] + (widths[row[k - 1]] + widths[row[k]] + 1) // 2 + gap
    return found


def _target(now: int, centres: list[int], near: list[Edge]) -> tuple[float, float]:
    """Return where a node wants to be, and how much."""
    weight = sum(w for _, w in near)
    if not weight:
        return now, 0.1
    return sum(centres[x] * w for x, w in near) / weight, weight


def in_order(targets: Sequence[tuple[float, float]], offsets: Sequence[int]) -> list[int]:
    """Return places nearest to the targets, by weighted squares, as far apart as the offsets."""
    blocks: list[tuple[float, float, int]] = []  # mean of targets less offsets, weight, count
    for (target, weight), offset in zip(targets, offsets, strict=True):
        mean, total, count = target - offset, weight, 1
        while blocks and blocks[-1][0] > mean:
            other, more, members = blocks.pop()
            mean = (mean * total + other * more) / (total + more)
            total, count = total + more, count + members
        blocks.append((mean, total, count))
    starts = (round(mean) for mean, _, count in blocks for _ in range(count))
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]


# --- paths


def _drawn(graph: _Graph, rows: list[list[int]], centres: list[int], gap: int) -> Layout:
    count = len(graph.sizes)
    least = min((centres[v] - graph.widths[v] // 2 for v in range(len(centres))), default=0)
    centres = [x - least for x in centres]
    heights = [max((graph.sizes[v][1] for v in row if v < count), default=0) for row in rows]
    tops, y = [], 0
    for height in heights:
        tops.append(y)
        y += height + gap
    ends = _arrivals(graph, centres)
    paths = []
    for k, chain in enumerate(graph.chains):
        points: list[Point] = []
        if chain:
            points = list(_points(graph, chain, centres, tops, heights))
            points[-1] = (ends[k], points[-1][1])
        paths.append(points)
    width = max((centres[v] + (graph.widths[v] + 1) // 2 for v in range(len(centres))), default=0)
    return Layout(
        graph.layers[:count],
        [centres[v] - graph.widths[v] // 2 for v in range(count)],
        [tops[graph.layers[v]] for v in range(count)],
        paths,
        width,
        max(y - gap, 0),
    )


def _points(
    graph: _Graph, chain: list[int], centres: list[int], tops: list[int], heights: list[int]
) -> Iterator[Point]:
    """Yield the points of a path; through a layer it goes straight down."""
    first, *bends, last = chain
    layer = graph.layers[first]
    yield centres[first], tops[layer] + graph.sizes[first][1]
    if graph.sizes[first][1] < heights[layer]:
        yield centres[first], tops[layer] + heights[layer]
    for bend in bends:
        layer = graph.layers[bend]
        yield centres[bend], tops[layer]
        if heights[layer]:
            yield centres[bend], tops[layer] + heights[layer]
    yield centres[last], tops[graph.layers[last]]


def _arrivals(graph: _Graph, centres: list[int]) -> list[int]:
    """Return where each path ends: those of one node beside each other, in their order."""
    arriving: dict[int, list[int]] = {}
    for k, chain in enumerate(graph.chains):
        if chain:
            arriving.setdefault(chain[-1], []).append(k)
    ends = [0] * len(graph.chains)
    for node, edges in arriving.items():
        edges.sort(key=lambda k: centres[graph.chains[k][-2]])
        left, width = centres[node] - graph.widths[node] // 2, graph.widths[node]
        for place, k in enumerate(edges, 1):
            ends[k] = left + width * place // (len(edges) + 1)
    return ends
