"""What policies may listen to: probes by name, of their own SMs or of all, and the clock."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from gpusim.core.engine import Environment, Probe
from gpusim.core.errors import UserError
from gpusim.core.mapping import Mapping
from gpusim.core.policy import PolicyConfig
from gpusim.core.signals import SignalBoard, Signals
from gpusim.hardware.tlb import SetAssociativeArray
from gpusim.machine import Tenant
from tests.machine.bench import SMALL, Run, ScriptedApplication, ScriptedLaunch, change
from tests.machine.test_latency import BASE


class Board:
    """A board of two SMs with a probe each, and one that tells of no SM."""

    def __init__(self) -> None:
        self.env = Environment()
        self.mapping = Mapping(5, 50)
        self.board = SignalBoard(self.env, 3, {5: self.mapping}.get)
        self.misses: list[Probe[[int]]] = [Probe(), Probe()]
        self.walks: Probe[[str]] = Probe()
        for sm, probe in enumerate(self.misses):
            self.board.offer("l1.miss", probe, [sm])
        self.board.offer("walk.done", self.walks)

    def tell(self) -> None:
        for sm, probe in enumerate(self.misses):
            probe(sm)
        self.walks("walk")


@pytest.mark.parametrize(
    ("sms", "everywhere", "heard"),
    [
        ([0], False, [0]),
        ([1], False, [1]),
        ([0, 1], False, [0, 1]),
        ([7], False, []),
        (range(4), False, [0, 1]),
        ([0], True, [0, 1]),
        ([], True, [0, 1]),
    ],
)
def test_a_policy_hears_of_its_own_sms(sms: Any, everywhere: bool, heard: list[int]) -> None:
    found: list[int] = []
    board = Board()
    board.board.at(sms).listen("l1.miss", found.append, everywhere=everywhere)
    board.tell()
    assert found == heard


def test_what_is_not_of_single_sms_all_may_hear() -> None:
    found: list[str] = []
    board = Board()
    board.board.at([7]).listen("walk.done", found.append)
    board.tell()
    assert found == ["walk"]


def test_signals_for_some_sms_only() -> None:
    found: list[int] = []
    board = Board()
    whole = board.board.at([0, 1])
    whole.at([1]).listen("l1.miss", found.append)
    assert whole.at([1]).sms == [1]
    board.tell()
    assert found == [1]


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    signals = Board().board.at([0])
    assert signals.names() == ("l1.miss", "walk.done")
    with pytest.raises(UserError) as caught:
        signals.listen("l1.mis", print)
    assert str(caught.value) == (
        "this machine has no signal 'l1.mis'; did you mean 'l1.miss'?; allowed: l1.miss, walk.done"
    )
    with pytest.raises(UserError, match="no signal 'zzz'; allowed"):
        signals.listen("zzz", print)


def test_the_clock_can_be_read() -> None:
    board = Board()
    signals = board.board.at([0])
    read: list[int] = []

    def look() -> Any:
        for later in (0, 3, 4):
            yield later
            read.append(signals.now)

    board.env.start(look())
    board.env.run()
    assert read == [0, 3, 7]
    with pytest.raises(AttributeError):
        signals.now = 5  # type: ignore[misc]


def test_mappings_are_those_of_the_page_table() -> None:
    board = Board()
    assert board.board.at([0]).mapping(5) is board.mapping
    assert board.board.at([0]).mapping(6) is None


def test_what_is_shared_is_made_once() -> None:
    board = Board().board
    made: list[list[int]] = []

    def make() -> list[int]:
        made.append([])
        return made[-1]

    one, other = board.at([0]).share("table", make), board.at([1]).share("table", make)
    assert one is other
    assert board.at([0]).share(("table", 2), make) is not one
    assert len(made) == 2
    assert Board().board.at([0]).share("table", make) is not one, "of another machine"


def test_epochs_are_announced_to_whoever_keeps_them() -> None:
    heard: list[tuple[int, ...]] = []
    board = Board().board
    board.at([0], lambda *epoch: heard.append(epoch)).announce(1, 2)
    assert heard == [(1, 2)]
    assert board.at([0]).announce(1, 2) is None
    assert board.at([0]).apps == 3


# -- in a machine --------------------------------------------------------------------------------


class Listener(SetAssociativeArray):
    """Writes down all that it hears under some names."""

    names: tuple[str, ...] = ()
    everywhere = False

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.heard: list[tuple[Any, ...]] = []
        self.signals: Signals | None = None

    def attach(self, signals: Signals) -> None:
        super().attach(signals)
        self.signals = signals
        for name in self.names:
            signals.listen(name, self._note(name), everywhere=self.everywhere)

    def _note(self, name: str) -> Any:
        def note(*told: Any) -> None:
            assert self.signals is not None
            self.heard.append((name, self.signals.now, told))

        return note


class OfL1(Listener):
    names = ("l1.miss", "l1.hit", "tlb.first.miss", "tlb.last.fill")


class OfEverything(Listener):
    names = ("l1.miss", "l1.hit", "walk.done", "kernel.begin", "block.end")
    everywhere = True


class Misspelt(Listener):
    names = ("tlb.frist.miss",)


def two_sms(level: str, array: str) -> Run:
    """A block an SM, which loads a line twice; one array of a level listens."""
    table = attrs.evolve(SMALL.tlb[level], array=PolicyConfig(f"{__name__}:{array}"))
    config = attrs.evolve(change(SMALL, sm={"count": 2}), tlb={**SMALL.tlb, level: table})
    script = [("load", BASE), ("wait",), ("load", BASE), ("wait",)]
    tenant = Tenant("app", ScriptedApplication([ScriptedLaunch([[script]] * 2)]), range(2))
    return Run.of(config, [tenant])


def listeners(run: Run, level: str) -> list[Listener]:
    found = [tlb.array for tlb in run.machine.tlbs[level]]
    assert all(isinstance(one, Listener) for one in found)
    return found  # type: ignore[return-value]


def test_an_array_next_to_an_sm_hears_of_that_sm() -> None:
    for sm, listener in enumerate(listeners(two_sms("L1", "OfL1"), "L1")):
        signals = listener.signals
        assert signals is not None
        assert list(signals.sms) == [sm]
        of_l1 = [(name, told[0]) for name, _, told in listener.heard if name.startswith("l1")]
        assert of_l1 == [("l1.miss", sm), ("l1.hit", sm)]
        assert [told[0] for name, _, told in listener.heard if name == "tlb.first.miss"] == [sm]


def test_an_array_of_all_sms_hears_of_all() -> None:
    (listener,) = listeners(two_sms("L2", "OfL1"), "L2")
    assert sorted(told[0] for name, _, told in listener.heard if name == "l1.hit") == [0, 1]
    assert [name for name, *_ in listener.heard].count("tlb.last.fill") == 1


def test_everywhere_is_everywhere() -> None:
    heard = [listener.heard for listener in listeners(two_sms("L1", "OfEverything"), "L1")]
    assert heard[0] == heard[1]
    names = [name for name, *_ in heard[0]]
    counted = {name: names.count(name) for name in OfEverything.names}
    assert counted == {
        "l1.miss": 2,
        "l1.hit": 2,
        "walk.done": 1,
        "kernel.begin": 2,
        "block.end": 2,
    }
    assert [now for _, now, _ in heard[0]] == sorted(now for _, now, _ in heard[0])


def test_what_a_cache_tells_is_told_in_its_cycle() -> None:
    (listener, _) = listeners(two_sms("L1", "OfEverything"), "L1")
    for name, now, told in listener.heard:
        if name.startswith("l1."):
            assert told[-1] == now


def test_a_misspelt_name_is_refused_when_the_machine_is_built() -> None:
    with pytest.raises(UserError, match=r"no signal 'tlb\.frist\.miss'; did you mean 'tlb\.first"):
        two_sms("L1", "Misspelt")


TLB_EVENTS = ("lookup", "miss", "fill", "keep", "evict", "invalidate")


def test_names_of_a_machine() -> None:
    signals = listeners(two_sms("L1", "OfL1"), "L1")[0].signals
    assert signals is not None
    levels = ("L1", "L2", "first", "last")
    expected = {f"tlb.{level}.{what}" for level in levels for what in TLB_EVENTS}
    events = ("use", "fill", "evict", "invalidate")
    expected |= {f"{cache}.{what}" for cache in ("l1", "l2") for what in events}
    expected |= {"l1.hit", "l1.miss", "l2.lookup", "dram.request"}
    expected |= {"walk.arrived", "walk.done", "kernel.begin", "block.begin", "block.end"}
    expected |= {"warp.begin", "warp.end"}
    assert expected <= set(signals.names())
