"""End-of-run conservation checks: what went in came out, once, and every cycle is accounted for.

They run at the end of every simulation; a violation is an error with a name, never a warning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from gpusim.machine import Machine

Sums = Mapping[str, Mapping[str, int]]
"""Counters of one application, summed over instances: ``sums[component][counter]``."""


class ConservationError(AssertionError):
    """The simulator is wrong: something was lost, doubled, or not accounted for."""


def check_conservation(machine: Machine) -> None:
    """Check a machine whose environment has run out of events.

    Raises:
        ConservationError: names every violated law, and the numbers.
    """
    broken = [*_drained(machine), *_lives(machine)]
    for scheduler, (app, sums) in zip(machine.schedulers, _sums(machine).items(), strict=True):
        laws = [*_balances(machine, sums), *_warps(scheduler.warps_launched, sums)]
        broken += [f"{app}: {violation}" for violation in laws]
    if broken:
        raise ConservationError("conservation is violated:\n  " + "\n  ".join(broken))


def _drained(machine: Machine) -> Iterator[str]:
    """Every queue and every MSHR is empty, every credit is back."""
    for component in machine.components():
        left = component.in_flight()
        if left:
            name = getattr(component, "name", type(component).__name__)
            yield f"drained: {name} still holds {left} requests or warps"


def _lives(machine: Machine) -> Iterator[str]:
    """Each warp's states add up to its lifetime, summed over the warps of an SM."""
    for sm in machine.sms:
        ledger = sm.ledger
        for app, sums, life in zip(machine.names, ledger.sums, ledger.lifetimes, strict=True):
            if sum(sums) != life:
                yield (
                    f"lives: on SM {sm.index} the states of the warps of {app} add up to "
                    f"{sum(sums)} cycles, their lives to {life}"
                )


def _sums(machine: Machine) -> dict[str, dict[str, dict[str, int]]]:
    """``sums[app][component][counter]`` over all instances of a component."""
    sums: dict[str, dict[str, dict[str, int]]] = {
        app: defaultdict(lambda: defaultdict(int)) for app in machine.names
    }
    for row in machine.counter_rows():
        if row.app:
            sums[row.app][row.component][row.name] += row.value
    return sums


def _balances(machine: Machine, sums: Sums) -> Iterator[str]:
    """The laws that hold between the counters of one application."""
    for component, counters in sums.items():
        if "misses" in counters:
            yield from _equal(
                f"{component}: lookups", counters["lookups"],
                "hits + misses", counters["hits"] + counters["misses"],
            )  # fmt: skip
            yield from _equal(
                f"{component}: fills", counters["fills"],
                "misses that were not merged",
                counters["misses"] - counters["merged"] - counters["replays"],
            )  # fmt: skip
    sm, l1, l2 = sums["sm"], sums["l1"], sums["l2"]
    walk, dram = sums["walk"], sums["dram"]
    yield from _equal(
        "transactions", sm["transactions"],
        "L1 lookups + stores and atomics", l1["lookups"] + l1["stores"],
    )  # fmt: skip
    yield from _equal(
        "translations asked of the walkers", walk["requests"],
        "walks + merged", walk["walks"] + walk["merged"],
    )  # fmt: skip
    yield from _equal(
        "walks asked for", walk["requests"],
        "misses of the last TLB level that were not merged",
        sums[f"tlb/{list(machine.tlbs)[-1]}"]["fills"],
    )  # fmt: skip
    data = l2["lookups"] - l2["translation_lookups"]
    yield from _equal(
        "data lookups of the L2 cache", data,
        "L1 misses that were not merged + stores and atomics + loads sent again",
        l1["misses"] - l1["merged"] + l1["stores"] + l1["sent_again"],
    )  # fmt: skip
    if machine.fbt is not None:
        yield from _let_through(sums["fbt"], l2, sums[f"tlb/{next(iter(machine.tlbs))}"])
    levels = [sums[name] for name in sums if name.startswith("page_table/")]
    past_l2 = sum(level["l2_bypassed"] for level in levels)
    if machine.config.walk.reads("dram"):
        past_l2 = walk["level_accesses"]
    elif machine.config.walk.reads("l2"):
        yield from _equal(
            "page-table reads", walk["level_accesses"],
            "their L2 lookups + those that went past", l2["translation_lookups"] + past_l2,
        )  # fmt: skip
    for what in ("lookups", "hits"):
        yield from _equal(
            f"translation {what} of the L2 cache", l2[f"translation_{what}"],
            "those of all levels", sum(level[f"l2_{what}"] for level in levels),
        )  # fmt: skip
    yield from _equal(
        "DRAM reads", dram["data_reads"] + dram["walk_reads"],
        "L2 fills + page-table reads that went past the L2 cache", l2["fills"] + past_l2,
    )  # fmt: skip
    yield from _equal("DRAM writes", dram["writes"], "L2 write-backs", l2["writebacks"])


def _let_through(
    fbt: Mapping[str, int], l2: Mapping[str, int], tlb: Mapping[str, int]
) -> Iterator[str]:  # fmt: skip
    """What the forward–backward table lets through is what misses in a virtual L2 cache."""
    through = fbt["leading"] + fbt["synonyms"]
    yield from _equal(
        "misses that were let through", through,
        "L2 misses that were not merged", l2["misses"] - l2["merged"],
    )  # fmt: skip
    yield from _equal(
        "lookups of frames", fbt["lookups"],
        "misses that were let through + waits", through + fbt["waits"],
    )  # fmt: skip
    yield from _equal(
        "lookups of the shared TLB", tlb["lookups"],
        "misses that were let through + asked again", through + fbt["asked_again"],
    )  # fmt: skip


def _warps(launched: int, sums: Sums) -> Iterator[str]:
    """Every warp that was launched has ended."""
    yield from _equal("warps that ended", sums["sm"]["warps"], "warps launched", launched)


def _equal(what: str, left: int, other: str, right: int) -> Iterator[str]:
    if left != right:
        yield f"{what} = {left}, but {other} = {right}"
