"""Matrices of 8 rows of 16 bytes between shared memory and the registers of a warp.

A thread gives the address of a row: those from 8 k on the rows of matrix k.  Thread t holds, of
each matrix, the elements 2 (t mod 4) and the next one of row t / 4 (PTX ISA, ldmatrix).
"""

from __future__ import annotations

import numpy as np

from gpusim.core.warp_program import Op
from gpusim.ptx.frame import Frame, Lanes, Reader, Step
from gpusim.ptx.memory_steps import Access, items_of, keep, recorded, taking_part
from gpusim.ptx.operands import Operands, Writer
from gpusim.ptx.record import WARP
from gpusim.ptx.syntax import Instruction
from gpusim.ptx.values import UnsupportedError, Value

_ROWS, _ROW_BYTES = 8, 16
_THREAD = np.arange(WARP)
_ROW, _COLUMN = _THREAD // 4, 2 * (_THREAD % 4)


def matrix_steps(operands: Operands, one: Instruction, needed: bool) -> list[Step]:
    """``ldmatrix`` and ``stmatrix``.

    Raises:
        UnsupportedError: it is of another shape, and its values are needed.
    """
    loads = one.opcode == "ldmatrix"
    count = next((int(word[1:]) for word in one.modifiers if word in {"x1", "x2", "x4"}), 1)
    access = Access(
        one,
        "shared",
        Op.LOAD if loads else Op.STORE,
        _ROW_BYTES,
        operands.address(one, one.operands[1 if loads else 0]),
        None,
    )

    def record(frame: Frame) -> None:
        recorder = frame.batch.record
        if recorder is not None:
            lanes, address = _rows(access, frame, count)
            if len(lanes):
                recorded(recorder, access, access.op, lanes, address)

    if not needed:
        return [record]
    if not one.has("m8n8") or not one.has("b16"):
        raise UnsupportedError("matrices of this shape are not computed")
    items = items_of(one.operands[0 if loads else 1])
    if loads:
        return [record, _load(access, count, [operands.writer(one, item) for item in items])]
    readers = [operands.reader(one, item, "u32") for item in items]
    return [record, _store(access, count, readers)]


def _load(access: Access, count: int, writers: list[Writer]) -> Step:
    turned = access.one.has("trans")

    def load(frame: Frame) -> None:
        warps = _whole(frame)
        lanes, address = _rows(access, frame, count)
        values = np.zeros((len(lanes), _ROWS), np.uint16)
        for part in access.parts(frame, lanes, address):
            at = part.offset[:, None] // 2 + np.arange(_ROWS)
            values[part.which] = part.data.view(np.uint16)[at]
        by_matrix = values.reshape(warps, count, _ROWS, _ROWS)
        found = [_held(by_matrix[:, k], turned).reshape(-1) for k in range(count)]
        keep(frame, None, writers, found)

    return load


def _store(access: Access, count: int, readers: list[Reader]) -> Step:
    turned = access.one.has("trans")

    def store(frame: Frame) -> None:
        warps = _whole(frame)
        lanes, address = _rows(access, frame, count)
        values = np.zeros((warps, count, _ROWS, _ROWS), np.uint16)
        for k, read in enumerate(readers):
            held = frame.spread(read(frame)).reshape(warps, WARP)
            low, high = held.astype(np.uint16), (held >> np.uint32(16)).astype(np.uint16)
            for shift, half in enumerate((low, high)):
                rows, columns = (_COLUMN + shift, _ROW) if turned else (_ROW, _COLUMN + shift)
                values[:, k, rows, columns] = half
        flat = values.reshape(-1, _ROWS)
        for part in access.parts(frame, lanes, address):
            at = part.offset[:, None] // 2 + np.arange(_ROWS)
            part.data.view(np.uint16)[at] = flat[part.which]

    return store


def _whole(frame: Frame) -> int:
    """How many warps there are, which must be whole."""
    if frame.count % WARP:
        raise UnsupportedError("a matrix that part of a warp moves is not computed")
    return frame.count // WARP


def _rows(access: Access, frame: Frame, count: int) -> tuple[Lanes, Value]:
    """The threads that give addresses of rows, and these."""
    _, lanes, address = taking_part(access, frame)
    every = np.arange(frame.batch.threads.count) if lanes is None else lanes
    gives = every % WARP < _ROWS * count
    return every[gives], np.broadcast_to(address, len(every))[gives]


def _held(matrix: Value, turned: bool) -> Value:
    """(warps, 8, 8) elements as the (warps, 32) registers of threads."""
    if turned:
        matrix = matrix.transpose(0, 2, 1)
    low = matrix[:, _ROW, _COLUMN].astype(np.uint32)
    high = matrix[:, _ROW, _COLUMN + 1].astype(np.uint32)
    made: Value = low | (high << np.uint32(16))
    return made
