"""Kernels, blocks and warps that access no memory, or do nothing at all: in traces of all formats,
and in kernels of our own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from attrs import define
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim import characterize, load_model, load_workload, simulate
from gpusim.core.streams import IN_TURN, StreamUse
from gpusim.core.warp_program import INACTIVE, LaneChunk, Launch, Op
from gpusim.programs.kernel import Kernel, Program
from gpusim.programs.tracer import BlockTracer, Shape
from gpusim.traces.open_trace import open_trace
from gpusim.traces.recorder import record_trace
from gpusim.traces.survey import survey_application
from gpusim.workloads.builder import ApplicationSpec
from gpusim.workloads.sampling import SampledProgram
from gpusim.workloads.workload import Workload
from tests.examples import examples
from tests.quick import quick
from tests.traces import writing_macsim as macsim
from tests.traces.test_nvbit import launch as nvbit_launch
from tests.traces.test_nvbit import record as nvbit_record
from tests.traces.writing import EXIT, block, header, write

ADD = "0030 ffffffff 1 R8 FADD 2 R4 R6 0 0"
NO_LANE = "0010 00000000 1 R4 LDG.E 1 R2 4 1 0x0 4 0"
MEMORY = "0010 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f1000000000 4 0"

Write = Callable[[Path], Path]


def traceg(*blocks: str) -> Write:
    text = header(grid__dim=f"({max(len(blocks), 1)},1,1)", block__dim="(64,1,1)")
    return lambda folder: write(folder / "k.traceg", text + "".join(blocks))


def nvbit(*lines: str) -> Write:
    return lambda folder: write(folder / "mem.txt", "\n".join([*lines, ""]))


def mac(warps: dict[int, list[bytes]]) -> Write:
    return lambda folder: macsim.write_kernel(folder / "K", warps)


def table(columns: dict[str, list[int]], kernels: int | None = None) -> Write:
    required = ("kernel", "workgroup", "wavefront", "vaddr", "is_write")
    told = [{"name": "k", "grid": [64, 1, 1], "workgroup": [32, 1, 1]}] * (kernels or 0)
    facts = {"warp_size": 32} if kernels is None else {"warp_size": 32, "kernels": told}

    def save(folder: Path) -> Path:
        path = folder / "t.npz"
        np.savez(path, **{name: columns.get(name, []) for name in {*required, *columns}})
        path.with_suffix(".json").write_text(json.dumps(facts))
        return path

    return save


ROW = {"kernel": [1], "workgroup": [1], "wavefront": [0], "vaddr": [4096], "is_write": [0]}
SCALAR = {
    f"s_{name}": [0]
    for name in ("kernel", "workgroup", "wavefront", "wait_vm", "wait_lgkm", "barriers")
}

TRACES: dict[str, tuple[Write, int]] = {
    "traceg, no block": (traceg(), 0),
    "traceg, empty block": (traceg(block([])), 0),
    "traceg, one empty block": (
        traceg(block([], "0,0,0"), block([[MEMORY]] * 2, "1,0,0"), block([[], []], "2,0,0")),
        2,
    ),
    "traceg, empty warp": (traceg(block([[], [MEMORY, EXIT]])), 2),
    "traceg, arithmetic only": (traceg(block([[ADD, EXIT], [EXIT]])), 3),
    "traceg, no active lane": (traceg(block([[NO_LANE], [NO_LANE, EXIT]])), 3),
    "nvbit, empty kernels": (
        nvbit(nvbit_launch(0), nvbit_launch(1), nvbit_record("1,0,0", 1, "LDG.E", {0: 8}, 1)),
        1,
    ),
    "nvbit, empty kernel": (nvbit(nvbit_launch()), 0),
    "nvbit, no active lane": (nvbit(nvbit_launch(), nvbit_record("0,0,0", 0, "LDG.E", {})), 1),
    "nvbit, no memory": (nvbit(nvbit_launch(), nvbit_record("0,0,0", 0, "LDC", {0: 8})), 0),
    "macsim, empty kernel": (mac({}), 0),
    "macsim, empty warps": (mac({0: [], 1: [], 1 << 16: [macsim.record(macsim.MOV)]}), 1),
    "macsim, arithmetic only": (mac({0: [macsim.record(macsim.MOV)], 1: []}), 1),
    "macsim, no active lane": (mac({0: [macsim.record(macsim.LDG, load=1, mask=0)]}), 1),
    "table, empty kernels": (table({}, 2), 0),
    "table, empty kernel and block": (table(ROW), 1),
    "table, empty wavefront": (
        table(
            {
                **ROW,
                "kernel": [0],
                "workgroup": [0],
                "wf_kernel": [0, 0],
                "wf_workgroup": [0, 0],
                "wf_insts": [1, 0],
            }
        ),
        1,
    ),
    "table, arithmetic only": (
        table({"wf_kernel": [0, 0], "wf_workgroup": [0, 0], "wf_insts": [2, 5]}),
        7,
    ),
    "table, scalar loads only": (table({**SCALAR, "s_inst_idx": [3], "inst_idx": []}), 4),
}
"""Each with its number of instructions."""


def run(workload: Workload) -> tuple[int, str]:
    """Its instructions and digest; its counts can be written as JSON, too."""
    with simulate(load_model("tiny"), workload) as result:
        json.dumps(result.to_json())
        return int(result.summary["instructions"]), result.digest


@pytest.mark.parametrize("name", quick(TRACES, *[*TRACES][::3]))
def test_every_format(tmp_path: Path, name: str) -> None:
    write_trace, instructions = TRACES[name]
    path = write_trace(tmp_path)
    counted, digest = run(load_workload(str(path)))
    assert counted == instructions
    trace = open_trace(path)
    (application,) = trace.applications
    survey = survey_application(application.start(), trace.warp_size)
    assert survey.to_json()["warp_instructions"] == instructions
    whole = characterize(load_workload(str(path)), load_model("tiny"))
    assert whole.applications[0].total("transactions") <= instructions
    record_trace(trace, tmp_path / "own.h5", trace.warp_size)
    assert run(load_workload(str(tmp_path / "own.h5"))) == (counted, digest)


BODIES: dict[str, tuple[Callable[[BlockTracer], object], int]] = {
    "nothing": (lambda k: None, 0),
    "arithmetic only": (lambda k: k.compute(3), 6),
    "one empty warp": (lambda k: k.compute(3, k.tid < 32), 3),
    "no thread": (lambda k: k.compute(3, k.tid < 0), 0),
    "zero instructions": (lambda k: (k.compute(0), k.shared(0), k.wait()), 0),
    "barriers": (lambda k: (k.barrier(), k.barrier()), 4),
}
"""Each with the instructions of a block of two warps."""


@define(kw_only=True, eq=False)
class Idle(Kernel):
    what: str

    def body(self, k: BlockTracer) -> None:
        BODIES[self.what][0](k)


class IdleProgram(Program):
    """Launches of the numbers of blocks in `grids`."""

    def __init__(self, what: str, grids: tuple[int, ...]) -> None:
        super().__init__("idle")
        self._what = what
        self._grids = grids

    def launches(self) -> Iterator[Launch]:
        for grid in self._grids:
            shape = Shape((grid, 1, 1), (64, 1, 1))
            yield Idle(shape=shape, name="idle", registers_per_thread=8, what=self._what)


@pytest.mark.parametrize(
    ("what", "grids"), [("nothing", ()), ("nothing", (0,)), *((what, (1, 0, 2)) for what in BODIES)]
)
def test_kernels_of_our_own(tmp_path: Path, what: str, grids: tuple[int, ...]) -> None:
    spec = ApplicationSpec("idle", lambda: IdleProgram(what, grids))
    workload = Workload("idle", "smoke", 0, (spec,))
    counted, digest = run(workload)
    assert counted == sum(grids) * BODIES[what][1]
    assert characterize(workload, load_model("tiny")).applications[0].total("transactions") == 0
    record_trace(workload, tmp_path / "own.h5")
    assert run(load_workload(str(tmp_path / "own.h5"))) == (counted, digest)


def test_a_sample_of_an_empty_kernel_is_empty() -> None:
    (launch,) = SampledProgram(IdleProgram("nothing", (0,)), 4).launches()
    assert launch.blocks == 0


@define
class Chunks:
    """A launch of one block of two warps, which did these pieces."""

    pieces: list[LaneChunk]
    name: str = "chunks"
    blocks: int = 1
    threads_per_block: int = 64
    registers_per_thread: int = 0
    shared_bytes: int = 0
    stream_use: StreamUse = IN_TURN
    copy: None = None

    def run_block(self, block: int, warp_size: int) -> Iterator[LaneChunk]:
        yield from self.pieces


@define
class ChunksApplication:
    pieces: list[LaneChunk]
    name: str = "chunks"
    buffers: tuple[()] = ()

    def launches(self) -> Iterator[Launch]:
        yield Chunks(self.pieces)


@st.composite
def idle_chunks(draw: st.DrawFn) -> LaneChunk:
    """No instruction, no memory instruction, no lanes, or none that is active."""
    kinds = draw(st.lists(st.sampled_from([Op.LOAD, Op.STORE, Op.COMPUTE, Op.WAIT]), max_size=3))
    accesses = sum(kind in (Op.LOAD, Op.STORE) for kind in kinds)
    active = [[draw(st.booleans()), draw(st.booleans())] for _ in kinds]
    lanes = draw(st.sampled_from([0, 1, 32]))
    return LaneChunk(
        np.array(kinds, dtype=np.uint8),
        np.array([draw(st.integers(0, 3)) for _ in kinds], dtype=np.int64),
        np.array(active, dtype=bool).reshape(-1, 2),
        np.full((accesses, 2, lanes), INACTIVE, dtype=np.int64),
        np.full(accesses, 4, dtype=np.int64),
    )


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(idle_chunks(), max_size=3))
def test_pieces_without_an_active_lane(pieces: list[LaneChunk]) -> None:
    spec = ApplicationSpec("chunks", lambda: ChunksApplication(pieces))
    expected = sum(
        int((piece.active.sum(axis=1) * piece.arg)[piece.kind == Op.COMPUTE].sum())
        for piece in pieces
    )
    assert run(Workload("chunks", "smoke", 0, (spec,)))[0] == expected
