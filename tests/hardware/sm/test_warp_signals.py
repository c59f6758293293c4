"""Signals of warps: when each begins on its SM, and when it has ended."""

from __future__ import annotations

import gpusim
from gpusim.machine.machine import Machine
from tests.whole.test_mechanisms import counters


def test_warps_are_told_from_their_first_instruction_to_their_last() -> None:
    present: set[tuple[int, int]] = set()
    told = [0, 0]
    last = 0

    def begins(sm: int, warp_slot: int, app: int, cycle: int) -> None:
        nonlocal last
        assert (sm, warp_slot) not in present
        assert (app, cycle >= last) == (0, True)
        present.add((sm, warp_slot))
        told[0] += 1
        last = cycle

    def ends(sm: int, warp_slot: int, app: int, cycle: int) -> None:
        nonlocal last
        present.remove((sm, warp_slot))
        assert (app, cycle >= last) == (0, True)
        told[1] += 1
        last = cycle

    def attach(machine: Machine) -> None:
        for sm in machine.sms:
            sm.on_warp.listen(begins)
            sm.on_warp_end.listen(ends)

    workload = gpusim.load_workload("mvt", scale="smoke", overrides={"iterations": 1})
    result = gpusim.simulate(gpusim.load_model("tiny"), workload, attach=attach)
    warps = sum(value for key, value in counters(result).items() if key[3] == "warps")
    assert told == [warps, warps] != [0, 0]
    assert not present
