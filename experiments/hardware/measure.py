"""One number from one run of a microbenchmark on a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.config.load import LoadedModel
from gpusim.core.interleaving import RANDOM
from gpusim.machine import Machine
from gpusim.machine.load import load_model
from gpusim.programs.micro.bandwidth import OPERATIONS, BandwidthParameters
from gpusim.results.result import Result
from gpusim.runs.simulate import simulate
from gpusim.workloads.builder import ApplicationSpec, ProgramStart
from gpusim.workloads.workload import load_workload

KIB, MIB = 1 << 10, 1 << 20

LATENCY_LOADS = 512
LEAD = 4096
RUN_LOADS = 1_000_000
"""Settings of te42kyfo's gpu-latency, whose curves are what models are held against."""
HELD, HELD_AT_RANDOM = 1.25, 2.0
"""A chain of more than this times the last cache finds nothing of itself there, warm or not; where
a hash fills sets unevenly, some are not full yet."""
TLB_STEPS = "tlb-steps"
L1_LAPS = 8
L1_MISSED = 128 * KIB
ROUND_BYTES = 8 * KIB
ROUND_OF_A_WARP = 512
"""Bytes that no warp's loads of 8 bytes a thread begin in the middle of a line of."""
BLOCKS_AN_SM = 2
L2_ROUNDS, L2_GENERATIONS = 4, 4
STREAM_GENERATIONS, WRITE_GENERATIONS = 8, 32
"""No warp waits for a store, so stores soon fill what buffers and caches can hold."""
WARM_OF_L2 = 1.25


LINE = 128
"""Bytes from node to node of a chase, if nothing else is said."""


@frozen
class Point:
    """A measurement to take, or one taken: `value` in the unit of its test.

    Attributes:
        test: one of `TESTS`.
        footprint: bytes of all arrays; what else is varied, where nothing has a footprint.
        stride: bytes from one node of a chase to the next, or of a word.
        variant: of the model; empty: the model itself.
    """

    test: str
    footprint: int
    stride: int = LINE
    variant: str = ""


UNCACHED = {"size": "512B", "ways": 4, "line": "128B", "unified": "none", "carve_outs": "none"}
"""An L1 cache in which no chase over more than four lines finds anything."""


@cache
def model_of(name: str, variant: str = "", *, uncached: bool = False) -> LoadedModel:
    """A model, read once a process; `uncached`: with hardly any L1 cache."""
    smaller = {f"l1.{key}": value for key, value in UNCACHED.items()} if uncached else {}
    return load_model(name, variants=[variant] if variant else [], overrides=smaller)


def measure(name: str, point: Point) -> float:
    """Take a measurement on the model of that name."""
    stepwise = point.test == TLB_STEPS
    return TESTS[point.test](model_of(name, point.variant, uncached=stepwise), point)


def _run(model: LoadedModel, program: str, parameters: Mapping[str, object]) -> Result:
    return simulate(model, load_workload(program, "smoke", overrides=parameters))


def _cycles(result: Result, kernel: str) -> int:
    """Cycles of the launch of that name."""
    launches = result.launches
    (place,) = np.flatnonzero(launches["kernel"] == kernel)
    begin, end = launches["begin"].to_numpy(), launches["end"].to_numpy()
    return int(end[place] - begin[place])


def _working(model: LoadedModel, result: Result, kernel: str) -> int:
    """A kernel's cycles without the launch overhead, which measured seconds do not include."""
    return _cycles(result, kernel) - model.config.launch_overhead.cycles(model.config.clock)


def latency(model: LoadedModel, point: Point) -> float:
    """Cycles of a load in a random chase, in the mean over a run as published programs have them.

    A run has `RUN_LOADS`, or a whole lap if that is more, and begins at the first node again: if
    it ends within a lap, the begin of the chain is what the run before has left in the caches.
    """
    chain = {"footprint": point.footprint, "stride": point.stride}
    nodes = point.footprint // point.stride
    uneven = model.config.l2.hash == RANDOM
    dram = model.config.dram
    side = 0 if dram.memory_side is None else dram.channels * int(dram.memory_side.slice)
    held = (HELD_AT_RANDOM if uneven else HELD) * (int(model.config.l2.size) + side)
    inside = _chase(model, {**chain, "warm": nodes if point.footprint <= held else 0})
    cut = RUN_LOADS % nodes if nodes < RUN_LOADS else 0
    if nodes <= LEAD or not RUN_LOADS // 100 <= cut <= held // point.stride:
        return inside
    begin = _chase(model, {**chain, "cut": cut, "warm": cut})
    return (cut * begin + (RUN_LOADS - cut) * inside) / RUN_LOADS


def tlb_latency(model: LoadedModel, point: Point) -> float:
    """Cycles of a load in a random chase over few lines, so that what grows is due to pages alone.

    There are as few of them as miss the L1 cache.
    """
    line = int(model.config.l1.line)
    lines = 4 * int(model.config.l1.size) // line
    stride = max(line, 1 << (point.footprint // lines).bit_length() - 1)
    chain = {"footprint": point.footprint, "stride": stride, "warm": point.footprint // stride}
    return _chase(model, {**chain, "skew": line if stride > line else 0})


def tlb_step(model: LoadedModel, point: Point) -> float:
    """Cycles of a load in a chase over one line in each entry of a TLB, in order.

    So do Karnagel et al. (2017); theirs has enough lines to miss the L1 cache, which the model's,
    of hardly any entries, has not.
    """
    line = int(model.config.l1.line)
    return _chase(
        model,
        {
            "footprint": point.footprint,
            "stride": point.stride,
            "skew": line,
            "order": "sequential",
            "warm": point.footprint // point.stride,
        },
    )


def _chase(model: LoadedModel, parameters: Mapping[str, object]) -> float:
    settings = {
        "loads": LATENCY_LOADS,
        "lead": LEAD,
        "warm": 0,
        "warmers": 1,
        "sms": model.config.sm.count,
        "page": int(model.config.memory.page),
        **parameters,
    }
    with _run(model, "chase", settings) as result:
        return (_cycles(result, "chase") - _cycles(result, "lead")) / LATENCY_LOADS


def l1_bandwidth(model: LoadedModel, point: Point) -> float:
    """GB/s of all SMs together, each reading the same array again and again.

    What twice as many bytes take longer, so that what is cold in each launch does not count.
    Of an array that no L1 cache holds, not all is read: every access misses, wherever it is.
    """
    footprint = max(point.footprint // ROUND_OF_A_WARP, 1) * ROUND_OF_A_WARP
    size = int(model.config.l1.size)
    if footprint <= size:
        piece = max(L1_LAPS * footprint, 64 * KIB)
    else:
        piece = 2 * footprint if footprint <= 2 * size else L1_MISSED
    piece = -(-piece // ROUND_BYTES) * ROUND_BYTES
    once, twice = (
        _stream(
            model,
            footprint=footprint,
            blocks=model.config.sm.count,
            threads=1024,
            piece=times * piece,
            together=True,
            warm=-(-footprint // (times * piece)),
        )
        for times in (1, 2)
    )
    return (twice.moved - once.moved) / (twice.seconds - once.seconds) / 1e9


def l2_bandwidth(model: LoadedModel, point: Point) -> float:
    """GB/s of all SMs together, whose blocks read one piece of an array after the other."""
    return _streamed(model, point.footprint, "read", L2_ROUNDS, L2_GENERATIONS)


def streamed(model: LoadedModel, point: Point, operation: str) -> float:
    """GB/s of all SMs together, whose threads each handle one element of the arrays.

    `operation` is one of `gpusim.programs.micro.bandwidth.OPERATIONS`.
    """
    loads, _ = OPERATIONS[operation]
    generations = STREAM_GENERATIONS if loads else WRITE_GENERATIONS
    return _streamed(model, point.footprint, operation, 1, generations)


def _streamed(
    model: LoadedModel, footprint: int, operation: str, rounds: int, generations: int
) -> float:
    """GB/s of the middle of a stream, when blocks begin as others end.

    The first launch leaves in the L2 cache what a stream that has long been running would.
    Each thread handles eight elements a round, and each SM has two blocks at a time, for which its
    registers suffice.
    """
    sm = model.config.sm
    threads = 1024 if sm.max_threads >= 2048 else 512
    piece = rounds * 8 * threads
    arrays = sum(OPERATIONS[operation])
    array = max(footprint // arrays // 1024 * 1024, 1024)
    warm = min(array, round(WARM_OF_L2 * int(model.config.l2.size) / arrays))
    return _stream(
        model,
        footprint=array,
        operation=operation,
        threads=threads,
        piece=piece,
        registers=sm.registers // (BLOCKS_AN_SM * threads),
        warm=-(-warm // piece),
        blocks=generations * BLOCKS_AN_SM * sm.count,
    ).steady


@frozen
class _Stream:
    """What the second launch of a bandwidth program did.

    Attributes:
        moved: bytes.
        seconds: it took.
        steady: GB/s between the end of as many accesses as the blocks have that the SMs hold, and
            that of as many before the last.
    """

    moved: int
    seconds: float
    steady: float


def _stream(model: LoadedModel, **parameters: object) -> _Stream:
    workload = load_workload("bandwidth", "smoke", overrides=parameters)
    (application,) = workload.applications
    per_block = _parameters(application).bytes_a_block
    ends: list[int] = []

    def watch(machine: Machine) -> None:
        for sm in machine.sms:
            sm.lsu.on_request.listen(lambda _request, _issued, end: ends.append(end))

    with simulate(model, workload, attach=watch) as result:
        blocks = int(result.launches["blocks"].iloc[-1])
        clock = float(model.config.clock)
        seconds = _working(model, result, "stream") / clock
        begin = int(result.launches["begin"].iloc[-1])
        done = np.sort([end for end in ends if end > begin])
        held = BLOCKS_AN_SM * model.config.sm.count / blocks
        steady = per_block * blocks * _rate(done, held) * clock / 1e9
        return _Stream(per_block * blocks, seconds, steady)


def _parameters(application: ApplicationSpec) -> BandwidthParameters:
    """The parameters that a workload gives the program."""
    assert isinstance(application.start, ProgramStart)
    parameters = application.start.parameters
    assert isinstance(parameters, BandwidthParameters)
    return parameters


def _rate(ends: NDArray[np.int64], held: float) -> float:
    """The part of all accesses that ends in a cycle, without the first and the last `held` ones.

    `held` of them are those of the blocks that run at a time: whole generations of blocks are left.
    """
    edge = round(held * len(ends))
    if len(ends) < 3 * edge:
        return float("nan")
    middle = len(ends) - 2 * edge
    return float(middle / len(ends) / (ends[-edge - 1] - ends[edge - 1]))


def launch_cost(model: LoadedModel, point: Point) -> float:
    """Cycles of an empty kernel of ``point.footprint`` blocks, from one launch to the next."""
    count = 4
    with _run(model, "launches", {"count": count, "blocks": point.footprint}) as result:
        begins = result.launches["begin"].to_numpy()
        return float(begins[-1] - begins[0]) / (count - 1)


def atomic_rate(model: LoadedModel, point: Point) -> float:
    """Additions a cycle, of all SMs together, to ``point.footprint`` neighbouring words."""
    blocks, threads, times = 2 * model.config.sm.count, 256, 2
    settings = {"cells": point.footprint, "blocks": blocks, "threads": threads, "times": times}
    with _run(model, "atomic_adds", settings) as result:
        return blocks * threads * times / _working(model, result, "add")


def camping(model: LoadedModel, point: Point) -> float:
    """GB/s of lines ``point.footprint`` bytes apart: few banks and channels hold them, or all."""
    stride = point.footprint
    run = _stream(
        model,
        footprint=stride * 4096,
        blocks=model.config.sm.count,
        threads=256,
        piece=256 * 8 * 16,
        stride=stride,
    )
    return run.moved / run.seconds / 1e9


def stride_passes(model: LoadedModel, point: Point, **elements: object) -> float:
    """Cycles of a warp's load that hits the L1 cache, of lanes ``point.footprint`` elements apart.

    The more rounds of two that a block goes, the more it takes: lines are fetched in the first.
    """
    rounds, loads = (8, 24), 8 * 1024 // 32
    elements = elements or {"stride": point.footprint}
    ends = []
    for number in rounds:
        settings = {**elements, "word": point.stride, "rounds": number}
        with _run(model, "strides", settings) as result:
            ends.append(_working(model, result, "strides"))
    return (ends[1] - ends[0]) / ((rounds[1] - rounds[0]) * loads)


def row_passes(model: LoadedModel, point: Point) -> float:
    """The same of lanes in rows of ``point.footprint`` neighbours."""
    return stride_passes(model, point, width=point.footprint)


TESTS: dict[str, Callable[[LoadedModel, Point], float]] = {
    "latency": latency,
    "tlb": tlb_latency,
    TLB_STEPS: tlb_step,
    "l1-bandwidth": l1_bandwidth,
    "l2-bandwidth": l2_bandwidth,
    **{f"stream-{name}": partial(streamed, operation=name) for name in OPERATIONS},
    "launch": launch_cost,
    "atomics": atomic_rate,
    "camping": camping,
    "strides": stride_passes,
    "rows": row_passes,
}
"""How each test measures."""

UNITS = {
    "latency": "cycles",
    "tlb": "cycles",
    TLB_STEPS: "cycles",
    "launch": "cycles",
    "atomics": "additions a cycle",
    "strides": "cycles",
    "rows": "cycles",
}
"""Units of the tests whose unit is not GB/s."""

PARAMETERS = {
    "launch": "blocks",
    "atomics": "words",
    "camping": "stride in bytes",
    "strides": "stride in elements",
    "rows": "elements of a row",
}
"""What is varied in the tests that do not vary a footprint."""
