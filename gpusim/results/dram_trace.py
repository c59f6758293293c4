"""Recorded requests to DRAM as traces of memory simulators: Ramulator 1 and 2, and DRAMsim3.

Each 64 bytes that a request moved are one transaction, as these simulators count them; transactions
stand in the order in which the channels accepted their requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from gpusim.core.errors import UserError
from gpusim.core.request import Kind
from gpusim.core.warp_program import SECTOR_BYTES
from gpusim.files.units import parse_hertz
from gpusim.results.flat_toml import by_dotted_key

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.results.result import Result

DRAM_FORMATS = ("ramulator", "ramulator2", "dramsim3")
"""Names of the formats."""

TRANSACTION_BYTES = 64

_TABLE = "dram"
_COLUMNS = ("accepted", "address", "kind", "sectors")
_SECTORS = 8
_PIECE = 1 << 16


def write_dram_trace(result: Result, to: str, stream: BinaryIO) -> None:
    """Write a result's requests to DRAM.

    Args:
        result: recorded with ``dram``.
        to: one of `DRAM_FORMATS`; that of DRAMsim3 has the cycle of the DRAM's clock in which the
            request was accepted.
        stream: takes lines of text.

    Raises:
        UserError: requests were not recorded, or without their addresses.
    """
    if _TABLE not in result.tables:
        raise UserError(
            f"{result.name}: requests to DRAM were not recorded: run it with --record dram"
        )
    missing = [name for name in _COLUMNS if name not in next(result.chunks(_TABLE))]
    if missing:
        raise UserError(
            f"{result.name}: its requests to DRAM have no column {missing[0]!r}, as an older "
            "gpusim recorded them: run it again"
        )
    config = by_dotted_key(result.config_toml)
    ratio = parse_hertz(str(config["dram.clock"])) / parse_hertz(str(config["clock"]))
    stream.writelines(
        _line(to, address, store, int(cycle * ratio)).encode()
        for address, store, cycle in _transactions(result)
    )


def _line(to: str, address: int, store: bool, clock: int) -> str:
    if to == "ramulator":
        return f"{address:#x} {'W' if store else 'R'}\n"
    if to == "ramulator2":
        return f"{'ST' if store else 'LD'} {address:#x}\n"
    return f"{address:#x} {'WRITE' if store else 'READ'} {clock}\n"


def _transactions(result: Result) -> Iterator[tuple[int, bool, int]]:
    """Address, whether it writes, and core cycle of each transaction, by cycle."""
    accepted = np.concatenate(
        [part["accepted"].to_numpy() for part in result.chunks(_TABLE, ["accepted"])]
    )
    order = np.argsort(accepted, kind="stable")
    rows = result.table(_TABLE, columns=list(_COLUMNS))
    for begin in range(0, len(order), _PIECE):
        yield from _of_rows(rows.iloc[order[begin : begin + _PIECE]])


def _of_rows(rows: pd.DataFrame) -> Iterator[tuple[int, bool, int]]:
    columns = (rows[name].tolist() for name in ("address", "kind", "sectors", "accepted"))
    for address, kind, sectors, cycle in zip(*columns, strict=True):
        touched = [address + SECTOR_BYTES * i for i in range(_SECTORS) if sectors >> i & 1]
        for block in dict.fromkeys(one // TRANSACTION_BYTES for one in touched):
            yield block * TRANSACTION_BYTES, kind == Kind.WRITEBACK, cycle
