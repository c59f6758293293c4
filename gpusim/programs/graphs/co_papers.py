"""Co-paper graphs: papers are neighbours if they share an author."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen
from attrs.validators import ge, le
from numpy.typing import NDArray

from gpusim.programs.graphs.graph import Graph, undirected_graph

Ints = NDArray[np.int64]

SIZE_EXPONENT = 1.4
"""Papers per author s fall as ``s ** -1.4 * exp(-s / scale)``: heavy-tailed, cut off smoothly."""

COAUTHORS = 0.88
"""Mean number (Poisson) of a paper's further authors with several papers.

Both constants are fitted to the clustering (0.711), the transitivity (0.637) and the degrees
(median 38, 90 % 165, 99 % 311) of the co-paper graph of the ACL anthology; see docs/programs.md.
"""


@frozen
class CoPapers:
    """A union of cliques, one an author, with a heavy-tailed number of papers per author.

    Each paper that is not isolated has a first author and further ones.  One author has exactly
    `largest_clique` papers; one paper has as many authors as it takes to reach `max_degree`.
    Papers are numbered at random, except that paper 0 is one of the largest clique's.

    Attributes:
        vertices: papers.
        mean_degree: of all papers, isolated ones included.
        max_degree: neighbours of the paper with most authors.
        largest_clique: papers of the author with most.
        isolated: share of papers that have no neighbours.
    """

    vertices: int = field(validator=ge(16))
    mean_degree: float = field(default=62.49, validator=ge(2.0))
    max_degree: int = field(default=1184, validator=ge(2))
    largest_clique: int = field(default=267, validator=ge(3))
    isolated: float = field(default=3225 / 61023, validator=[ge(0.0), le(0.5)])

    def generate(self, seed: int) -> Graph:
        """The graph; the same for the same seed.

        Raises:
            ValueError: no such graph is possible.
        """
        rng = np.random.default_rng(seed)
        linked = self.vertices - round(self.isolated * self.vertices)
        if max(self.max_degree, self.largest_clique) >= linked:
            raise ValueError(
                f"max_degree and largest_clique must be less than the {linked} papers that are "
                "not isolated"
            )
        scale = self._size_scale(linked)
        papers, author = self._authorships(linked, scale, rng)
        one, other = _cliques(papers, author)
        hub, more = self._consortium(papers, author, rng)
        number = _numbering(self.vertices, self.largest_clique, rng)
        return undirected_graph(
            f"co-papers-{self.vertices}",
            self.vertices,
            number[np.concatenate((one, np.full(len(more), hub)))],
            number[np.concatenate((other, more))],
        )

    def _size_scale(self, linked: int) -> float:
        """The cut-off of the papers per author that gives the mean degree.

        Raises:
            ValueError: `mean_degree` is out of reach.
        """
        fixed = self.largest_clique * (self.largest_clique - 1) + self.max_degree
        wanted = (self.mean_degree * self.vertices - fixed) / linked
        low, high = 0.1, 1e6
        if not self._mean_degree(low) < wanted < self._mean_degree(high):
            raise ValueError(
                f"mean_degree = {self.mean_degree} cannot be reached with {self.vertices} "
                f"vertices, largest_clique = {self.largest_clique} and max_degree = "
                f"{self.max_degree}"
            )
        for _ in range(60):
            middle = (low * high) ** 0.5
            low, high = (middle, high) if self._mean_degree(middle) < wanted else (low, middle)
        return low

    def _mean_degree(self, scale: float) -> float:
        """Mean degree of linked papers: each authorship brings the author's other papers."""
        size, share = self._sizes(scale)
        return float((1 + COAUTHORS) * ((size**2 * share).sum() / (size * share).sum() - 1))

    def _sizes(self, scale: float) -> tuple[Ints, NDArray[np.float64]]:
        size = np.arange(2, self.largest_clique + 1)
        share = size**-SIZE_EXPONENT * np.exp(-size / scale)
        return size, share / share.sum()

    def _authorships(
        self, linked: int, scale: float, rng: np.random.Generator
    ) -> tuple[Ints, Ints]:
        """Paper and author of each authorship, by author; author 0 has papers 0, 1, 2 ...

        A paper that would get more than `max_degree` neighbours keeps its first author only.
        """
        first = self._draw(linked - self.largest_clique, scale, rng)
        further = rng.permutation(np.repeat(np.arange(linked), rng.poisson(COAUTHORS, linked)))
        second = self._draw(len(further), scale, rng)
        sizes = np.concatenate(([self.largest_clique], first, second))
        papers = np.concatenate((np.arange(linked), further))
        author = np.repeat(np.arange(len(sizes)), sizes)
        neighbours = np.bincount(papers, weights=sizes[author] - 1)
        keep = neighbours[papers] <= self.max_degree
        keep[:linked] = True
        return papers[keep], author[keep]

    def _draw(self, total: int, scale: float, rng: np.random.Generator) -> Ints:
        """Papers per author that add up to `total`: evenly spaced quantiles, shuffled."""
        size, share = self._sizes(scale)
        count = max(1, int(total / (size * share).sum()))
        quantiles = (np.arange(count) + 0.5) / count
        at = np.minimum(np.searchsorted(np.cumsum(share), quantiles), len(size) - 1)
        sizes = rng.permutation(size[at])
        sizes = sizes[np.cumsum(sizes) <= total]
        rest = total - int(sizes.sum())
        return np.append(sizes, rest) if rest else sizes

    def _consortium(self, papers: Ints, author: Ints, rng: np.random.Generator) -> tuple[int, Ints]:
        """A paper, and the further neighbours that it gets from more and more authors."""
        linked = int(papers.max()) + 1
        hub = int(rng.integers(self.largest_clique, linked))
        own = np.unique(papers[np.isin(author, author[papers == hub])])
        known = np.zeros(linked, dtype=bool)
        known[own] = True
        known[hub] = True
        missing = self.max_degree - (int(known.sum()) - 1)
        order = np.argsort(rng.permutation(int(author[-1]) + 1)[author], kind="stable")
        candidates = papers[order]
        candidates = candidates[~known[candidates]]
        _, first = np.unique(candidates, return_index=True)
        return hub, candidates[np.sort(first)][: max(0, missing)]


def _cliques(papers: Ints, author: Ints) -> tuple[Ints, Ints]:
    """Both ends of every pair of papers of an author."""
    start = np.flatnonzero(np.diff(author, prepend=-1))
    count = np.diff(np.append(start, len(author)))
    one: list[Ints] = []
    other: list[Ints] = []
    for size in np.unique(count):
        members = papers[start[count == size][:, None] + np.arange(size)]
        i, j = np.triu_indices(size, 1)
        one.append(members[:, i].ravel())
        other.append(members[:, j].ravel())
    return np.concatenate(one), np.concatenate(other)


def _numbering(vertices: int, clique: int, rng: np.random.Generator) -> Ints:
    """A random numbering in which one of the first `clique` papers gets number 0."""
    number = rng.permutation(vertices)
    zero, chosen = int(np.argmin(number)), int(rng.integers(clique))
    number[[zero, chosen]] = number[[chosen, zero]]
    return number
