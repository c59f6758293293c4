"""Runs applications without a machine: every chunk is consumed, blocks in order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpusim.core.warp_program import Application, LaneChunk, Launch


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


def same_chunk(one: LaneChunk, other: LaneChunk) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("kind", "arg", "active", "address", "size")
    )
