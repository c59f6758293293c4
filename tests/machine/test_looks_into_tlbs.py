"""What policies may see of others' TLBs and of the page table: looks, evictions, mappings ahead."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from gpusim.config.schema import GpuConfig, StageConfig
from gpusim.config.translation import TlbConfig
from gpusim.core.errors import UserError
from gpusim.core.mapping import Mapping
from gpusim.core.policy import PolicyConfig
from gpusim.core.request import Translation
from gpusim.core.signals import Signals
from gpusim.core.stage_process import StageProcess
from gpusim.core.warp_program import Buffer
from gpusim.files.units import cycles
from gpusim.hardware.tlb import SubEntryArray, make_array
from gpusim.machine import Machine, Tenant
from gpusim.machine.load import load_model
from tests.machine.bench import SMALL, Run, Script, ScriptedApplication, ScriptedLaunch, change

BASE, PAGE = 1 << 32, 4096
VPN = BASE // PAGE
STAGES = ("L1", "own", "L2", "walk")


def pages(*numbers: int) -> Script:
    places = (BASE + PAGE * page + 128 * (page % 32) for page in numbers)
    return [step for place in places for step in (("load", place), ("wait",))]


def own(config: GpuConfig, kind: str, **options: Any) -> GpuConfig:
    name = kind if ":" not in kind and kind.islower() else f"{__name__}:{kind}"
    stage = {"own": StageConfig(PolicyConfig(name, options), "gpu")}
    return attrs.evolve(config, stage=stage, stages=STAGES)


class Onlooker(StageProcess):
    """Looks at each page in the TLBs around it, and hears what the first one evicts.

    Attributes:
        looked: of each translation that came, whether the L1 and the L2 TLB had its page before.
        evicted: pages that left the first TLB.
        ahead: pages that were mapped before the first cycle.
        mapped, unmapped: what the page table told.
    """

    def attach(self, signals: Signals) -> None:
        self.signals = signals
        self.looked: list[tuple[bool, bool]] = []
        self.evicted: list[int] = []
        self.mapped: list[int] = []
        self.unmapped: list[int] = []
        self.ahead = [one.tag for one in signals.mappings(0)]
        signals.listen("tlb.first.evict", lambda _, tag, mapping: self.evicted.append(tag))
        signals.listen("page.map", lambda mapping: self.mapped.append(mapping.tag))
        signals.listen("page.unmap", lambda mapping: self.unmapped.append(mapping.tag))

    def asked(self, translation: Translation) -> bool:
        if not self.room:
            return False
        levels = ("first", "L2")
        there = [self.signals.peek(one, translation.sm, translation.tag) for one in levels]
        self.looked.append((there[0] is not None, there[1] is not None))
        self.send_on(translation)
        return True


def stage_of(run: Run) -> Onlooker:
    (stage,) = run.machine.stages[1]
    assert isinstance(stage, Onlooker)
    return stage


def test_a_look_finds_what_is_there_and_changes_nothing() -> None:
    script = pages(*range(17), 0)  # page 0 has left the first TLB, and is in the second one
    run, plain = Run(own(SMALL, "Onlooker"), script), Run(SMALL, script)
    stage = stage_of(run)
    assert stage.looked == [(False, False)] * 17 + [(False, True)]
    assert stage.evicted == [VPN, VPN + 1], "when page 16 came, and when page 0 came back"
    assert run.latencies == plain.latencies
    for level in ("tlb/L1", "tlb/L2"):
        assert run.count(level, "lookups") == plain.count(level, "lookups")


def test_a_look_is_no_use_of_an_entry() -> None:
    array = make_array(TlbConfig("sm", entries=2, ways=2))
    first, second, third = (Mapping(tag, tag) for tag in (2, 4, 6))
    array.insert(2, first, 0)
    array.insert(4, second, 0)
    assert array.peek(2, 0) is first
    assert array.peek(6, 0) is None
    assert array.next_victim(6) == 2
    array.insert(6, third, 0)
    assert array.peek(2, 0) is None, "it was used longest ago: looks are no uses"
    large = Mapping(512, 512, 512)
    array.insert(700, large, 0)
    assert array.peek(900, 0) is large


@pytest.mark.parametrize(
    ("keys", "page"),
    [
        ({"sub_entries": 4, "array": PolicyConfig("sub-entry")}, 5),
        ({"hash": "xor", "entries": 16, "ways": 2}, 0x123),
        ({"victims": 4}, 9),
        ({"sub_entries": 4}, 7),
    ],
)
def test_arrays_of_other_kinds_can_be_looked_at(keys: dict[str, Any], page: int) -> None:
    array = make_array(attrs.evolve(TlbConfig("sm", entries=8, ways=2), **keys))
    mapping = Mapping(page, 77)
    assert array.peek(page, 0) is None
    array.insert(page, mapping, 0)
    assert array.peek(page, 0) is mapping
    assert array.peek(page + 1, 0) is None


def test_a_victim_buffer_is_looked_at_too() -> None:
    array = make_array(TlbConfig("sm", entries=1, ways=1, victims=2))
    mappings = [Mapping(tag, tag) for tag in range(3)]
    for mapping in mappings:
        array.insert(mapping.tag, mapping, 0)
    assert [array.peek(tag, 0) for tag in range(3)] == mappings


def test_an_array_that_cannot_be_looked_at_is_named() -> None:
    array = make_array(TlbConfig("sm", entries=32, ways=4, array=PolicyConfig("tb-partitioned")))
    with pytest.raises(UserError, match=r"TbPartitionedArray.*peek\(tag, slot\)"):
        array.peek(1, 0)


class Mute(SubEntryArray):
    """It does not tell what it evicts."""

    spills = False


def test_evictions_that_an_array_does_not_tell() -> None:
    mute = PolicyConfig(f"{__name__}:Mute")
    tlb = {**SMALL.tlb, "L1": attrs.evolve(SMALL.tlb["L1"], array=mute)}
    with pytest.raises(UserError, match=r"tlb\.L1\.evict.*Mute.*spills"):
        Run(own(attrs.evolve(SMALL, tlb=tlb), "Onlooker"), pages(0))


def test_there_is_no_such_level() -> None:
    run = Run(own(SMALL, "Onlooker"), pages(0))
    with pytest.raises(UserError, match=r"no TLB level 'L3'.*allowed: L1, first, L2, last"):
        stage_of(run).signals.peek("L3", 0, VPN)


# -- the page table ahead of the program -----------------------------------------------------------


def with_array(config: GpuConfig, *scripts: Script) -> Run:
    application = ScriptedApplication(
        [ScriptedLaunch([list(scripts)])], buffers=(Buffer("a", BASE, 8 * PAGE),)
    )
    return Run.of(config, [Tenant("scripted", application, range(config.sm.count))])


def test_pages_are_mapped_when_they_are_touched_or_ahead() -> None:
    touched = stage_of(with_array(own(SMALL, "Onlooker"), pages(3)))
    assert (touched.ahead, touched.mapped) == ([], [VPN + 3])
    ahead = stage_of(
        with_array(own(change(SMALL, memory={"mapped": "ahead"}), "Onlooker"), pages(3))
    )
    assert (ahead.ahead, ahead.mapped) == ([VPN + page for page in range(8)], [])
    signals = ahead.signals
    assert [one.name for one in signals.arrays(0)] == ["a"]
    assert signals.run(VPN + 3, range(VPN, VPN + 6)) == range(VPN, VPN + 6)
    assert signals.run(VPN + 3, range(VPN, VPN + 99)) == range(VPN, VPN + 8)
    assert not signals.run(VPN + 8, range(VPN, VPN + 99))


def test_the_page_table_tells_what_changes() -> None:
    run = with_array(own(SMALL, "Onlooker"), pages(0, 1))
    stage = stage_of(run)
    run.machine.pages.remap(VPN)
    run.machine.pages.unmap(VPN + 1)
    assert stage.unmapped == [VPN, VPN + 1]
    assert stage.mapped == [VPN, VPN + 1, VPN]
    assert stage.signals.run(VPN, range(VPN, VPN + 2)) == range(VPN, VPN + 1)


def test_mapped_ahead_is_of_no_effect_with_paging() -> None:
    with pytest.raises(UserError, match=r"memory\.mapped.*of no effect"):
        load_model("tiny", ["demand-paging"], overrides={"memory.mapped": "ahead"})


# -- probes of neighbours --------------------------------------------------------------------------


def two_sms(**options: Any) -> GpuConfig:
    return change(own(SMALL, "neighbours", **options), sm={"count": 2})


def after(wait: int, script: Script) -> Script:
    return [("delay", wait), *script]


def test_a_page_of_a_neighbour_is_there_after_the_probe() -> None:
    """The second SM asks for a page that the first one has: no L2 TLB is looked up for it."""
    launch = ScriptedLaunch([[pages(0)], [after(2000, pages(0))]])
    run = Run.of(two_sms(latency=7), [Tenant("scripted", ScriptedApplication([launch]), range(2))])
    assert [run.count("stage/own", name) for name in ("probed", "found", "answered")] == [2, 1, 1]
    assert run.count("tlb/L2", "lookups") == run.count("walk", "walks") == 1
    assert run.states()["stage_own"] == 7 + 7


def test_groups_do_not_probe_each_other() -> None:
    launch = ScriptedLaunch([[pages(0)], [after(2000, pages(0))], [after(2000, pages(0))]])
    config = change(two_sms(group=2), sm={"count": 3})
    run = Run.of(config, [Tenant("scripted", ScriptedApplication([launch]), range(3))])
    assert [run.count("stage/own", name) for name in ("probed", "found")] == [3, 1]


def test_a_neighbour_that_lost_the_page_does_not_answer() -> None:
    def forget(machine: Machine) -> None:
        def later() -> Any:
            yield 1500
            machine.tlbs["L1"][0].shoot_down(None)

        machine.env.start(later())

    launch = ScriptedLaunch([[pages(0)], [after(2000, pages(0))]])
    run = Run.of(two_sms(), [Tenant("scripted", ScriptedApplication([launch]), range(2))], forget)
    assert run.count("stage/own", "found") == 0


# -- MSHR policies ---------------------------------------------------------------------------------


def mshrs(policy: str, count: int, **options: Any) -> GpuConfig:
    l2 = attrs.evolve(SMALL.tlb["L2"], mshrs=count, mshr_policy=PolicyConfig(policy, options))
    config = attrs.evolve(SMALL, tlb={**SMALL.tlb, "L2": l2})
    return change(config, walk={"latency": cycles(500)})


def burst(count: int) -> Script:
    places = [BASE + PAGE * page + 128 * (page % 32) for page in range(count)]
    return [("load", *places), ("wait",)]


def test_an_application_alone_has_all_registers() -> None:
    plain = attrs.evolve(SMALL.tlb["L2"], mshrs=3)
    alone = Run(mshrs("shares", 3), burst(8))
    counted = Run(attrs.evolve(SMALL, tlb={**SMALL.tlb, "L2": plain}), burst(8))
    assert alone.latencies == counted.latencies


def test_each_application_has_its_share() -> None:
    launch = ScriptedLaunch([[burst(8)]])
    other = ScriptedLaunch([[[("delay", 100), *burst(1)]]])
    tenants = [
        Tenant("many", ScriptedApplication([launch]), [0]),
        Tenant("few", ScriptedApplication([other]), [1]),
    ]
    config = change(mshrs("shares", 4), sm={"count": 2})
    run = Run.of(config, tenants)
    assert run.machine.systems[0].walkers.whole.most_walks == 3, "two of the one, one of the other"
    assert run.count("tlb/L2", "misses_held") > 0


def test_misses_in_the_entries_of_the_tlb() -> None:
    few = Run(mshrs("in-tlb", 2, most=0), burst(8))
    more = Run(mshrs("in-tlb", 2, most=64), burst(8))
    assert few.machine.systems[0].walkers.whole.most_walks == 2
    assert more.machine.systems[0].walkers.whole.most_walks == 8
    assert more.count("tlb/L2", "in_tlb") == 6
    assert more.count("tlb/L2", "entries_lost") == 0, "the TLB is empty"


def test_an_entry_goes_for_a_miss_that_is_kept_in_it() -> None:
    config = mshrs("in-tlb", 1)
    small = attrs.evolve(config.tlb["L2"], entries=2, ways=2)
    config = attrs.evolve(config, tlb={**config.tlb, "L2": small})
    run = Run(config, [*pages(0, 1), *burst(5)[:1], ("wait",)])
    assert run.count("tlb/L2", "entries_lost") >= 1


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"mshr_policy": {"policy": "shares", "spare": 8}}, "spare.*must be below 8"),
        ({"mshr_policy": "share"}, "no TLB MSHR policy named 'share'.*did you mean 'shares'"),
        ({"mshr_policy": "shares", "merging": False}, "merging.*must be true with an MSHR policy"),
    ],
)
def test_mshr_policies_that_cannot_be(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        load_model("tiny", overrides={f"tlb.L2.{key}": value for key, value in keys.items()})
