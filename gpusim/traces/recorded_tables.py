"""What the tables of gpusim's own traces may say of applications and launches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gpusim.config.node import MOST_GPUS
from gpusim.traces.application import check_launch, made_buffer
from gpusim.traces.recorded_layout import NO_GPU

MOST_WARP = 1024
"""Threads of a warp (our choice): those of a whole block."""

Row = Mapping[str, Any]

_SIZES = ("blocks", "threads_per_block", "registers_per_thread", "shared_bytes")
_MOST_SLICES = 7
"""Slices of the largest MIG instance."""


def check_applications(rows: Sequence[Row]) -> None:
    """Refuse shares and instances that no workload has.

    Raises:
        ValueError: says which, and what is allowed.
    """
    if not rows:
        raise ValueError("it has no application")
    for number, row in enumerate(rows):
        share, instance = row["share"], row["instance"]
        if not (math.isnan(share) or 0 < share <= 1):
            raise ValueError(
                f"application {number} has the share {share}; more than 0 and at most 1 is allowed"
            )
        if not 0 <= instance <= _MOST_SLICES:
            raise ValueError(
                f"application {number} has an instance of {instance} slices; allowed: 0 to "
                f"{_MOST_SLICES}"
            )
    gpus = [row["gpu"] for row in rows]
    if len({gpu == NO_GPU for gpu in gpus}) > 1:
        raise ValueError("some applications name a GPU and some do not")
    for gpu in dict.fromkeys(gpus):
        shares = [row["share"] for row in rows if row["gpu"] == gpu]
        total = sum(share for share in shares if not math.isnan(share))
        if total > 1:
            raise ValueError(f"the shares add up to {total}; at most 1 is allowed")
    if len({bool(row["instance"]) for row in rows}) > 1:
        raise ValueError("some applications have an instance and some have none")
    if len({row["name"] for row in rows}) < len(rows):
        raise ValueError("two applications have one name")


def check_owners(table: str, rows: Sequence[Row], applications: int) -> None:
    """Refuse rows of applications that are not there.

    Raises:
        ValueError: says which.
    """
    for number, row in enumerate(rows):
        if row["application"] >= applications:
            raise ValueError(
                f"row {number} of {table} is of application {row['application']}; there are "
                f"{applications}, from 0"
            )


def check_gpus(tables: Mapping[str, Sequence[Row]]) -> None:
    """Refuse GPUs that no node has.

    Raises:
        ValueError: says which, and what is allowed.
    """
    for table, rows in tables.items():
        for number, row in enumerate(rows):
            if not NO_GPU <= row["gpu"] < MOST_GPUS:
                raise ValueError(
                    f"row {number} of {table} names GPU {row['gpu']}; allowed: 0 to "
                    f"{MOST_GPUS - 1}, or {NO_GPU} for none"
                )


def check_copy(row: Row, launches: int) -> None:
    """Refuse a copy of no launch, or of addresses that there are not.

    Raises:
        ValueError: says what is wrong.
    """
    if not 0 <= row["launch"] < launches:
        raise ValueError(f"a copy of launch {row['launch']}; there are {launches}, from 0")
    for end in ("source", "target"):
        made_buffer(end, row[end], row["bytes"])


def check_recorded_launch(number: int, row: Row) -> None:
    """Refuse a launch that no GPU can have.

    Raises:
        ValueError: says which, and how large it may be.
    """
    try:
        check_launch(*(row[name] for name in _SIZES))
    except ValueError as error:
        raise ValueError(f"launch {number}: {error}") from error
    if row["threads_per_block"] < 1:
        raise ValueError(f"launch {number}: a block of no threads")
