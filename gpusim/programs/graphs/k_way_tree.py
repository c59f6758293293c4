"""Complete trees, numbered level by level."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from attrs.validators import ge

from gpusim.programs.graphs.graph import Graph, graph_from_arcs


@frozen
class KWayTree:
    """SHOC's default graph: vertex v has the children ``degree * v + 1`` to ``degree * (v + 1)``.

    Every vertex lists its children, then its parent; the last inner vertex may have fewer children.

    Attributes:
        vertices: their number (SHOC: 1000, 10,000, 100,000, 1,000,000).
        degree: children of a vertex (SHOC: 2).
    """

    vertices: int = field(default=1000, validator=ge(1))
    degree: int = field(default=2, validator=ge(1))

    def generate(self, seed: int) -> Graph:
        """The graph; nothing is random."""
        child = np.arange(1, self.vertices)
        parent = (child - 1) // self.degree
        return graph_from_arcs(
            f"{self.degree}-way-tree-{self.vertices}",
            self.vertices,
            np.concatenate((parent, child)),
            np.concatenate((child, parent)),
        )
