"""What a user says about a trace beside its file: ``--set workload.KEY=VALUE``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import evolve, field, frozen

from gpusim.core.errors import UserError, nearest
from gpusim.core.warp_program import Buffer
from gpusim.traces.application import LEGACY, STREAMS, TraceApplication, made_buffer
from gpusim.traces.launch_needs import LaunchNeeds

FREE, RECORDED = "free", "recorded"
"""Paces of a trace: as fast as the machine can, or not before the times of its transactions."""

MOST_WARPS = 1 << 16
"""Warps that the accesses of one thread may be dealt to (our choice)."""

LANES = (1, 2, 4, 8, 16, 32)
"""Accesses of one thread that may be made one instruction of a warp."""

_ARRAY = re.compile(r"(?P<base>0[xX][0-9a-fA-F]+|\d+):(?P<bytes>0[xX][0-9a-fA-F]+|\d+)")


@frozen(eq=False, repr=False)
class TraceOptions:
    """How a trace is read; by default as it stands.

    Attributes:
        pace: `FREE` or `RECORDED`.
        needs: what its launches need of an SM, in place of its headers.
        arrays: its arrays, in place of those that it tells or that are inferred.
        lanes: of a trace of one thread, how many accesses in a row are one instruction of a warp.
        warps: of a trace of one thread, how many warps take turns with its instructions.
        streams: what becomes of the streams that it tells (`gpusim.traces.application.STREAMS`).
    """

    pace: str = FREE
    needs: LaunchNeeds = field(factory=LaunchNeeds)
    arrays: tuple[Buffer, ...] = ()
    lanes: int = 1
    warps: int = 1
    streams: str = LEGACY

    @property
    def spreads(self) -> bool:
        """Whether one thread's accesses are spread over lanes or warps."""
        return (self.lanes, self.warps) != (1, 1)

    def applied(self, application: TraceApplication) -> TraceApplication:
        """An application with what a user said in place of what its trace says."""
        changed = evolve(application, needs=self.needs, streams=self.streams)
        if not self.arrays:
            return changed
        return evolve(changed, buffers=self.arrays, names_all_arrays=False)


def trace_options(values: Mapping[str, object]) -> TraceOptions:
    """Options from the texts, or values, of ``--set workload.KEY=VALUE``.

    Raises:
        UserError: a key or a value is wrong.
    """
    for key in values:
        if key not in OPTIONS:
            raise UserError(
                f"--set workload.{key}: a trace has no parameter but {', '.join(OPTIONS)}"
                f"{nearest(key, OPTIONS)}"
            )
    ignored = values.get("ignore_resource_limits", False)
    if str(ignored).lower() not in {"true", "false"}:
        raise _wrong("ignore_resource_limits", ignored, "true or false")
    free = 0 if str(ignored).lower() == "true" else None
    registers = _number(values, "nregs", 0, 1 << 16)
    shared = _number(values, "shmem", 0, 1 << 30)
    pace = str(values.get("pace", FREE))
    if pace not in (FREE, RECORDED):
        raise _wrong("pace", pace, f"{FREE}, {RECORDED}")
    streams = str(values.get("streams", LEGACY))
    if streams not in STREAMS:
        raise _wrong("streams", streams, ", ".join(STREAMS))
    lanes = _number(values, "lanes", 1, LANES[-1]) or 1
    if lanes not in LANES:
        raise _wrong("lanes", lanes, ", ".join(map(str, LANES)))
    return TraceOptions(
        pace,
        LaunchNeeds(free if registers is None else registers, free if shared is None else shared),
        _arrays(values.get("arrays")),
        lanes,
        _number(values, "warps", 1, MOST_WARPS) or 1,
        streams,
    )


OPTIONS = (
    "pace",
    "nregs",
    "shmem",
    "ignore_resource_limits",
    "arrays",
    "lanes",
    "warps",
    "streams",
)
"""Keys of all options."""


def _number(values: Mapping[str, object], key: str, least: int, most: int) -> int | None:
    """A whole number, decimal or with ``0x``; None: nothing is said."""
    if key not in values:
        return None
    try:
        number = int(str(values[key]), 0)
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        raise _wrong(key, values[key], f"a whole number from {least} to {most}")
    return number


def _arrays(value: object) -> tuple[Buffer, ...]:
    """``BASE:BYTES``, one or several with commas between them; or such pairs."""
    if value is None:
        return ()
    parts = (
        [f"{base}:{size}" for base, size in value]
        if isinstance(value, (list, tuple))
        else str(value).split(",")
    )
    made: list[Buffer] = []
    for part in parts:
        found = _ARRAY.fullmatch(part.strip())
        if not found or not int(found["bytes"], 0):
            raise _wrong("arrays", part, "BASE:BYTES[,BASE:BYTES...], decimal or with 0x")
        try:
            made.append(
                made_buffer(f"array {len(made)}", int(found["base"], 0), int(found["bytes"], 0))
            )
        except ValueError as error:
            raise UserError(f"--set workload.arrays={part}: {error}") from error
    return tuple(made)


def _wrong(key: str, value: object, allowed: str) -> UserError:
    return UserError(f"--set workload.{key}={value}: allowed: {allowed}")
