"""The tables and keys of a workload file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen
from attrs.validators import ge, gt, in_, le, matches_re, optional

SCALES = ("smoke", "quick", "paper")
"""Sizes of a workload: a simulation of seconds, of minutes, and the papers' sizes."""

PATTERNS = (
    "streaming",
    "strided",
    "stencil",
    "tiled dense",
    "separable filter",
    "layered stream",
    "butterfly",
    "wavefront",
    "reduction",
    "histogram scatter",
    "uniform random",
    "graph gather",
    "tree gather",
    "unstructured gather",
    "sparse matrix",
    "clustering scan",
    "pointer chase",
)
"""Classes of access patterns."""

RELAUNCH_RULES = ("never", "until-all-have-run")
"""What an application does that has ended while others run: nothing, or start again."""


@frozen
class ApplicationTable:
    """An application: a program, a trace, or the application of another workload.

    Attributes:
        program: name of a program; the tables of the scales hold its parameters.
        workload: name or path of a workload with one application; the tables of the scales hold
            parameters that replace its own.
        trace: path of a trace file.
        name: for results; None: that of the program, workload or trace.
        share: share of the SMs that it asks for; None: an equal part of what is left.
        instance: size of its MIG instance, ``"1g"`` to ``"7g"``, instead of a share.
        gpu: the GPU of a node that it runs on, numbered from 0 on; its share is of that GPU's SMs.
            None: it runs on all.
        smoke, quick, paper: parameters by scale; None: there is no such scale.
    """

    program: str | None = None
    workload: str | None = None
    trace: str | None = None
    name: str | None = None
    share: float | None = field(default=None, validator=optional([gt(0), le(1)]))
    instance: str | None = field(default=None, validator=optional(matches_re("[1-7]g")))
    gpu: int | None = field(default=None, validator=optional(ge(0)))
    smoke: Mapping[str, Any] | None = None
    quick: Mapping[str, Any] | None = None
    paper: Mapping[str, Any] | None = None

    def __attrs_post_init__(self) -> None:
        if sum(source is not None for source in (self.program, self.workload, self.trace)) != 1:
            raise ValueError("must have exactly one of the keys program, workload, trace")
        if self.share is not None and self.instance is not None:
            raise ValueError("must have at most one of the keys share, instance")
        if self.gpu is not None and self.instance is not None:
            raise ValueError("must have at most one of the keys gpu, instance")


@frozen
class Timed:
    """How much of a workload is timed; nothing said: all of it.

    Attributes:
        until: stop rules, as for ``gpusim run --until``.
        skip: what is skipped first, as for ``--skip``.
        sample: which windows are timed, as for ``--sample``.
        start: checkpoint to start from, as for ``--from``.
    """

    until: tuple[str, ...] = ()
    skip: str = ""
    sample: str = ""
    start: str = ""


@frozen
class TimedTable:
    """How much of a workload is timed, by scale; nothing said: all of it."""

    smoke: Timed = Timed()
    quick: Timed = Timed()
    paper: Timed = Timed()


@frozen
class WorkloadTable:
    """A workload: the whole of a file, or an entry of a paper's collection.

    Attributes:
        applications: in the order of their address spaces.
        description, suite, pattern: what it is, where it is from, its class of access pattern.
        relaunch: see `RELAUNCH_RULES`.
        timed: how much of it is timed.
        stated: what a paper says about it, by name.
    """

    applications: tuple[ApplicationTable, ...]
    description: str = ""
    suite: str = ""
    pattern: str = field(default="", validator=in_(("", *PATTERNS)))
    relaunch: str = field(default="never", validator=in_(RELAUNCH_RULES))
    timed: TimedTable = TimedTable()
    stated: Mapping[str, Any] = field(factory=dict)


@frozen
class CollectionTable:
    """The workloads of a paper, by the names that it gives them.

    Attributes:
        paper: its title.
        model: the model that stands for its GPU.
        workloads: tables as of workload files.
    """

    paper: str
    model: str
    workloads: Mapping[str, Mapping[str, Any]]
