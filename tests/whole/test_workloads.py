"""Every shipped workload runs at smoke scale, and does what its row of sizes.csv says."""

import pytest
from attrs import evolve

import gpusim
from gpusim.workloads.library import find_workload, paper_names, read_paper, workload_names
from gpusim.workloads.sizes import size_of
from gpusim.workloads.workload import load_workload
from tests.quick import quick

MIXES = [
    f"{paper}/{name}"
    for paper in paper_names()
    for name, table in read_paper(paper).workloads.items()
    if len(table["applications"]) > 1
]
PROGRAMS_OF_PAPERS = [
    f"{paper}/{name}"
    for paper in paper_names()
    for name in read_paper(paper).workloads
    if f"{paper}/{name}" not in MIXES
]


def transactions(name: str) -> int:
    """At smoke scale."""
    size = size_of(find_workload(name), "smoke")
    assert size is not None
    assert size.transactions is not None
    return size.transactions


SHORT = [name for name in workload_names() if transactions(name) < 2000]


@pytest.mark.parametrize("name", workload_names())
def test_every_workload_has_its_footprint(name: str) -> None:
    size = size_of(find_workload(name), "smoke")
    assert size is not None
    applications = load_workload(name, "smoke").applications
    buffers = [buffer for spec in applications for buffer in spec.start().buffers]
    assert sum(buffer.bytes for buffer in buffers) == size.footprint


@pytest.mark.parametrize("name", quick(workload_names(), *SHORT))
def test_every_workload_runs(name: str) -> None:
    workload = load_workload(name, "smoke")
    with gpusim.simulate(gpusim.load_model("kepler-uvm"), workload) as result:
        assert result.summary["transactions"] == transactions(name)
        assert set(result.launches.app) == {spec.name for spec in workload.applications}


def parts(name: str) -> list[str]:
    """The workloads of a mix."""
    paper, _, short = name.partition("/")
    return [one["workload"] for one in read_paper(paper).workloads[short]["applications"]]


def with_all_applications() -> list[str]:
    """Mixes, the shortest first, each with an application that none before it has."""
    found: list[str] = []
    seen: set[str] = set()
    for name in sorted(MIXES, key=transactions):
        if not seen.issuperset(parts(name)):
            found.append(name)
            seen.update(parts(name))
    return found


EACH_APPLICATION = with_all_applications()


@pytest.mark.parametrize("name", MIXES)
def test_a_mix_is_as_large_as_its_applications(name: str) -> None:
    assert len(load_workload(name, "smoke").applications) == len(parts(name))
    assert transactions(name) == sum(map(transactions, parts(name)))


AS_COUNTED = {
    "sm.warp_size": 32,
    "sm.simd_lanes": 32,
    "sm.max_warps": 64,
    "l1.line": "128B",
    "l1.sector": "128B",
    "l2.line": "128B",
}
"""Warps and lines for which transactions are listed."""


@pytest.mark.parametrize("name", quick(EACH_APPLICATION, *EACH_APPLICATION[:1]))
def test_mixes_run(name: str) -> None:
    """Each application once; that they start again is in test_relaunch.py, and costs more."""
    model = gpusim.load_model(read_paper(name.partition("/")[0]).model, overrides=AS_COUNTED)
    workload = load_workload(name, "smoke")
    assert workload.relaunch
    workload = evolve(workload, relaunch=False)
    with gpusim.simulate(model, workload) as result:
        assert set(result.launches.app) == {spec.name for spec in workload.applications}
        assert result.summary["transactions"] == transactions(name)


@pytest.mark.parametrize("name", PROGRAMS_OF_PAPERS)
def test_every_name_of_a_paper_resolves(name: str) -> None:
    paper, _, short = name.partition("/")
    (spec,) = load_workload(name, "smoke").applications
    assert spec.start().buffers
    entry = find_workload(name)
    assert entry.name == name
    assert short in read_paper(paper).workloads


APART = ("_s", "_rows", "_columns")
"""Ends of the names of STAR's programs that are not those of Table II."""


def test_the_papers_sets_are_complete() -> None:
    names = {paper: read_paper(paper).workloads for paper in paper_names()}
    single = {p: [n for n in names[p] if f"{p}/{n}" in PROGRAMS_OF_PAPERS] for p in names}
    assert len(single["orchestrated"]) == 10
    assert len(single["virtual-caching"]) == 15
    assert len(single["compression"]) == 22
    assert all("proxy" in table["stated"]["class"] for table in names["compression"].values())
    assert len([n for n in single["mask"] if n != "APPS1"]) == 27
    assert len([n for n in names["mask"] if "_" in n]) == 35
    star = [n for n in names["star"] if n.startswith("W")]
    assert star == [f"W{i}" for i in range(1, 19)]
    assert len([n for n in single["star"] if not n.endswith(APART)]) == 10


@pytest.mark.parametrize("scale", ["quick", "paper"])
@pytest.mark.parametrize("name", workload_names())
def test_footprints_of_larger_scales_are_known(name: str, scale: str) -> None:
    size = size_of(find_workload(name), scale)
    assert size is not None
    assert size.footprint > 0
    if scale == "quick" and name != "launches":  # of kernels that do nothing
        assert size.transactions is not None
        assert 5_000 < size.transactions < 3_000_000
