"""TLB arrays that answer with what the page table does not say: the run ends and names them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import attrs
import pytest

from gpusim.config.schema import GpuConfig
from gpusim.core.errors import WrongMappingError
from gpusim.core.mapping import Mapping
from gpusim.core.policy import PolicyConfig
from gpusim.hardware.tlb import SetAssociativeArray
from gpusim.machine import Machine
from tests.machine.bench import SMALL, Run, change
from tests.machine.test_latency import BASE

PAGE = 4096
VPN = BASE // PAGE
TWO_LINES = [("load", BASE), ("wait",), ("load", BASE + 128), ("wait",)]


class Invents(SetAssociativeArray):
    """Hits with a mapping of its own."""

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        mapping = super().lookup(tag, slot)
        return None if mapping is None else Mapping(tag, mapping.pfn + 1)


class Copies(SetAssociativeArray):
    """Hits with a mapping that says the same, but is not the page table's."""

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        mapping = super().lookup(tag, slot)
        return None if mapping is None else Mapping(mapping.tag, mapping.pfn, mapping.pages)


class Confuses(SetAssociativeArray):
    """Hits with what it was given last, for whatever page."""

    last: Mapping | None = None

    def insert(self, tag: int, mapping: Mapping, slot: int) -> int:
        self.last = mapping
        return super().insert(tag, mapping, slot)

    def lookup(self, tag: int, slot: int) -> Mapping | None:
        return self.last


class Remembers(SetAssociativeArray):
    """Forgets no page that is shot down."""

    def invalidate(self, tag: int) -> bool:
        return False

    def flush(self) -> None:
        pass


def with_array(array: str, level: str, translation: str = "parallel") -> GpuConfig:
    table = attrs.evolve(SMALL.tlb[level], array=PolicyConfig(f"{__name__}:{array}"))
    config = attrs.evolve(SMALL, tlb={**SMALL.tlb, level: table})
    return change(config, l1={"translation": translation})


def at(cycle: int, do: Callable[[Machine], Any]) -> Callable[[Machine], None]:
    """What attaches a process that does something in one cycle."""

    def play(machine: Machine) -> Generator[int, None, None]:
        yield cycle
        do(machine)

    return lambda machine: machine.env.start(play(machine)) and None


@pytest.mark.parametrize("translation", ["before", "parallel", "after"])
@pytest.mark.parametrize("array", ["Invents", "Copies"])
def test_a_mapping_of_its_own_in_the_first_level(array: str, translation: str) -> None:
    with pytest.raises(WrongMappingError) as caught:
        Run(with_array(array, "L1", translation), TWO_LINES)
    named = f"tlb.L1[0] ({array}) answered page {VPN:#x} with page {VPN:#x} of address space 0"
    assert named in str(caught.value)
    assert f"the page table says: page {VPN:#x}" in str(caught.value)


def refill(pages: int) -> list[tuple[Any, ...]]:
    """Loads of more pages than fit into the L1 TLB, and the first one again."""
    lines = [BASE + (PAGE + 128) * page for page in range(pages)]
    return [step for line in (*lines, lines[0]) for step in (("load", line), ("wait",))]


@pytest.mark.parametrize("array", ["Invents", "Copies"])
def test_a_mapping_of_its_own_in_a_deeper_level(array: str) -> None:
    with pytest.raises(WrongMappingError) as caught:
        Run(with_array(array, "L2"), refill(17))
    assert f"tlb.L2[0] ({array}) answered page {VPN:#x} with" in str(caught.value)


@pytest.mark.parametrize("level", ["L1", "L2"])
def test_the_mapping_of_another_page(level: str) -> None:
    with pytest.raises(WrongMappingError) as caught:
        Run(with_array("Confuses", level), refill(17))
    where, _, rest = str(caught.value).partition(" answered page ")
    assert where == f"tlb.{level}[0] (Confuses)"
    assert rest.startswith(f"{VPN + 1:#x} with page {VPN:#x} of address space 0 in frame 0; ")


@pytest.mark.parametrize("translation", ["before", "parallel", "after"])
def test_a_stale_mapping_in_the_first_level(translation: str) -> None:
    script = [("load", BASE), ("wait",), ("compute", 1000), ("load", BASE + 128), ("wait",)]
    config = with_array("Remembers", "L1", translation)
    with pytest.raises(WrongMappingError) as caught:
        Run.meanwhile(config, at(1000, lambda machine: machine.pages.remap(VPN)), script)
    message = str(caught.value)
    assert message.startswith(f"tlb.L1[0] (Remembers) answered page {VPN:#x} with ")
    assert message.index("in frame 0;") < message.index("in frame 1")


def test_a_stale_mapping_in_a_deeper_level() -> None:
    script = [("load", BASE), ("wait",), ("compute", 1000), ("load", BASE + 128), ("wait",)]
    config = with_array("Remembers", "L2")
    with pytest.raises(WrongMappingError, match=r"tlb.L2\[0\] \(Remembers\)"):
        Run.meanwhile(config, at(1000, lambda machine: machine.pages.remap(VPN)), script)


@pytest.mark.parametrize("level", ["L1", "L2"])
def test_a_page_that_is_no_longer_mapped(level: str) -> None:
    script = [("load", BASE), ("wait",), ("compute", 1000), ("load", BASE + 128), ("wait",)]
    with pytest.raises(WrongMappingError, match="the page table says: it is not mapped"):
        Run.meanwhile(
            with_array("Remembers", level),
            at(1000, lambda machine: machine.pages.unmap(VPN)),
            script,
        )


@pytest.mark.parametrize("level", ["L1", "L2"])
def test_a_page_that_was_shot_down_but_did_not_change_may_stay(level: str) -> None:
    """An array that keeps it is right: the page table says the same."""
    script = [("load", BASE), ("wait",), ("compute", 1000), ("load", BASE + 128), ("wait",)]
    run = Run.meanwhile(
        with_array("Remembers", level),
        at(1000, lambda machine: machine.pages.shoot_down(VPN)),
        script,
    )
    assert run.count("walk", "walks") == 1
