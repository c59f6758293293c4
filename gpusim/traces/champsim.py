"""ChampSim's traces: records of 64 bytes, an instruction each.

The layout is that of ``input_instr`` in ChampSim's ``inc/trace_instruction.h``, little-endian: the
instruction's address (8 bytes), whether it is a branch, whether that is taken, 2 destination and 4
source registers (a byte each), 2 addresses that it stores to and 4 that it loads from (8 bytes
each; 0: none).
"""

from __future__ import annotations

from pathlib import Path
from struct import Struct

from gpusim.core.errors import UserError
from gpusim.traces.text import DAMAGES, damage, open_binary
from gpusim.traces.thread_records import ThreadRecords

FORMAT = "ChampSim trace"
MARK = "champsim"
"""What the name of such a file has: the content has no mark."""

SUFFIX = ".trace"
"""How the names of others end, whose content is no text."""

_RECORD = Struct("<8xBB6x6Q")
_STORES = 2
_BYTES = 8
"""Bytes of an access, which the format does not tell: a register's [our choice]."""


def read_champsim(path: Path) -> ThreadRecords:
    """All accesses of a file.

    Raises:
        UserError: it cannot be read, or ends inside a record.
    """
    records = ThreadRecords()
    number = 0
    try:
        with open_binary(path) as stream:
            while data := stream.read(_RECORD.size):
                number += 1
                if len(data) < _RECORD.size:
                    raise UserError(f"{path}: ends inside record {number}, which has 64 bytes")
                _add(path, number, records, _RECORD.unpack(data))
    except DAMAGES as error:
        raise UserError(damage(path, number, error, "record")) from error
    return records


def _add(path: Path, number: int, records: ThreadRecords, fields: tuple[int, ...]) -> None:
    """An instruction: its loads, then its stores; without any it is arithmetic."""
    branch, places = fields[:2], fields[2:]
    if max(branch) > 1:
        raise UserError(
            f"{path}: record {number}: whether it is a branch, and taken, is {branch[0]} and "
            f"{branch[1]}; must be 0 or 1: these are no records of ChampSim's input_instr "
            "(those of CloudSuite's traces are longer, and not read)"
        )
    stores, loads = places[:_STORES], places[_STORES:]
    if not any(places):
        records.instructions()
    try:
        for addresses, store in ((loads, False), (stores, True)):
            for address in filter(None, addresses):
                records.access(address, _BYTES, store)
    except ValueError as error:
        raise UserError(f"{path}: record {number}: {error}") from error
