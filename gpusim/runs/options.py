"""The options of a run: each is one field here, for Python, commands and sweeps alike."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import Attribute, evolve, field, fields, frozen

from gpusim.core.errors import UserError, nearest
from gpusim.results.event_tables import check_records
from gpusim.runs.amounts import (
    Blocks,
    Instructions,
    Launches,
    LaunchSample,
    Windows,
    rules_as_text,
)

_HDF5_ENDINGS = ("", ".h5", ".hdf5", ".hdf", ".nc", ".nc4")
"""Endings of names of results; readers of netCDF read them, too."""

_MOST_CORES = 1024
"""Processes of a run."""


@frozen(eq=False, repr=False)
class OptionFacts:
    """How commands and sweeps take an option.

    Attributes:
        help: one sentence for the command line.
        kind: type of a value on the command line: `str`, `int`, `bool`, `Path` or `list`.
        flag: its flag; empty: ``--`` and the field's name.
        short: a flag of one letter; empty: none.
        writes: whether it names a file that the run writes, one for each run.
        decides: whether it can change what is simulated or what is kept of it.
    """

    help: str
    kind: type = str
    flag: str = ""
    short: str = ""
    writes: bool = False
    decides: bool = False


def _facts(help_text: str, kind: type = str, **facts: Any) -> dict[str, OptionFacts]:
    """Metadata of a field."""
    return {"facts": OptionFacts(help_text, kind, **facts)}


def _names(given: object) -> tuple[str, ...]:
    """Names from texts with commas between them."""
    texts = [given] if isinstance(given, str) else [str(text) for text in _list(given)]
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())


def _list(given: object) -> list[object]:
    if given is None:
        return []
    if isinstance(given, list | tuple):
        return list(given)
    raise TypeError(f"{given!r} is no list")


def _rules(given: object) -> tuple[str, ...]:
    return () if given is None else rules_as_text(given)


def _skip(given: object) -> str:
    return _text(given, Launches, Blocks, Instructions)


def _sample(given: object) -> str:
    return _text(given, Windows, LaunchSample)


def _text(given: object, *allowed: type) -> str:
    """The text of an option, from that text or from a value of one of these types."""
    if given is None:
        return ""
    if isinstance(given, (str, *allowed)):
        return str(given)
    names = ", ".join(one.__name__ for one in allowed)
    raise TypeError(f"{given!r}: must be a text or one of {names}")


def _path(given: object) -> Path | None:
    if given is None or isinstance(given, Path):
        return given
    if isinstance(given, str | os.PathLike):
        return Path(os.fspath(given)) if os.fspath(given) else None
    raise TypeError(f"{given!r} is no path")


@frozen(kw_only=True)
class RunOptions:
    """What is asked of a run beside its machine and its workload.

    Attributes:
        record: event tables to keep, any of ``gpusim list records``.
        output: HDF5 file of the result; None keeps it in memory.
        log: file of JSON lines that tell of the run while it runs, see `gpusim.runs.run_log`.
        log_every: simulated cycles between two of them; None: 10,000.
        events: file of what happens to pages meanwhile, see `gpusim.runs.page_events`.
        until: rules by which applications are stopped before they end: `Cycles`, `Instructions`,
            `IpcStable`, a list of them, or a mapping from applications to rules; the result then
            says that it is a part.
        skip: what of each application is executed first, without a clock and with warm caches:
            `Launches`, `Blocks` or `Instructions`; the result then says that it is a part.
        sample: `Windows` that are timed, to estimate the whole; what is between them is skipped.
            Or a `LaunchSample`: a few launches of each kind are timed, no other is executed.
        start: file of `gpusim.checkpoint`, from which the run starts instead of skipping.  Where
            neither `until`, `skip`, `sample` nor `start` is given, the workload tells them.
        cores: processes that the run may use: machines on which parts of a `LaunchSample` are timed
            run side by side; or the two sides of a machine with ``crossbar.order = "memory-first"``
            do.  Results are the same.
        cost: whether to measure what translation costs: the same work is run without page faults,
            without page walks and without all translation, before the run itself.

    Raises:
        UserError: an option has a value that it cannot have.
    """

    record: tuple[str, ...] = field(
        default=(),
        converter=_names,
        metadata=_facts(
            "Event tables to keep, comma-separated; see gpusim list records.", list, decides=True
        ),
    )
    output: Path | None = field(
        default=None,
        converter=_path,
        metadata=_facts("HDF5 file of the result.", Path, short="-o", writes=True),
    )
    log: Path | None = field(
        default=None,
        converter=_path,
        metadata=_facts("File of JSON lines, written while the run goes on.", Path, writes=True),
    )
    log_every: int | None = field(
        default=None,
        metadata=_facts("Simulated cycles between two records of the log (default 10_000).", int),
    )
    events: Path | None = field(
        default=None,
        converter=_path,
        metadata=_facts("File of page events: shootdowns, remaps, probes.", Path, decides=True),
    )
    until: tuple[str, ...] = field(
        default=(),
        converter=_rules,
        metadata=_facts(
            "Stop before the end: 2Mcycles, 500kinstructions, ipc-stable(2 %, 20 windows); "
            "NAME=RULE is for one application.",
            list,
            decides=True,
        ),
    )
    skip: str = field(
        default="",
        converter=_skip,
        metadata=_facts(
            "Part to execute first without timing, keeping caches warm: 3launches, "
            "1kblocks, 5Minstructions.",
            decides=True,
        ),
    )
    sample: str = field(
        default="",
        converter=_sample,
        metadata=_facts(
            "Time sampled windows only and estimate the whole run: "
            "windows=30,length=100kinstructions,warm=50kinstructions[,by=launch][,seed=0], "
            "whole launches: windows=10,length=launch[,seed=0], or a few launches of each kind, "
            "and no other executed: launches=3[,waves=4][,warm=4][,seed=0].",
            decides=True,
        ),
    )
    start: Path | None = field(
        default=None,
        converter=_path,
        metadata=_facts(
            "Start from a checkpoint: a file of gpusim checkpoint.",
            Path,
            flag="--from",
            decides=True,
        ),
    )
    cores: int = field(
        default=1,
        metadata=_facts(
            "Cores that a run may use (default 1): with --sample launches=N, whose N parts run "
            "side by side, or two of a machine with crossbar.order=memory-first.",
            int,
        ),
    )
    cost: bool = field(
        default=False,
        metadata=_facts(
            "Measure what translation costs: run the same work without it, too, part by part.",
            bool,
            decides=True,
        ),
    )

    def __attrs_post_init__(self) -> None:
        check_records(self.record)
        if self.output is not None and self.output.suffix not in _HDF5_ENDINGS:
            raise UserError(
                f"--output {self.output}: a result is an HDF5 file: write "
                f"{self.output.with_suffix('.h5')}"
            )
        if not 1 <= self.cores <= _MOST_CORES:
            raise UserError(f"--cores {self.cores}: must be a whole number from 1 to {_MOST_CORES}")
        if self.log_every is not None and self.log_every < 1:
            raise UserError(f"--log-every {self.log_every}: must be at least 1")
        if self.log_every is not None and self.log is None:
            raise UserError(
                f"--log-every {self.log_every}: needs a file to write to, --log FILE.jsonl"
            )

    @property
    def chosen(self) -> dict[str, Any]:
        """The options that differ from their defaults, by name."""
        return {
            one.name: value
            for one in fields(RunOptions)
            if (value := getattr(self, one.name)) != one.default
        }

    @property
    def stops_or_skips(self) -> bool:
        """Whether not all of the programs is timed."""
        return bool(self.until or self.skip or self.sample or self.start)

    def of_run(self, ending: str) -> RunOptions:
        """The options of one of several runs, whose ``run.h5`` is then ``run.ENDING.h5``."""
        return evolve(
            self,
            **{
                name: path.with_name(f"{path.stem}.{ending}{path.suffix}")
                for name, path in self.chosen.items()
                if facts_of(name).writes
            },
        )

    def arguments(self) -> tuple[str, ...]:
        """The options as a command line has them."""
        parts: list[str] = []
        for name, value in self.chosen.items():
            for one in value if isinstance(value, tuple) else (value,):
                parts += [flag_of(name)] if one is True else [flag_of(name), str(one)]
        return tuple(parts)


def option_fields() -> tuple[Attribute[Any], ...]:
    """All options, in the order of the command line."""
    return tuple(fields(RunOptions))


def facts_of(name: str) -> OptionFacts:
    """How commands and sweeps take the option `name`."""
    facts: OptionFacts = getattr(fields(RunOptions), name).metadata["facts"]
    return facts


def flag_of(name: str) -> str:
    """The flag of the option `name`, such as ``--log-every``."""
    return facts_of(name).flag or f"--{name.replace('_', '-')}"


def run_options(given: Mapping[str, Any]) -> RunOptions:
    """Options by name.

    Raises:
        UserError: there is no such option, or it cannot have its value.
    """
    names = [one.name for one in option_fields()]
    for name in given:
        if name not in names:
            raise UserError(
                f"a run has no option {name!r}{nearest(name, names)}; allowed: {', '.join(names)}"
            )
    for name, value in given.items():
        _check(name, value)
    return RunOptions(**given)


_PLAIN = {int: "a whole number", bool: "true or false"}
"""Types whose values are taken as they are."""


def _check(name: str, value: Any) -> None:
    """Raises `UserError` if an option cannot be made of a value."""
    kind = facts_of(name).kind
    if kind in _PLAIN and not (value is None or type(value) is kind):
        raise UserError(f"{flag_of(name)} {value!r}: must be {_PLAIN[kind]}")
    convert: Any = getattr(fields(RunOptions), name).converter
    try:
        if convert is not None:
            convert(value)
    except (TypeError, ValueError) as error:
        raise UserError(f"{flag_of(name)}: {error}") from error
