"""Traces of MacSim: records written by the tests, read back as programs."""

import numpy as np
import pytest

from gpusim import load_model, load_workload, simulate
from gpusim.core.errors import UserError
from gpusim.core.warp_program import LEAST_SHIFT
from gpusim.traces.lanes import LOCAL_BASE
from gpusim.traces.open_trace import open_trace
from gpusim.traces.recorder import record_trace
from tests.traces.writing_macsim import (
    ALL,
    ATOMG,
    BAR,
    BASE,
    DEPBAR,
    EXIT,
    LDC,
    LDG,
    LDGDEPBAR,
    LDGSTS,
    LDS,
    MOV,
    P_ADD,
    P_ATOM,
    P_EXIT,
    P_LDG,
    P_LDS,
    P_PARAMETER,
    P_RED_SHARED,
    P_STG,
    P_STL,
    P_SYNC,
    RED,
    STG,
    STL,
    STS,
    launches,
    multiply,
    only_warp,
    ptx,
    record,
    told,
    write_kernel,
    write_list,
)


def row(base, size, lanes=range(32)):
    """Lanes side by side, the first of them at the base."""
    return {lane: base + size * (lane - lanes[0]) for lane in lanes}


def multiplied(base):
    return [
        ("COMPUTE", 1, {}),
        ("LOAD", 8, row(base, 8)),
        ("LOAD", 8, row(base, 8)),
        ("WAIT", 0, {}),
        ("COMPUTE", 1, {}),
        ("STORE", 8, row(base + 0x10000, 8)),
        ("COMPUTE", 1, {}),
    ]


def test_a_folder_of_kernels(tmp_path):
    # Ids within a block are those of the hardware: neither from 0 on nor in the order of threads.
    ids = [0, 1, (1 << 16) | 7, (1 << 16) | 34, (9 << 16) | 3]
    bases = dict(zip(ids, (BASE + 0x100 * n for n in (3, 0, 2, 1, 4)), strict=True))
    warps = {warp: multiply(base) for warp, base in reversed(bases.items())}
    for name in ("Kernel0", "Kernel7"):
        write_kernel(tmp_path / "app" / name, warps)
    # Only the last folder of a path counts: a list may come from another machine.
    write_list(tmp_path / "app", ["./Kernel7/trace.txt", "/gone/trace/Kernel0/trace.txt"])
    trace = open_trace(tmp_path / "app")
    assert (trace.format, trace.name, trace.warp_size) == ("MacSim", "app", 32)
    first, second = launches(tmp_path / "app")
    assert (first.name, second.name) == ("Kernel7", "Kernel0")
    assert (first.blocks, first.threads_per_block) == (3, 64)
    assert (first.registers_per_thread, first.shared_bytes) == (0, 0)
    for launch in (first, second, second):  # any block, as often as wanted
        assert told(launch, 1) == [multiplied(bases[ids[2]]), multiplied(bases[ids[3]])]
        assert told(launch, 0) == [multiplied(bases[ids[0]]), multiplied(bases[ids[1]])]
        assert told(launch, 2) == [multiplied(bases[ids[4]]), []]


def test_a_list_of_names_tells_sizes(tmp_path):
    write_kernel(tmp_path / "Kernel0", {0: [record(EXIT)], 1: [record(EXIT)]})
    path = write_list(tmp_path, ["./Kernel0/trace.txt"])
    sizes = (
        "Kernel0 name: add(double*, int)\n  Grid size: (4, 1, 1), Block size: (48, 1, 1), "
        "maxBlockPerCore: 16, # of regs: 10, static shared mem: 96, dynamic shared mem: 32\n"
    )
    (tmp_path / "kernel_names.txt").write_text(sizes)
    (launch,) = launches(path)
    assert (launch.name, launch.threads_per_block) == ("add(double*, int)", 48)
    assert (launch.registers_per_thread, launch.shared_bytes) == (10, 128)
    (tmp_path / "kernel_names.txt").write_text(sizes.replace("48", "32"))
    with pytest.raises(UserError, match=r"trace\.txt: a block has 2 warps, .* gives it 32 threads"):
        open_trace(path)


def test_lanes_follow_the_first_active_one(tmp_path):
    assert only_warp(tmp_path, [record(STG, address=BASE, mask=0x50F00)]) == [
        ("STORE", 4, row(BASE, 4, [8, 9, 10, 11, 16, 18]))
    ]


def test_a_repeated_record_is_another_128_bytes_of_the_instruction(tmp_path):
    def load(address, size, mask=ALL):
        return record(LDG, load=1, to=(4,), address=address, size=size, mask=mask)

    # 16 bytes a lane: 4 addresses, 8 lanes each; the first record has the size of all.
    whole = [load(BASE, 64), *(load(BASE + 128 * n, 16) for n in (1, 2, 3))]
    assert only_warp(tmp_path, [*whole, record(MOV, of=(7,), to=(9,))]) == [
        ("LOAD", 16, row(BASE, 16)),
        ("WAIT", 0, {}),  # R4 to R7 are filled
        ("COMPUTE", 1, {}),
    ]
    # Each lane on an address of its own; with 4 * 3 bytes in the first record.
    scattered = [BASE + 4096 * n for n in (0, 1, 5)]
    records = [load(one, 12 - 8 * (n > 0), 0x8009) for n, one in enumerate(scattered)]
    assert only_warp(tmp_path, records) == [
        ("LOAD", 4, dict(zip((0, 3, 15), scattered, strict=True)))
    ]
    # Another mask or another program counter is another instruction.
    records = [load(BASE, 4, 1), load(BASE, 4, 2), record(LDG, load=1, pc=32, address=BASE)]
    assert [op for op, *_ in only_warp(tmp_path, records)] == ["LOAD", "WAIT", "LOAD", "LOAD"]


def test_memories_of_nvbit(tmp_path):
    found = only_warp(
        tmp_path,
        [
            record(LDS, load=1, to=(4,), address=0, size=8),
            record(STS, address=64, mask=0),
            record(LDC, load=1, address=0x160),
            record(BAR),
            record(ATOMG, to=(4,), of=(4,), size=4),
            record(RED, size=4),
            record(STL, pc=64, address=8, mask=3),
        ],
    )
    local = {lane: LOCAL_BASE + (2 * 32 + lane) * 4 for lane in (0, 1)}
    assert found == [
        ("SHARED", 2 | 2 << LEAST_SHIFT, {}),
        ("COMPUTE", 2, {}),  # no lane; constants have a memory of their own
        ("BARRIER", 0, {}),
        ("COMPUTE", 2, {}),  # nothing tells what atomics access
        ("STORE", 4, local),  # one address, in the memory of each thread
    ]
    (launch,) = launches(tmp_path / "K" / "trace.txt")
    told(launch)
    assert launch.idle_accesses == {"shared": 1, "global": 2}


def test_copies_to_shared_memory_are_waited_for_by_group(tmp_path):
    copy = record(LDGSTS, load=1, address=BASE, size=16)
    found = only_warp(tmp_path, [copy, record(LDGDEPBAR), record(DEPBAR), record(MOV)])
    assert [(op, one) for op, one, _ in found] == [
        ("LOAD", 16),
        ("COMPUTE", 2),
        ("WAIT", 0),
        ("COMPUTE", 1),
    ]


def test_ptx_records_tell_every_lane(tmp_path):
    rng = np.random.default_rng(5)
    lanes = (BASE + 4 * rng.permutation(4096)[:32]).tolist()
    holes = [one if lane % 3 else 0 for lane, one in enumerate(lanes)]
    mask = sum(1 << lane for lane in range(32) if lane % 3)
    shared = [4 * lane for lane in range(32)]
    found = only_warp(
        tmp_path,
        [
            ptx(P_PARAMETER, [0x40000] * 32, load=1, to=(255,), size=8),
            ptx(P_LDG, lanes, load=1, to=(255,), of=(3,)),
            ptx(P_ADD, of=(0,), to=(1,)),
            ptx(P_LDG, holes, load=1, to=(7,), pc=24, mask=mask),
            ptx(P_STG, holes, of=(255,), pc=32, mask=mask),
            ptx(P_STG, [0] * 32, mask=0),
            ptx(P_LDS, shared, load=1, to=(9,)),
            ptx(P_RED_SHARED, [0] * 32, load=1),
            ptx(P_SYNC),
            ptx(P_ATOM, lanes, load=1, to=(9,), pc=40),
            ptx(P_STL, [4] * 32, pc=48),
            ptx(P_EXIT),
        ],
        "newptx",
    )
    assert found == [
        ("COMPUTE", 1, {}),
        ("LOAD", 4, dict(enumerate(lanes))),
        ("COMPUTE", 1, {}),
        ("LOAD", 4, {lane: one for lane, one in enumerate(holes) if one}),
        ("WAIT", 1, {}),  # for register 255, which is one like all others here
        ("STORE", 4, {lane: one for lane, one in enumerate(holes) if one}),
        ("COMPUTE", 1, {}),
        ("SHARED", 1, {}),
        ("COMPUTE", 1, {}),
        ("BARRIER", 0, {}),
        ("ATOMIC", 4, dict(enumerate(lanes))),
        ("STORE", 4, {lane: LOCAL_BASE + (32 + lane) * 4 for lane in range(32)}),
        ("COMPUTE", 1, {}),
    ]


def test_it_runs_and_imports(tmp_path):
    kernels = {(warp % 3 << 16) | warp // 3: multiply(BASE + 256 * warp) for warp in range(6)}
    for name in ("Kernel0", "Kernel1"):
        write_kernel(tmp_path / "app" / name, kernels)
    write_list(tmp_path / "app", ["./Kernel0/trace.txt", "./Kernel1/trace.txt"])
    with simulate(load_model("tiny"), load_workload(str(tmp_path / "app"))) as run:
        summary, digest = run.summary, run.digest
    assert summary["instructions"] == 2 * 6 * 6
    assert summary["memory_instructions"] == 2 * 6 * 3
    assert summary["transactions"] == 2 * 6 * 3 * 256 // 128
    own = tmp_path / "own.h5"
    record_trace(open_trace(tmp_path / "app"), own, 32)
    with simulate(load_model("tiny"), load_workload(str(own))) as run:
        assert run.digest == digest
