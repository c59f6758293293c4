"""STAR's TLBs in whole runs: where they change nothing, what they count, and what is refused."""

from __future__ import annotations

from functools import cache

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.machine.load import load_model
from gpusim.results.result import Result
from tests.quick import quick
from tests.whole.running import command, run
from tests.whole.test_mechanisms import assert_same, counters

SMALL_TLBS: dict[str, object] = {
    "memory.page": "4KiB",
    "tlb.L2.entries": 7,
    "tlb.L2.ways": 7,
    "tlb.L3.entries": 48,
    "tlb.L3.ways": 6,
    "l1.hash": "none",
}
"""So small that the L3 TLB evicts, at smoke scale."""
SHORT: dict[str, object] = {"iterations": 3}
SHORTER: dict[str, dict[str, object]] = {"atax": SHORT, "matrix_transpose": {}}


@cache
def short_base(workload: str) -> Result:
    return run("a100-mig", workload, overrides=SMALL_TLBS, parameters=SHORTER[workload])


def evictions(result: Result, app: str) -> tuple[int, int]:
    """Of the L3 TLB: what the level counted, and what the array did."""
    found = {k[3]: v for k, v in counters(result).items() if k[0] == "tlb/L3" and k[2] == app}
    return found["evictions"], sum(found[f"evicted_with_{used}"] for used in range(1, 17))


ONE_BASE = {"policy": "star", "bases": 1}


@pytest.mark.parametrize("workload", quick(["atax", "matrix_transpose"], "atax"))
def test_one_base_is_the_plain_array(workload: str) -> None:
    base = short_base(workload)
    one = run(
        "a100-mig",
        workload,
        overrides=SMALL_TLBS | {"tlb.L3.array": ONE_BASE},
        parameters=SHORTER[workload],
    )
    own = assert_same(base, one)
    assert not any(own.values())
    if workload == "atax":
        assert base.summary["tlb_L3_hit_rate"] > 0.1
        assert evictions(base, "atax")[0] > 100


@pytest.mark.parametrize(
    "variant",
    quick(
        ["star", "stride-only", "star-4-base", "sequential-only", "star-stride-2", "star-stride-4"],
        "star",
    ),
)
def test_shared_entries_do_the_same_work(variant: str) -> None:
    base = short_base("atax")
    shared = run("a100-mig", "atax", variant, overrides=SMALL_TLBS, parameters=SHORT)
    again = run("a100-mig", "atax", variant, overrides=SMALL_TLBS, parameters=SHORT)
    assert shared.digest == again.digest
    for what in ("instructions", "memory_instructions", "transactions"):
        assert shared.summary[what] == base.summary[what]
    level, array = evictions(shared, "atax")
    assert level == array > 0
    own = {k[3]: v for k, v in counters(shared).items() if k[:3] == ("tlb/L3", 0, "")}
    assert (own["sequential_shares"] > 0) == (variant != "stride-only")
    assert (own["stride_shares"] > 0) == (variant != "sequential-only")
    assert (own["promotions"] > 0) == (variant == "star-4-base")
    assert own["reverts"] > 0
    assert 0 < shared.summary["tlb_L3_utilisation"] <= 1


@pytest.mark.long
@pytest.mark.parametrize(
    "variant",
    quick(
        [
            "star",
            "star-4-base",
            "half-sub-double-set",
            "half-sub-double-way-para",
            "half-sub-double-way-seq",
            "static-ways",
            "star+static",
        ],
        "star",
    ),
)
def test_each_goes_with_huge_pages(variant: str) -> None:
    assert run("a100-mig", "matrix_transpose", variant, "huge-pages").summary["cycles"] > 0


def test_half_of_the_sub_entries_in_twice_as_many_entries() -> None:
    def l3(variant: str) -> tuple[int, int, int]:
        level = load_model("a100-mig", [variant]).config.tlb["L3"]
        return level.entries // level.ways, level.ways, level.sub_entries

    assert l3("star") == (128, 8, 16)
    assert l3("half-sub-double-set") == (256, 8, 8)
    assert l3("half-sub-double-way-para") == l3("half-sub-double-way-seq") == (128, 16, 8)


def mix(tmp_path, applications: int) -> gpusim.Workload:
    path = tmp_path / "mix.toml"
    path.write_text(
        "".join(
            f'[[applications]]\nworkload = "matrix_transpose"\nname = "app{i}"\ninstance = "1g"\n'
            for i in range(applications)
        )
    )
    return gpusim.load_workload(str(path), "smoke")


@pytest.mark.long
def test_partitions_count_for_each_application(tmp_path) -> None:
    overrides = SMALL_TLBS | {"tlb.L3.entries": 16, "tlb.L3.ways": 8}
    model = load_model("a100-mig", ["star+static"], overrides)
    tree = gpusim.simulate(model, mix(tmp_path, 3)).counter_tree()["tlb"]["L3"][0]
    for app in ("app0", "app1", "app2"):
        assert {"lookups", "sequential_shares", "evicted_with_16"} <= tree[app].keys()
    assert tree["app0"]["evictions"] < tree["app1"]["evictions"]  # 4 ways, 2 ways


def test_more_applications_than_partitions(tmp_path) -> None:
    with pytest.raises(UserError, match="'static-ways' serves 3 applications, there are 4"):
        gpusim.simulate(load_model("a100-mig", ["static-ways"]), mix(tmp_path, 4))


@pytest.mark.parametrize(
    ("array", "words"),
    [
        ({"policy": "star", "layouts": "strides"}, ["array.layouts = 'strides'", "mean 'stride'"]),
        ({"policy": "star", "bases": 3}, ["array.bases = 3", "1, 2 or 4"]),
        ({"policy": "star", "strides": 2}, ["no option 'strides'", "did you mean 'stride'"]),
        ({"policy": "star", "stride": 16}, ["array.stride = 16", "power of two up to 8"]),
        (
            {"policy": "star", "bases": 4, "relocate": "lazy"},
            ["array.relocate = 'lazy'", '"eager" with four bases'],
        ),
        ({"policy": "sub-entry-groups", "groups": 3}, ["L3.ways = 8", "multiple of groups = 3"]),
        ({"policy": "static-ways"}, ["array.ways_of", "is missing"]),
        (
            {"policy": "static-ways", "ways_of": "4/4/4"},
            ["array.ways_of = '4/4/4'", "add up to 8 ways"],
        ),
        (
            {"policy": "static-ways", "ways_of": "4/4", "of": "starr"},
            ["tlb.L3.array", "did you mean 'star'"],
        ),
    ],
)
def test_refused_when_loaded(array: dict[str, object], words: list[str]) -> None:
    settings = {f"tlb.L3.array.{name}": value for name, value in array.items()}
    with pytest.raises(UserError) as caught:
        gpusim.load_model("a100-mig", overrides=settings)
    assert [word for word in words if word not in str(caught.value)] == []


def test_entries_of_one_page_are_not_shared() -> None:
    settings = {"tlb.L3.array": "star", "tlb.L3.sub_entries": 1}
    with pytest.raises(
        UserError, match=r"tlb\.L3\.sub_entries = 1.* must be 2 or more, as bases = 2"
    ):
        gpusim.load_model("a100-mig", overrides=settings)


def test_the_command_line_knows_the_policies() -> None:
    listed = command("list", "policies").output
    for name in ("star", "static-ways", "sub-entry-groups"):
        assert name in listed
