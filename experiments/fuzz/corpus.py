"""Good files of every kind that gpusim reads: what is mutated."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import re
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

GOOD_TRACEG = """\
-kernel name = _Z3addPfS_
-kernel id = 1
-grid dim = (2,1,1)
-block dim = (32,1,1)
-shmem = 64
-nregs = 16
-shmem base_addr = 0x00007f0000000000
-local mem base_addr = 0x00007f1000000000
-accelsim tracer version = 3

#traces format = PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width ...

#BEGIN_TB

thread block = 0,0,0

warp = 0
insts = 4
0008 ffffffff 1 R4 IMAD.MOV.U32 1 R2 0
0010 ffffffff 1 R6 LDG.E.128 1 R4 16 1 0x7f8000000000 16
0018 0000000f 0 STG.E 2 R4 R6 4 0 0x7f8000000000 0x7f8000000040 0x7f8000000080 0x7f80000000c0
0020 ffffffff 0 EXIT 0 0

#END_TB

#BEGIN_TB

thread block = 1,0,0

warp = 0
insts = 2
0010 ffffffff 1 R6 LDG.E 1 R4 4 2 0x7f8000001000 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 4 \
4 4 4 4 4 4
0020 ffffffff 0 EXIT 0 0

#END_TB
"""

GOOD_NVBIT = (
    "MEMTRACE: CTX 0x1 - LAUNCH - Kernel pc 0x7f - Kernel name add(float*) - grid launch id 0 - "
    "grid size 2,1,1 - block size 32,1,1 - nregs 16 - shmem 0 - cuda stream id 0\n"
    + "".join(
        f"MEMTRACE: CTX 0x1 - grid_launch_id 0 - CTA {block},0,0 - warp 0 - {opcode} - "
        + " ".join(f"0x{0x7F8000000000 + 4 * lane:016x}" for lane in range(32))
        + " \n"
        for block in range(2)
        for opcode in ("LDG.E", "STG.E.64")
    )
)

GOOD_WORKLOAD = """\
description = "two programs"
relaunch = "never"

[[applications]]
program = "atax"
name = "one"
share = 0.5
smoke = {n = 64}

[[applications]]
program = "bfs"
smoke = {graph = {generator = "rodinia-random", vertices = 64}}
"""

GOOD_SWEEP = """\
title = "a sweep"
models = ["tiny"]
variants = ["baseline"]
workloads = ["atax"]
scale = "smoke"
seeds = [0, 1]
exclude = [{variant = ["baseline"], seed = [1]}]

[set]
"tlb.L2.entries" = [64, 128]
"tlb.L1.entries, tlb.L1.ways" = [[16, 4], [32, 8]]
"""

GOOD_PAIR = """\
models = ["tiny"]
workloads = ["atax"]
scale = "smoke"
seeds = [0, 1]

[set]
"workload.n" = [32]
"""

GOOD_RECIPE = """\
description = "a larger first TLB"
source = "our choice: an example"
based_on = []

[tlb.first]
entries = 64 # our choice: an example

[requires]
l1.translation = ["before", "parallel"]
"""

GOOD_EVENTS = """\
{"at": 100, "event": "remap", "address": "0x100000000"}
{"at": 200, "event": "unmap", "address": 4294967296}
{"at": 300, "event": "shootdown"}
"""

GOOD_SETTINGS = """\
tlb.L2.entries=64
l1.size=8KiB
dram.timing.CL=12ns
workload.n=48
tlb.L1.replacement=random
walk.cache.kind="levels"
"""

GOOD_LIMITS = """\
until 2Mcycles
until 500kinstructions
until atax=3kcycles
until ipc-stable(2%, 20 windows)
skip 3launches
skip 1kblocks
cycle 12_000
"""

GRAPHS = {
    "metis.graph": "% a comment\n4 3 1\n2 5 3 1\n1 5\n1 1 4 2\n3 2\n",
    "mm.mtx": "%%MatrixMarket matrix coordinate integer general\n3 3 3\n1 2 5\n2 3 7\n3 1 -1\n",
    "dimacs.gr": "c a comment\np sp 3 2\na 1 2 5\na 2 3 1\n",
    "snap.txt": "# Nodes: 3 Edges: 2\n1 2\n2 7\n",
    "mm-complex.mtx": "%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 1 1 -1\n",
    "mm-array.mtx": "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n0\n",
    "konect.txt": "% bip weighted\n% 2 2 2\n1 1 3 1082040961\n2 1 4 1082040962\n",
    "gap.wel": "0 1 3\n1 2 4\n",
    "edges.csv": '"source","target","weight"\n1,2,0.5\n2,3,7\n',
    "colours.col": "c x\np edge 3 2\ne 1 2\ne 2 3\n",
    "rodinia.txt": "2\n0 1\n1 1\n\n0\n\n2\n1 5\n0 3\n",
}


MEMORY_TRACES = {
    "accesses.csv": "warp,vaddr,is_write,size\n0,0x10000000,0,4\n1,0x10001000,1,8\n",
    "ramulator.trace": "0x10000000 R\n0x10001040 W\n",
    "ramulator2.trace": "LD 0x10000000\nST 0x10001040\n",
    "cpu.trace": "3 268435456\n0 268439552 268443648\n",
    "dramsim3.trace": "0x10000000 READ 30\n0x10001040 WRITE 160\n",
    "lackey.txt": "I  0023C790,2\n L 1ffeffe7e,8\n S 1ffeffe80,8\n M 0421c7cc,4\n",
    "pinatrace.out": "0x401000: R 0x10000000\n0x401004: W 0x10000040 8\n",
    "din.din": "0 7fff0000\n1 7fff0040\n2 400000\n",
}


@cache
def corpus(kind: str) -> tuple[tuple[str, bytes], ...]:
    """Names and contents of the good files of a kind."""
    return tuple(_MAKERS[kind]())


def _texts(**texts: str) -> Callable[[], list[tuple[str, bytes]]]:
    return lambda: [(name.replace("__", "."), text.encode()) for name, text in texts.items()]


def _packed(name: str, text: str) -> list[tuple[str, bytes]]:
    data = text.encode()
    return [
        (name, data),
        (f"{name}.gz", gzip.compress(data, 6, mtime=0)),
        (f"{name}.xz", lzma.compress(data, preset=1)),
    ]


def _graphs() -> list[tuple[str, bytes]]:
    plain = [(name, text.encode()) for name, text in GRAPHS.items()]
    return [*plain, ("snap.txt.gz", gzip.compress(GRAPHS["snap.txt"].encode(), mtime=0))]


def _memory_traces() -> list[tuple[str, bytes]]:
    texts = [(name, text.encode()) for name, text in MEMORY_TRACES.items()]
    record = struct.pack("<Q8x2Q4Q", 0x400000, 0x10000040, 0, 0x10000000, 0, 0, 0)
    return [*texts, ("two.champsimtrace", 2 * record)]


def _macsim() -> list[tuple[str, bytes]]:
    """A kernel of one warp; its file is made beside it by the reader's case."""
    return [("kernel.txt", b"nvbit\n14\n1\n1\n0 0\n")]


def _tables() -> list[tuple[str, bytes]]:
    rows = 8
    columns = {
        "kernel": np.zeros(rows, np.uint16),
        "workgroup": np.arange(rows, dtype=np.uint32) // 4,
        "wavefront": np.arange(rows, dtype=np.uint32) // 2,
        "vaddr": np.arange(rows, dtype=np.uint64) * 64 + (1 << 32),
        "is_write": np.arange(rows, dtype=np.uint8) % 2,
        "bytes": np.full(rows, 64, np.uint16),
        "inst": np.arange(rows, dtype=np.uint32) % 2,
    }
    packed, plain = io.BytesIO(), io.BytesIO()
    np.savez_compressed(packed, **columns)  # type: ignore[arg-type]
    np.savez(plain, **columns)  # type: ignore[arg-type]
    import pandas as pd

    parquet = io.BytesIO()
    pd.DataFrame(columns).to_parquet(parquet)
    return [
        ("packed.npz", packed.getvalue()),
        ("plain.npz", plain.getvalue()),
        ("table.parquet", parquet.getvalue()),
    ]


def tracez_of(text: str, piece: int = 2) -> bytes:
    """A kernel as Accel-Sim 2.0 packs it, of the text of one that need not be right."""
    from zstandard import ZstdCompressor

    head, *blocks = text.split("#BEGIN_TB")
    data = head.encode("utf-8", "replace") + b"\0" + struct.pack("<II", 0, piece)
    index = struct.pack("<I", len(blocks))
    for block in blocks:
        place = [int(one) % (1 << 32) for one in re.findall(r"\d{1,9}", block)[:3]]
        warps = [one.split("\n")[2:] for one in block.split("warp =")[1:]]
        index += struct.pack("<11I", *(place + [0] * 3)[:3], *range(7), len(warps))
        for lines in ([line for line in warp if line[:1] not in ("", "#")] for warp in warps):
            pieces = [lines[at : at + piece] for at in range(0, len(lines), piece)]
            counts = [len(one) for one in pieces]
            index += struct.pack(f"<IIQ{len(counts)}I", len(lines), len(counts), len(data), *counts)
            data += struct.pack("<II", len(lines), len(counts))
            for one in pieces:
                frame = ZstdCompressor().compress("\n".join(one).encode("utf-8", "replace"))
                data += struct.pack("<I", len(frame)) + frame
    return data + index + struct.pack("<Q", len(data))


def _facts() -> list[tuple[str, bytes]]:
    facts = {
        "name": "facts",
        "warp_size": 64,
        "kernels": [
            {"name": "k", "grid": [256, 1, 1], "workgroup": [128, 1, 1], "vgprs": 8, "lds_bytes": 0}
        ],
    }
    return [("table.json", json.dumps(facts).encode())]


def _models() -> list[tuple[str, bytes]]:
    from gpusim.files.shipped import data_folder

    return [
        (f"{name}.toml", (data_folder("models") / f"{name}.toml").read_bytes())
        for name in ("tiny",)
    ]


def _characterizations() -> list[tuple[str, bytes]]:
    import gpusim

    with TemporaryDirectory() as folder:
        path = Path(folder) / "reuse.h5"
        workload = gpusim.load_workload("atax", "smoke", overrides={"n": 32})
        gpusim.characterize(workload, gpusim.load_model("tiny"), output=path)
        return [("reuse.h5", path.read_bytes())]


def _sweeps_there() -> list[tuple[str, bytes]]:
    """The table of a sweep: a run that is done, and one that has failed."""
    from gpusim.studies.sweep.folder import FailedRun, RunFolder, table_of
    from gpusim.studies.sweep.point import Point
    from gpusim.studies.sweep.worker import Facts, Failure

    done = Facts(
        "ab" * 32, 1.5, 1000, 5, {"cycles": 100, "ipc": 0.5}, {"cycles": "cycles", "ipc": ""}
    )
    failed = FailedRun("l", "a label", Failure("KeyError", "a message"), 2)
    rows = [
        (Point("tiny", "baseline", "atax", "smoke", seed).values, key, found)
        for seed, key, found in ((0, "k", done), (1, "l", failed))
    ]
    with TemporaryDirectory() as folder:
        runs = RunFolder(folder, create=True)
        runs.keep_table("pair", table_of(rows))
        return [("pair.parquet", runs.table_path("pair").read_bytes())]


def _recorded() -> list[tuple[str, bytes]]:
    import gpusim
    from gpusim.traces.recorder import record_trace

    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.h5"
        workload = gpusim.load_workload("softmax", "smoke", overrides={"rows": 2, "columns": 64})
        record_trace(workload, path)
        return [("trace.h5", path.read_bytes())]


def _results() -> list[tuple[str, bytes]]:
    import gpusim
    from gpusim.results.event_tables import RECORDS

    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.h5"
        gpusim.simulate(
            gpusim.load_model("tiny"),
            gpusim.load_workload("atax", "smoke", overrides={"n": 32}),
            record=[name for name in RECORDS if name in _RECORDED],
            output=path,
            command_line=["gpusim"],
        ).close()
        return [("run.h5", path.read_bytes())]


_RECORDED = ("intervals", "walks", "requests")


def _claims() -> list[tuple[str, bytes]]:
    host = os.uname().nodename if hasattr(os, "uname") else "here"
    about = {"host": host, "process": 1, "started": 0.0}
    return [
        ("key.claim", b"other-1-abcdef"),
        ("other-1-abcdef.sweep", json.dumps(about).encode()),
        ("key.stale", b"other-1-abcdef"),
    ]


def _mark() -> list[tuple[str, bytes]]:
    failure = {"cause": "KeyError", "message": "m", "traceback": "", "where": "", "stop": False}
    failed = {"key": "k", "label": "l", "failure": failure, "attempts": 1}
    return [
        ("gpusim-runs.json", b'{"format": "gpusim runs", "version": 1}'),
        ("failures/k.json", json.dumps(failed).encode()),
    ]


def raw_record() -> bytes:
    """A warp's file of MacSim: two loads and a store, each one record."""
    layout = "<6B4H4HB1xIIQQQB1xH3B1x"
    records = b""
    for code, load in ((_LDG, 1), (_LDG, 1), (_STG, 0)):
        registers = (4, 0, 0, 0, 6, 0, 0, 0)
        rest = (16, 0xFFFFFFFF, 3, 16, 32, 0x7F8000000000, 4, 9, 5, 6, 8)
        records += struct.pack(layout, code, 1, load, 7, 1, 1, *registers, *rest)
    return gzip.compress(records, mtime=0)


_LDG, _STG = 73, 78


@cache
def started() -> Any:
    """What runs from a checkpoint."""
    import gpusim

    return gpusim.load_workload("mvt", "smoke", overrides={"n": 64, "iterations": 2})


def _checkpoints() -> list[tuple[str, bytes]]:
    import gpusim

    with TemporaryDirectory() as folder:
        path = Path(folder) / "state.h5"
        gpusim.checkpoint(gpusim.load_model("tiny"), started(), path, skip="1launches", keep="50")
        return [(path.name, path.read_bytes())]


_MAKERS: dict[str, Callable[[], list[tuple[str, bytes]]]] = {
    "model": _models,
    "recipe": _texts(recipe__toml=GOOD_RECIPE),
    "workload": _texts(workload__toml=GOOD_WORKLOAD),
    "sweep": _texts(sweep__toml=GOOD_SWEEP),
    "events": _texts(events__jsonl=GOOD_EVENTS),
    "graph": _graphs,
    "traceg": lambda: _packed("kernel.traceg", GOOD_TRACEG),
    "kernelslist": _texts(kernelslist__g="MemcpyHtoD,0x7f8000000000,4096\nkernel-1.traceg\n"),
    "tracez": lambda: [("kernel.tracez", tracez_of(GOOD_TRACEG))],
    "nvbit": lambda: _packed("mem.txt", GOOD_NVBIT),
    "macsim": _macsim,
    "memory trace": _memory_traces,
    "table": _tables,
    "facts": _facts,
    "recorded trace": _recorded,
    "result": _results,
    "characterization": _characterizations,
    "claims": _claims,
    "folder": _mark,
    "table of a sweep": _sweeps_there,
    "settings": _texts(settings__txt=GOOD_SETTINGS),
    "limits": _texts(limits__txt=GOOD_LIMITS),
    "trusted": _texts(trusted__json='["/tmp/a", "/tmp/b"]\n'),
    "checkpoint": _checkpoints,
}

KINDS = tuple(_MAKERS)
"""All kinds of files."""
