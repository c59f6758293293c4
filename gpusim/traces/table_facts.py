"""The JSON file beside a table: names, geometry and needs of its kernels, all optional."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

from attrs import frozen

from gpusim.core.errors import UserError
from gpusim.core.untrusted import is_file, untrusted
from gpusim.traces.application import check_launch

WARP_SIZES = (32, 64)


@frozen
class KernelFacts:
    """One launch, as a text file beside the trace describes it; 0: not stated there.

    Attributes:
        name: the kernel's name.
        blocks: thread blocks.
        threads: of a block.
        registers: 32-bit registers of a thread.
        shared_bytes: shared memory of a block.
    """

    name: str
    blocks: int = 0
    threads: int = 0
    registers: int = 0
    shared_bytes: int = 0


@frozen
class TableFacts:
    """A whole table.

    Attributes:
        path: the JSON file.
        name: of the workload.
        warp_size: lanes of a wavefront.
        kernels: in launch order; None: the file does not list them.
    """

    path: Path
    name: str
    warp_size: int = 64
    kernels: tuple[KernelFacts, ...] | None = None


def read_facts(table: Path) -> TableFacts:
    """What ``NAME.json`` states of the table ``NAME.npz``.

    Its keys: ``name``; ``warp_size``, 32 or 64 (if absent 64, a wavefront); ``kernels``, a list in
    launch order with, for each, ``name``, ``grid`` and ``workgroup`` (three numbers of threads
    each), ``num_workgroups`` (instead of ``grid``), ``vgprs``, ``lds_bytes``.

    Raises:
        UserError: the file is there, but wrong.
    """
    path = table.with_suffix(".json")
    if not is_file(path):
        return TableFacts(path, table.stem)
    with untrusted(path):
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"{path}: damaged: {error}") from error
    if not isinstance(data, dict):
        raise _wrong(path, "", data, "an object")
    name = data.get("name", table.stem)
    if not isinstance(name, str) or not name:
        raise _wrong(path, "name", name, "a text")
    warp_size = data.get("warp_size", 64)
    if type(warp_size) is not int or warp_size not in WARP_SIZES:
        raise _wrong(path, "warp_size", warp_size, ", ".join(map(str, WARP_SIZES)))
    kernels = data.get("kernels")
    if kernels is None:
        return TableFacts(path, name, warp_size)
    if not isinstance(kernels, list):
        raise _wrong(path, "kernels", kernels, "a list of objects")
    return TableFacts(
        path, name, warp_size, tuple(_kernel(path, index, one) for index, one in enumerate(kernels))
    )


def _kernel(path: Path, index: int, data: Any) -> KernelFacts:
    key = f"kernels[{index}]"
    if not isinstance(data, dict):
        raise _wrong(path, key, data, "an object")
    name = data.get("name", f"kernel {index}")
    if not isinstance(name, str):
        raise _wrong(path, f"{key}.name", name, "a text")
    workgroup = _three(path, f"{key}.workgroup", data.get("workgroup"))
    grid = _three(path, f"{key}.grid", data.get("grid"))
    blocks = 0
    if grid and workgroup:
        blocks = prod(-(-all_ // one) for all_, one in zip(grid, workgroup, strict=True))
    numbers = {what: data.get(what, 0) for what in ("num_workgroups", "vgprs", "lds_bytes")}
    for what, value in numbers.items():
        if type(value) is not int or value < 0:
            raise _wrong(path, f"{key}.{what}", value, "0 or more")
    found = KernelFacts(
        name=name,
        blocks=numbers["num_workgroups"] or blocks,
        threads=prod(workgroup) if workgroup else 0,
        registers=numbers["vgprs"],
        shared_bytes=numbers["lds_bytes"],
    )
    try:
        check_launch(found.blocks, found.threads, found.registers, found.shared_bytes)
    except ValueError as error:
        raise UserError(f"{path}: {key}: {error}") from error
    return found


def _three(path: Path, key: str, value: Any) -> Sequence[int]:
    if value is None:
        return ()
    if (
        not isinstance(value, list)
        or len(value) != 3
        or any(type(one) is not int or one < 1 for one in value)
    ):
        raise _wrong(path, key, value, "three numbers of 1 or more")
    return value


def _wrong(path: Path, key: str, value: Any, allowed: str) -> UserError:
    where = f"{path}: {key}" if key else str(path)
    return UserError(f"{where}: {_short(value)}; allowed: {allowed}")


def _short(value: Any) -> str:
    """A value for a message; numbers of thousands of digits cannot be written out."""
    try:
        return json.dumps(value)[:60]
    except ValueError:
        return "a number of thousands of digits"
