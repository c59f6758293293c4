"""Policies are known by the folders in which they lie, and by no list."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gpusim
from gpusim.core.registry import Slot, find_policy, policy_names
from gpusim.machine import POLICY_ROOMS, RARE_POLICY_ROOMS
from gpusim.machine.slots import unfit
from tests.quick import quick

PACKAGE = Path(gpusim.__file__).parents[1]

MRU = """
from gpusim.core.registry import Slot, register_policy
from gpusim.core.replacement.recency import Lru


class MruOfATest(Lru):
    pass


register_policy(Slot.REPLACEMENT, "mru-of-a-test", MruOfATest)
"""


def test_every_module_of_the_rooms_is_imported() -> None:
    assert policy_names(Slot.PAGE_PLACEMENT)
    for room in (*POLICY_ROOMS, *RARE_POLICY_ROOMS):
        folder = PACKAGE.joinpath(*room.split("."))
        names = {path.stem for path in folder.glob("*.py")} - {"__init__"}
        assert names
        assert {f"{room}.{name}" for name in names} <= sys.modules.keys()


def test_rooms_with_policies_that_few_machines_have_are_imported_when_they_are_asked_for() -> None:
    program = (
        "import sys, gpusim\n"
        f"rooms = {RARE_POLICY_ROOMS}\n"
        "gpusim.load_model('h100')\n"
        "print([room for room in rooms if room in sys.modules])\n"
        "gpusim.load_model('dgx-a100')\n"
        "print([room for room in rooms if room in sys.modules] == list(rooms))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=PACKAGE
    )
    assert done.stdout == "[]\nTrue\n", done.stderr


@pytest.mark.parametrize("slot", Slot)
def test_every_policy_with_a_name_is_fit_for_its_slot(slot: Slot) -> None:
    assert policy_names(slot)
    assert not [name for name in policy_names(slot) if unfit(slot, find_policy(slot, name))]


@pytest.mark.parametrize("room", quick(["core.replacement", "hardware.tlb"], "core.replacement"))
def test_a_module_in_a_room_is_all_that_a_policy_needs(room: str, tmp_path: Path) -> None:
    (tmp_path / "mru_of_a_test.py").write_text(MRU, encoding="utf-8")
    program = (
        f"import gpusim, gpusim.{room}\n"
        "from gpusim.core.module_folders import import_all\n"
        f"gpusim.{room}.__path__.append({str(tmp_path)!r})\n"
        f"import_all('gpusim.{room}')\n"
        "model = gpusim.load_model('tiny', overrides={'l1.replacement': 'mru-of-a-test'})\n"
        "print(model.config.l1.replacement.policy)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=PACKAGE
    )
    assert done.stdout == "mru-of-a-test\n", done.stderr
