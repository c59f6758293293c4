"""Kernels in CUDA access what programs that were written by hand access, launch by launch."""

from collections import Counter

import numpy as np
import pytest

import gpusim
from gpusim.core.warp_program import MEMORY_OPS, Op
from gpusim.programs.rodinia.hotspot import Heat
from gpusim.ptx.capture import Capture
from tests.ptx.tracing import calls, load


class Launched:
    """A program of gpusim's, and the same arrays for kernels, at the same addresses."""

    def __init__(self, name, **parameters):
        self.spec = gpusim.load_workload(name, "smoke", 0, parameters).applications[0]
        self.program = self.spec.start()
        self.arrays = [array.data.copy() for array in self.program.memory.arrays]
        self.captured = Capture()
        for array, mine in zip(self.program.memory.arrays, self.arrays, strict=True):
            assert self.captured.address(array.name, mine) == array.base

    def launch(self, kernel, grid, block, *args):
        """Launch a kernel on some of the arrays, by their numbers, and on numbers."""
        given = [self.arrays[one[0]] if isinstance(one, tuple) else one for one in args]
        with gpusim.capture(again=self.captured):
            load(f"programs:{kernel}").launch(grid, block, *given)


def counted(launch):
    """For each block and warp, its accesses; barriers; and all instructions."""
    found, instructions = [], 0
    for block in range(launch.blocks):
        warps = [Counter() for _ in range(-(-launch.threads_per_block // 32))]
        for chunk in launch.run_block(block, 32):
            row = 0
            for kind, arg, active in zip(chunk.kind, chunk.arg, chunk.active, strict=True):
                for warp in np.flatnonzero(active):
                    if kind in MEMORY_OPS:
                        warps[warp][Op(kind).name, tuple(chunk.address[row, warp].tolist())] += 1
                    elif kind == Op.BARRIER:
                        warps[warp]["barrier"] += 1
                    elif kind == Op.SHARED:
                        warps[warp]["shared", int(arg)] += 1
                    elif kind == Op.COMPUTE:
                        instructions += int(arg)
                row += kind in MEMORY_OPS
        found.append(warps)
        instructions += sum(sum(warp.values()) for warp in warps)
    return found, instructions


def compare(launched, expected):
    """Accesses of all launches are the same; returns instructions of both."""
    mine = launched.captured.application().launches()
    theirs = launched.spec.start()
    counts = []
    for own, hand in zip(mine, theirs.launches(), strict=True):
        (a, own_count), (b, hand_count) = counted(own), counted(hand)
        assert a == b
        counts.append((own_count, hand_count))
    assert len(counts) == expected
    for array, mine_ in zip(theirs.memory.arrays, launched.arrays, strict=True):
        assert np.allclose(mine_, array.data, rtol=1e-5), array.name
    return counts


def test_products_of_a_matrix():
    n = 96
    launched = Launched("atax", n=n, iterations=n)
    launched.launch("row_sums", 1, 256, (0,), (1,), (3,), n)
    launched.launch("column_sums", 1, 256, (0,), (3,), (2,), n)
    for own, hand in compare(launched, 2):
        assert 0.5 < own / hand < 2


@pytest.mark.long
def test_a_search_by_levels():
    launched = Launched("bfs", **{"graph.vertices": 600, "levels": 4})
    nodes = launched.arrays[0]
    vertices = nodes.size // 2
    over = launched.arrays[6]
    for _ in range(4):
        over[0] = False
        grid, block = -(-vertices // 512), 512
        launched.launch("visit", grid, block, *((k,) for k in range(6)), vertices)
        launched.launch("advance", grid, block, (2,), (3,), (4,), (6,), vertices)
        if not over[0]:
            break
    compare(launched, len(calls(launched.captured)))


@pytest.mark.parametrize("height", [3, 8])
def test_cheapest_ways_through_a_grid(height):
    columns, rows = 500, 8
    launched = Launched("pathfinder", columns=columns, rows=rows, height=height)
    source, result = 0, 1
    launches = 0
    for start in range(0, rows - 1, height):
        steps = min(height, rows - 1 - start)
        blocks = -(-columns // (256 - 2 * height))
        numbers = (steps, height, columns, start)
        launched.launch("cheapest", blocks, 256, (2,), (source,), (result,), *numbers)
        source, result = result, source
        launches += 1
    compare(launched, launches)


def test_temperatures_of_a_chip():
    n, height = 40, 2
    launched = Launched("hotspot", n=n, height=height, iterations=3)
    heat = Heat.of_grid(n)
    source, result = 0, 1
    for steps in (2, 1):
        side = -(-n // (16 - 2 * height))
        numbers = (steps, height, n, heat.gain, heat.lateral, heat.vertical)
        launched.launch(
            "temperatures", (side, side), (16, 16), (2,), (source,), (result,), *numbers
        )
        source, result = result, source
    compare(launched, 2)


@pytest.mark.long
def test_alignment_of_two_sequences():
    n, penalty = 64, 10
    launched = Launched("nw", n=n, penalty=penalty)
    width = n // 16
    for tiles in range(1, width + 1):
        launched.launch("grow", tiles, 16, (0,), (1,), n + 1, penalty, 0, tiles - 1)
    for tiles in range(width - 1, 0, -1):
        launched.launch("shrink", tiles, 16, (0,), (1,), n + 1, penalty, width - tiles, width - 1)
    compare(launched, 2 * width - 1)


@pytest.mark.long
def test_ranks_as_a_product_of_a_sparse_matrix():
    launched = Launched("pagerank_spmv", **{"graph.vertices": 500, "iterations": 2})
    n = launched.arrays[3].size
    row, col, data, ranks, incoming, degrees = ((k,) for k in range(6))
    launched.launch("begin", -(-n // 64), 64, ranks, incoming, n)
    launched.launch("weigh", -(-n // 64), 64, row, col, data, degrees, n)
    for _ in range(2):
        launched.launch("pull", -(-n // 64), 64, row, col, data, ranks, incoming, n)
        launched.launch("update", -(-n // 64), 64, ranks, incoming, n)
    compare(launched, 6)
