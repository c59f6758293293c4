"""Dense random graphs whose arcs are drawn one by one."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from attrs.validators import ge

from gpusim.programs.graphs.graph import Graph, graph_from_arcs


@frozen
class UniformRandom:
    """Directed graphs whose arcs join uniformly random pairs of different vertices.

    The defaults are the size of Pannotia's 1k_128k; its 256_16384, 512_65536 and 2k_1M are of this
    kind, too: no loops, a few double arcs (they stay), weights from 0 to 99, arcs of a vertex in
    random order.

    Attributes:
        vertices: their number.
        arcs: their number; a matrix with this number of entries is the graph's matrix.
    """

    vertices: int = field(default=1024, validator=ge(2))
    arcs: int = field(default=131072, validator=ge(0))

    def generate(self, seed: int) -> Graph:
        """The graph; the same for the same seed."""
        rng = np.random.default_rng(seed)
        tail = rng.integers(0, self.vertices, self.arcs)
        head = rng.integers(0, self.vertices - 1, self.arcs)
        head += head >= tail
        weight = rng.integers(0, 100, self.arcs)
        name = f"uniform-random-{self.vertices}-{self.arcs}"
        return graph_from_arcs(name, self.vertices, tail, head, weight)
