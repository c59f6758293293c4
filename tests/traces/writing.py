"""Writes small trace files, and reads traces back warp by warp."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Sequence
from pathlib import Path
from struct import pack

from zstandard import ZstdCompressionDict, ZstdCompressor

from gpusim.core.warp_program import INACTIVE, MEMORY_OPS, Launch, Op

HEADER = {
    "kernel name": "toy",
    "kernel id": "1",
    "grid dim": "(1,1,1)",
    "block dim": "(32,1,1)",
    "shmem": "128",
    "nregs": "8",
    "binary version": "80",
    "shmem base_addr": "0x00007f0700000000",
    "local mem base_addr": "0x00007f0500000000",
    "accelsim tracer version": "5",
    "enable lineinfo": "0",
}

EXIT = "00f0 ffffffff 0 EXIT 0 0 0"


def header(**changes: str | None) -> str:
    """Header lines; a key's spaces are written as double underscores, None leaves it out."""
    values: dict[str, str | None] = {**HEADER}
    values |= {key.replace("__", " "): value for key, value in changes.items()}
    lines = [f"-{key} = {value}" for key, value in values.items() if value is not None]
    return "\n".join([*lines, "", "#traces format = whatever", ""])


def block(warps: Sequence[Sequence[str]], at: str = "0,0,0") -> str:
    """One thread block: of each warp its instruction lines."""
    text = ["#BEGIN_TB", "", f"thread block = {at}", ""]
    for number, lines in enumerate(warps):
        text += [f"warp = {number}", f"insts = {len(lines)}", *lines, ""]
    return "\n".join([*text, "#END_TB", ""])


def write(path: Path, text: str) -> Path:
    """Write a file, compressed as its name tells."""
    data = text.encode()
    if path.suffix == ".xz":
        data = lzma.compress(data)
    elif path.suffix == ".gz":
        data = gzip.compress(data)
    elif path.suffix == ".zst":
        data = ZstdCompressor().compress(data)
    path.write_bytes(data)
    return path


Operation = tuple[str, int, tuple[int, ...]]


def operations(launch: Launch, number: int = 0) -> list[list[Operation]]:
    """Of each warp of a block: name, argument (or size in bytes), and addresses by lane."""
    warps: list[list[Operation]] = []
    for chunk in launch.run_block(number, 32):
        warps = warps or [[] for _ in range(chunk.active.shape[1])]
        access = -1
        for row, kind in enumerate(chunk.kind.tolist()):
            memory = kind in MEMORY_OPS
            access += memory
            for warp, found in enumerate(warps):
                if not chunk.active[row, warp]:
                    assert not memory or (chunk.address[access, warp] == INACTIVE).all()
                elif memory:
                    lanes = chunk.address[access, warp].tolist()
                    found.append((Op(kind).name, int(chunk.size[access]), tuple(lanes)))
                else:
                    found.append((Op(kind).name, int(chunk.arg[row]), ()))
    return warps


def used(lanes: Sequence[int]) -> dict[int, int]:
    """Addresses of the lanes that take part."""
    return {lane: address for lane, address in enumerate(lanes) if address != INACTIVE}


def write_tracez(
    path: Path,
    text: str,
    blocks: Sequence[tuple[tuple[int, int, int], Sequence[Sequence[str]]]],
    *,
    piece: int = 2,
    dictionary: bytes = b"",
) -> Path:
    """Write a kernel of Accel-Sim 2.0: of each block its place, and the lines of its warps."""
    with_dictionary = ZstdCompressionDict(dictionary) if dictionary else None
    compressor = ZstdCompressor(level=3, dict_data=with_dictionary)
    data = text.encode() + b"\0" + pack("<II", len(dictionary), piece) + dictionary
    index = pack("<I", len(blocks))
    for place, warps in blocks:
        index += pack("<11I", *place, *range(7), len(warps))
        for lines in warps:
            pieces = [lines[at : at + piece] for at in range(0, len(lines), piece)]
            counts = [len(one) for one in pieces]
            index += pack(f"<IIQ{len(counts)}I", len(lines), len(pieces), len(data), *counts)
            data += pack("<II", len(lines), len(pieces))
            for one in pieces:
                frame = compressor.compress("\n".join(one).encode())
                data += pack("<I", len(frame)) + frame
    path.write_bytes(data + index + pack("<Q", len(data)))
    return path
