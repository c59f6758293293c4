"""Writes MacSim's traces, and reads their warps back."""

import gzip
import struct

import numpy as np

from gpusim.traces.open_trace import open_trace
from tests.traces.writing import operations, used

BASE = 0x7FAFC1D00000
ALL = 0xFFFFFFFF

# Numbers of opcodes, as the tracers have them.
LDC, LDG, LDL, LDS, STG, STL, STS, ATOMG, RED, DMUL = 72, 73, 74, 75, 78, 79, 80, 85, 86, 24
EXIT, BAR, DEPBAR, LDGDEPBAR, LDGSTS, MOV = 139, 151, 153, 173, 175, 60
P_ATOM, P_SYNC, P_RED_SHARED, P_ADD, P_EXIT = 8, 13, 81, 3, 40
P_LDG, P_LDS, P_PARAMETER, P_STG, P_STL = 140, 142, 145, 147, 148

LAYOUTS = {"nvbit": (4, "<6B4H4HB1xIIQQQB1xH3B1x"), "newptx": (5, "<6B5H4HB3xII4xQQQB1xH3B1x")}


def record(code, kind="nvbit", *, load=0, to=(), of=(), mask=ALL, pc=16, address=0, **more):
    """One record: every field at its place, those that are not read filled with noise.

    More fields: size, bytes a lane (4); operator, number of its cache operator.
    """
    sources, layout = LAYOUTS[kind]
    registers = [*of, *[0] * (sources - len(of)), *to, *[0] * (4 - len(to))]
    head = (code, 1, load, 7, len(of), len(to), *registers, 16)
    return struct.pack(
        layout,
        *head,
        mask,
        3,
        pc,
        pc + 16,
        address,
        more.get("size", 4),
        9,
        5,
        6,
        more.get("operator", 8),
    )


def ptx(code, addresses=None, **fields):
    """A record, and those of the addresses of lanes 1 to 31 if it accesses memory."""
    if addresses is None:
        return record(code, "newptx", **fields)
    first, *others = addresses
    packed = np.array([*others, *[0xAB] * 5], dtype="<u8").tobytes()
    return record(code, "newptx", address=first, **fields) + packed


def write_kernel(folder, warps, kind="nvbit", name="trace"):
    """A kernel's text file, and a file for each warp: ids and records."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [kind, "14", "16", str(len(warps)), *[f"{warp} 0" for warp in warps]]
    path = folder / f"{name}.txt"
    path.write_text("\n".join(lines) + "\n")
    for warp, records in warps.items():
        (folder / f"{name}_{warp}.raw").write_bytes(gzip.compress(b"".join(records)))
    return path


def write_list(folder, lines, kind="nvbit"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "kernel_config.txt"
    path.write_text("\n".join([kind, "14", "-1", *map(str, lines)]) + "\n")
    return path


def launches(path):
    (application,) = open_trace(path).applications
    return list(application.start().launches())


def told(launch, block=0):
    warps = operations(launch, block)
    return [[(op, one, used(lanes)) for op, one, lanes in warp] for warp in warps]


def only_warp(tmp_path, records, kind="nvbit"):
    (launch,) = launches(write_kernel(tmp_path / "K", {0: records}, kind))
    return told(launch)[0]


# A kernel c[i] = a[i] * a[i] of doubles, as the tracer records a warp of it.
def multiply(base):
    return [
        record(MOV, to=(1,), pc=0x200),
        record(LDG, load=1, to=(4,), pc=0x210, address=base, size=8),
        record(LDG, load=1, to=(2,), pc=0x220, address=base, size=8),
        record(DMUL, of=(4, 2), to=(6,), pc=0x230),
        record(STG, of=(6,), pc=0x240, address=base + 0x10000, size=8),
        record(EXIT, pc=0x250),
    ]
