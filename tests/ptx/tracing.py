"""What launches of a capture access, in a form that tests can compare with lists."""

from pathlib import Path

import numpy as np

import gpusim
from gpusim.core.warp_program import INACTIVE, MEMORY_OPS, NOTHING_ASKED, Op
from gpusim.ptx.capture import Call

DATA = Path(__file__).parent / "data"

_WITH_ADDRESS = MEMORY_OPS | {Op.SCALAR, Op.CONSTANT, Op.READ_ONLY, Op.FETCH}


def load(name):
    """A kernel of the test data, by file:kernel."""
    file, _, kernel = name.partition(":")
    return gpusim.load_kernel(DATA / f"{file}.ptx", kernel)


def operations(capture, asked=NOTHING_ASKED):
    """For each launch and block, what each warp does: (op, argument or addresses by lane, size)."""
    found = []
    for launch in capture.application().launches():
        blocks = []
        for block in range(launch.blocks):
            chunks = (
                launch.run_block_beside(block, 32, asked)
                if asked.kinds
                else launch.run_block(block, 32)
            )
            warps = [[] for _ in range(-(-launch.threads_per_block // 32))]
            for chunk in chunks:
                row = 0
                for kind, arg, active in zip(chunk.kind, chunk.arg, chunk.active, strict=True):
                    is_access = kind in _WITH_ADDRESS
                    for warp in np.flatnonzero(active):
                        what = chunk.address[row, warp] if is_access else int(arg)
                        size = int(chunk.size[row]) if is_access else 0
                        warps[warp].append((Op(kind), what, size))
                    row += is_access
            blocks.append(warps)
        found.append(blocks)
    return found


def accesses(capture, block=0, warp=0, launch=0):
    """The accesses of one warp: (op, array, bytes from its begin by lane, size); -1: no lane."""
    arrays = capture.memory.arrays
    found = []
    for op, what, size in operations(capture)[launch][block][warp]:
        if not isinstance(what, np.ndarray):
            continue
        used = what[what != INACTIVE]
        array = next(
            (one for one in arrays if one.base <= used.min() and used.max() < one.base + one.bytes),
            None,
        )
        base = array.base if array else 0
        lanes = np.where(what == INACTIVE, -1, what - base).tolist()
        found.append((op.name, array.name if array else "", lanes, size))
    return found


def others(capture, *ops, block=0, warp=0):
    """Operations of these kinds of one warp, with their arguments."""
    return [
        (op.name, what)
        for op, what, _ in operations(capture)[0][block][warp]
        if op in ops and not isinstance(what, np.ndarray)
    ]


def calls(capture):
    """The launches of a capture."""
    return [step for step in capture.steps if isinstance(step, Call)]
