"""mummer: exact matches of many short queries in a genome, by a suffix tree (mummergpu)."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
from attrs import define, frozen
from numpy.typing import NDArray

from gpusim.programs import writing as gpu
from gpusim.programs.rodinia.suffix_tree import NOWHERE, ROOT, SuffixTree, suffix_tree

BLOCK = 256

TEXTURE_NODES = 4096 * 32
"""Nodes of a strip of the texture: 32 rows of 4096 texels of 16 bytes."""

GC_SHARE = 0.35
REPEAT, BASES_PER_REPEAT = 5000, 475_000
"""Length of the one repeated sequence, and bases for each of its copies."""

NODE = np.dtype([(name, np.int32) for name in ("parent", "suffix", "start", "end")])
CHILDREN = np.dtype([(base, np.int32) for base in "acgt"])
MATCH = np.dtype([("node", np.int32), ("edge_match_length", np.int32)])
Values = NDArray[np.int64]


def texel(node: Values) -> Values:
    """Where a node lies in its texture, in texels.

    The suite gives 32 neighbouring nodes a column of 32 rows.  How a device lays out a texture is
    not published in full; ours: tiles of 4 x 32 texels, made of groups of 4 x 8 (our choice).  So
    128 nodes share 2 KiB.
    """
    row, column = node % 32, node // 32 % 4
    return node // 128 * 128 + row // 8 * 32 + row % 8 * 4 + column


@define
class _Walk:
    """Where each thread is in the tree and in its query.

    Attributes:
        result: where the match of the current place goes.
        node, previous: the current node, and its parent.
        matched: letters of the query that match so far, plus 1.
        must_match: letters that are known to match, and need not be compared.
        place: in the reference, the next letter to compare.
        start: where the edge to the current node begins.
    """

    result: Values
    node: Values
    previous: Values
    matched: Values
    must_match: Values
    place: Values
    start: Values


@frozen
class Search:
    """A genome, its suffix tree, and what is searched there.

    Attributes:
        reference: the genome; letters 1 to 4, 0 at its end.
        nodes, children: the tree, by `texel`.
        queries: letters of all queries; each is preceded by a mark and followed by a 0.
        matches: (node, letters on the edge to it) for each place of each query.
        min_match: shortest match to report.
    """

    reference: gpu.Bytes
    nodes: gpu.Vectors
    children: gpu.Vectors
    queries: gpu.Bytes
    matches: gpu.Vectors
    min_match: int

    def letter(self, k: gpu.BlockTracer, place: Values, where: gpu.Mask) -> NDArray[np.uint8]:
        """L a letter of each query, 0 outside `where`."""
        return np.where(where, k.fetch(self.queries, place, where), np.uint8(0))

    def report(
        self, k: gpu.BlockTracer, walk: _Walk, node: Values, edge: Values | int, where: gpu.Mask
    ) -> None:
        """S the match if it is long enough."""
        k.compute(6, where)
        match = np.zeros(k.threads, dtype=MATCH)
        match["node"], match["edge_match_length"] = node, edge
        k.store(self.matches, walk.result, match, where & (walk.matched > self.min_match))


def _descend(
    k: gpu.BlockTracer, of: Search, walk: _Walk, query: Values, active: gpu.Mask
) -> Generator[None, None, gpu.Mask]:
    """Down the tree as far as the query matches; returns who found no edge at all."""
    thread = np.arange(k.threads)
    stuck = np.zeros(k.threads, dtype=bool)
    walking = active
    letter = of.letter(k, query + walk.matched, walking)
    while walking.any():
        children = k.fetch(of.children, texel(walk.node), walking)
        k.compute(18, walking)
        walk.previous = np.where(walking, walk.node, walk.previous)
        links = children.view(np.int32).reshape(-1, 4)
        child = links[thread, np.maximum(letter, 1) - 1]
        walk.node = np.where(walking, child, walk.node)
        none = walking & (walk.node == NOWHERE)
        of.report(k, walk, walk.previous, 0, none)
        walk.matched[none] -= 1
        walk.must_match[none] = 0
        stuck |= none
        walking = walking & ~none
        node = k.fetch(of.nodes, texel(walk.node), walking)
        k.compute(36, walking)
        start, end = node["start"].astype(np.int64), node["end"].astype(np.int64)
        _enter(walk, start, end, walking)
        letter = of.letter(k, query + walk.matched, walking)
        comparing = walking & (walk.place <= end) & (letter != 0)
        while comparing.any():
            base = k.fetch(of.reference, walk.place, comparing)
            k.compute(12, comparing)
            walking = walking & ~(comparing & (base != letter))
            comparing = comparing & walking
            walk.matched[comparing] += 1
            walk.place[comparing] += 1
            following = of.letter(k, query + walk.matched, comparing)
            letter = np.where(comparing, following, letter)
            comparing = comparing & (walk.place <= end) & (letter != 0)
            yield
        walking = walking & (letter != 0)
    return stuck


def _enter(walk: _Walk, start: Values, end: Values, where: gpu.Mask) -> None:
    """Enter an edge; letters that must match are skipped, else the first one matches."""
    must = where & (walk.must_match > 0)
    free = where & ~must
    edge = np.minimum(walk.must_match, end - start + 1)
    walk.start[where] = start[where]
    walk.place[must] = (start + edge)[must]
    walk.matched[must] += edge[must]
    walk.must_match[must] -= edge[must]
    walk.matched[free] += 1
    walk.place[free] = start[free] + 1


@gpu.kernel("mummergpuKernel", registers=32, block=BLOCK, in_step=True)
def match_queries(
    k: gpu.BlockTracer, of: Search, addresses: gpu.Ints, lengths: gpu.Ints, count: int
) -> gpu.Steps:
    """The longest match from each place of a query on: one query a thread.

    For each place: L query letter; down the tree {texture L children[node]; texture L node[child];
    L query letter; along the edge {L reference letter, L query letter}}; S result if the match is
    long enough; texture L node[previous], whose suffix link is where the next place begins.  Every
    load is used at once, so none is batched.  Threads of a warp meet again at the next place.
    Bases are read as bytes; references into the texture are 4 bytes instead of 3.  32 registers; 54
    instructions for a node, 12 for a letter, 18 for a place: our choices, of such a size that
    50,000 queries of 25 bases in a genome of 140,000 have 75 million instructions of threads, where
    77 million are published (ISPASS 2009, Table 1).

    Takes `addresses`, `lengths` ((count,) the queries' places and lengths).
    """
    t = k.t
    inside = gpu.threads_below(k, count)
    length = k.load(lengths, t, inside)
    address = k.load(addresses, t, inside).astype(np.int64)
    k.wait(0, inside)
    last = length - of.min_match
    zeros = (np.zeros(k.threads, dtype=np.int64) for _ in range(6))
    walk = _Walk(address - t * (of.min_match + 1), *zeros)
    position = 0
    while (active := inside & (position <= last)).any():
        k.compute(18, active)
        again = (walk.node == NOWHERE) | (walk.matched < 1)
        walk.node[again] = ROOT
        walk.matched[again] = 1
        walk.must_match[again] = 0
        stuck = yield from _descend(k, of, walk, address + position, active)
        found = active & ~stuck
        edge = walk.place - walk.start
        of.report(k, walk, walk.node, edge, found)
        walk.must_match[found] = edge[found]
        walk.matched[found] -= edge[found] + 1
        node = k.fetch(of.nodes, texel(walk.previous), active)
        k.compute(12, active)
        walk.node = np.where(active, node["suffix"], walk.node).astype(np.int64)
        position += 1
        walk.result = walk.result + 1
        yield


@gpu.program("mummer")
def mummer(
    memory: gpu.AddressSpace,
    seed: int,
    reference: int = gpu.number(5_227_293),
    queries: int = gpu.number(50_000),
    query_length: int = gpu.number(100, most="reference"),
    min_match: int = gpu.number(20, most="query_length"),
    matching: float = gpu.number(0.9, 0.0, 1.0),
) -> gpu.Launches:
    """One launch of mummergpuKernel; the printing of matches is left out.

    Arrays in the order reference, nodes, children, queries, query addresses, query lengths, match
    coordinates.  Nodes are numbered in breadth-first order (our choice).  The genome is random,
    35 % of its bases are G or C as in Bacillus anthracis, and a sequence of 5000 bases is copied to
    a random place for every 475,000 bases, about as often as that genome's ribosomal operon.

    Parameters:
        reference: bases of the genome (the suite's NC_003997: 5227293).
        queries: their number (our choice: 50000).
        query_length: bases of a query (the suite's: 100).
        min_match: shortest match that is reported (the suite: 20).
        matching: share of the queries that are a piece of the genome (our choice: 0.9); the others
            are random.
    """
    rng = np.random.default_rng(seed)
    text = make_genome(reference, rng)
    tree = suffix_tree(text)
    letters = np.zeros((queries, query_length + 2), dtype=np.uint8)
    letters[:, 0] = ord("q")
    first = rng.integers(0, reference - query_length + 1, queries)
    letters[:, 1:-1] = text[first[:, None] + np.arange(query_length)]
    foreign = rng.random(queries) >= matching
    letters[foreign, 1:-1] = rng.integers(1, 5, (np.count_nonzero(foreign), query_length))
    arrays = (
        memory.allocate("reference", text),
        memory.allocate("nodes", _nodes(tree)),
        memory.allocate("children", _children(tree)),
        memory.allocate("queries", letters),
    )
    starts = np.arange(queries, dtype=np.int32) * np.int32(query_length + 2)
    addresses = memory.allocate("query_addresses", starts)
    lengths = memory.allocate("query_lengths", np.full(queries, query_length, dtype=np.int32))
    matches = memory.zeros("match_coords", queries * (query_length - min_match + 1), MATCH)
    of = Search(*arrays, matches, min_match)
    yield match_queries[queries](of, addresses, lengths, queries)


def make_genome(bases: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """(bases + 1,) letters 1 to 4 for A, C, G, T, and a 0."""
    bound = np.array([(1 - GC_SHARE) / 2, 0.5, 0.5 + GC_SHARE / 2])
    text = np.zeros(bases + 1, dtype=np.uint8)
    text[:-1] = 1 + np.searchsorted(bound, rng.random(bases, dtype=np.float32), side="right")
    copies = bases // BASES_PER_REPEAT
    for place in rng.integers(0, max(bases - REPEAT, 1), copies):
        text[place : place + REPEAT] = text[:REPEAT]
    return text


def _texture(tree: SuffixTree, kind: np.dtype[np.void]) -> NDArray[np.void]:
    strips = -(-len(tree.start) // TEXTURE_NODES)
    return np.zeros(strips * TEXTURE_NODES, dtype=kind)


def _nodes(tree: SuffixTree) -> NDArray[np.void]:
    """The texture of nodes."""
    texture = _texture(tree, NODE)
    place = texel(np.arange(len(tree.start)))
    for name, column in (("suffix", tree.suffix), ("start", tree.start), ("end", tree.end)):
        texture[name][place] = column
    parent, letter = np.nonzero(tree.children)
    texture["parent"][place[tree.children[parent, letter]]] = parent
    return texture


def _children(tree: SuffixTree) -> NDArray[np.void]:
    """The texture of children."""
    texture = _texture(tree, CHILDREN)
    texture.view(np.int32).reshape(-1, 4)[texel(np.arange(len(tree.start)))] = tree.children
    return texture
