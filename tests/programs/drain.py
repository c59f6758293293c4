"""Runs applications without a machine: every chunk is consumed, blocks in order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpusim.core.warp_program import INACTIVE, MEMORY_OPS, Application, LaneChunk, Launch, Op


def chunks(application: Application, warp_size: int = 32) -> Iterator[tuple[Launch, LaneChunk]]:
    for launch in application.launches():
        for block in range(launch.blocks):
            for chunk in launch.run_block(block, warp_size):
                yield launch, chunk


def drain(application: Application) -> list[str]:
    """Run to the end; names of the launches."""
    names = []
    for launch in application.launches():
        names.append(launch.name)
        for block in range(launch.blocks):
            for _ in launch.run_block(block, 32):
                pass
    return names


def warp_operations(
    launch: Launch, application: Application, block: int = 0, warp: int = 0
) -> list[tuple[str, str | int, list[int]]]:
    """What a warp does: (op, buffer or argument, offsets of its lanes in elements)."""
    found = []
    for chunk in launch.run_block(block, 32):
        memory = -1
        for row, kind in enumerate(chunk.kind.tolist()):
            memory += kind in MEMORY_OPS
            if not chunk.active[row, warp]:
                continue
            if kind not in MEMORY_OPS:
                found.append((Op(kind).name, int(chunk.arg[row]), []))
                continue
            lanes = chunk.address[memory, warp]
            lanes = lanes[lanes != INACTIVE]
            size = int(chunk.size[memory])
            buffer = next(
                b for b in application.buffers if b.base <= lanes[0] < b.base + max(b.bytes, 1)
            )
            offsets = ((lanes - buffer.base) // size).tolist()
            found.append((Op(kind).name, buffer.name, offsets))
    return found


def same_chunk(one: LaneChunk, other: LaneChunk) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("kind", "arg", "active", "address", "size")
    )
