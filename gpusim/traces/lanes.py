"""Lane addresses of one warp instruction: split at sectors, local memory, shared memory's banks."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpusim.core.bank_conflicts import PASS_BYTES, WORD_BYTES, bank_passes
from gpusim.core.warp_program import INACTIVE, SECTOR_BYTES

WINDOW_BYTES = 1 << 24
"""The generic addresses of a block's shared and of a thread's local memory span 16 MiB each."""

LOCAL_BASE = 0xC000_0000_0000
"""Where the region of local memory lies (our choice): above all user addresses, which have 47 bits,
so that no array of a trace overlaps it."""

LOCAL_REGION = 1 << 47
"""All addresses from here on are local memory."""

MATRIX_ROWS = 8
"""Rows of a matrix that LDSM and STSM move, each with the address of a lane (PTX: ldmatrix)."""

MATRIX_ROW_BYTES = 16
"""Bytes of one of them."""

Lanes: TypeAlias = NDArray[np.int64]


def split_at_sectors(address: list[int], size: int) -> tuple[list[int], int]:
    """Extra lanes for an instruction of which some lane crosses a sector.

    All its lanes are cut into pieces of the largest power of two that divides the size and all
    addresses.

    Args:
        address: byte addresses of lanes, `INACTIVE` where one takes no part.
        size: bytes a lane.

    Returns:
        addresses of lanes, or of the pieces of lanes, those of a lane side by side; and the bytes
        of each.
    """
    common = size | SECTOR_BYTES
    for one in address:
        if one != INACTIVE:
            common |= one
    piece = common & -common
    if piece == size:
        return address, size
    last = SECTOR_BYTES - size
    if all(one == INACTIVE or one % SECTOR_BYTES <= last for one in address):
        return address, size
    steps = range(0, size, piece)
    return [INACTIVE if one == INACTIVE else one + step for one in address for step in steps], piece


def interleave_local(address: Lanes, size: int, threads: Lanes, total: int) -> tuple[Lanes, int]:
    """Where the local memory of threads lies: word by word, the words of all threads side by side.

    "Consecutive 32-bit words are accessed by consecutive thread IDs" (CUDA programming guide, local
    memory).  Our choice: all threads of the launch have memory of their own; the words of a thread,
    counted from the middle of its window, lie around `LOCAL_BASE`.

    Args:
        address: (lanes,) addresses as each thread sees them, `INACTIVE` elsewhere.
        size: bytes a lane.
        threads: (lanes,) number of each thread in its grid.
        total: threads of the grid.

    Returns:
        as `split_at_sectors`: lanes that access a word or less.
    """
    piece = min(size & -size, WORD_BYTES)
    offset = (address + WINDOW_BYTES // 2) % WINDOW_BYTES - WINDOW_BYTES // 2
    offset -= offset % piece
    own = _cut(
        np.where(address == INACTIVE, INACTIVE, offset + LOCAL_BASE), np.arange(0, size, piece)
    )
    word = (own - LOCAL_BASE) // WORD_BYTES
    place = (word * total + threads.repeat(len(own) // len(address))) * WORD_BYTES
    return np.where(own == INACTIVE, INACTIVE, LOCAL_BASE + place + own % WORD_BYTES), piece


def shared_passes(address: list[int], size: int, atomic: bool = False) -> int:
    """Passes of a shared-memory access.

    Args:
        address: byte addresses of lanes, `INACTIVE` where one takes no part; at least one does.
        size: bytes a lane.
        atomic: whether lanes with one word take turns.
    """
    # Warps and iterations of a loop have one pattern, which begins at one bank or another.
    begin = min([one for one in address if one != INACTIVE])
    begin -= begin % PASS_BYTES
    pattern = tuple([INACTIVE if one == INACTIVE else one - begin for one in address])
    return _passes_of(pattern, size, atomic)


@lru_cache(maxsize=4096)
def _passes_of(address: tuple[int, ...], size: int, atomic: bool) -> int:
    return int(bank_passes(np.array([address], dtype=np.int64), size, not atomic)[0])


def matrix_rows(address: list[int], matrices: int) -> list[int]:
    """Addresses of the rows that an LDSM or STSM moves: of its first 8 lanes for each matrix."""
    rows = MATRIX_ROWS * matrices
    return address[:rows] + [INACTIVE] * (len(address) - rows)


def _cut(address: Lanes, steps: Lanes) -> Lanes:
    """Each lane as several: (lanes * steps,)."""
    pieces = address[:, None] + steps
    pieces[address == INACTIVE] = INACTIVE
    return pieces.ravel()
