"""Events of pages in real runs, and files of them that are wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.results.result import Result
from tests.quick import quick
from tests.whole.running import base_run, command, run

BUFFERS = {
    one.name: one for one in gpusim.load_workload("kmeans", "smoke").applications[0].start().buffers
}
NAMES = list(BUFFERS)


def write(path: Path, *events: dict[str, Any] | str) -> Path:
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def total(result: Result, component: str, name: str) -> int:
    rows = result.counters
    return int(rows.value[(rows.component == component) & (rows.counter == name)].sum())


@pytest.mark.long
@pytest.mark.parametrize("variant", ["vc", "vc-opt"])
def test_storms_of_shootdowns_and_synonyms_in_mid_run(variant: str, tmp_path: Path) -> None:
    first, second = NAMES[:2]
    pages = min(BUFFERS[first].bytes, BUFFERS[second].bytes) // 4096 + 1
    storm: list[dict[str, Any]] = []
    for step in range(60):
        page = f"{first}+{4096 * (step % pages)}"
        storm += [
            {"at": 1000 + 60 * step, "event": "remap", "address": page},
            {"at": 1020 + 60 * step, "event": "synonym", "address": f"{second}+0", "of": page},
            {"at": 1030 + 60 * step, "event": "probe", "address": page},
            {"at": 1040 + 60 * step, "event": "protect", "address": page, "permission": "read"},
            {
                "at": 1050 + 60 * step,
                "event": "protect",
                "address": page,
                "permission": "read-write",
            },
        ]
    storm += [{"at": 3000 + 500 * step, "event": "shootdown"} for step in range(4)]
    file = write(tmp_path / "storm.jsonl", *storm)
    calm = run("apu-hsa", "kmeans", variant)
    result = run("apu-hsa", "kmeans", variant, events=file)  # conservation is checked
    for name in ("instructions", "transactions"):
        assert result.summary[name] == calm.summary[name]
    assert result.summary["cycles"] > calm.summary["cycles"]
    assert total(result, "fbt", "shootdowns") == 60 * 4 + 4
    assert total(result, "fbt", "probes") == 60
    assert total(result, "fbt", "synonyms") > 0
    assert result.digest == run("apu-hsa", "kmeans", variant, events=file).digest
    assert result.provenance.overrides == (f"events={file}",)


def test_what_is_not_cached_is_filtered(tmp_path: Path) -> None:
    """VC §4.1: probes by the backward table, shootdowns by the forward table."""
    pages = [f"{name}+0" for name in NAMES]
    file = write(
        tmp_path / "filtered.jsonl",
        *(
            {"at": cycle, "address": page, **event}
            for cycle in (1, 4000)
            for page in pages
            for event in ({"event": "probe"}, {"event": "protect", "permission": "read-write"})
        ),
    )
    result = run("apu-hsa", "kmeans", "vc", events=file)
    for what in ("probes", "shootdowns"):
        assert total(result, "fbt", what) == 2 * len(pages)
        filtered = total(result, "fbt", f"{what}_filtered")
        assert len(pages) <= filtered < 2 * len(pages), "before the first access all are"


def test_a_store_that_its_page_forbids_is_counted(tmp_path: Path) -> None:
    forbid = [
        {"at": 1, "event": "protect", "address": f"{name}+0", "permission": "read"}
        for name in NAMES
    ]
    calm, forbidden = (
        run("apu-hsa", "kmeans", "vc", events=write(tmp_path / f"{len(events)}.jsonl", *events))
        for events in ([{"at": 1, "event": "probe", "address": f"{NAMES[0]}+0"}], forbid)
    )
    assert total(calm, "l2", "permission_faults") == 0
    assert total(forbidden, "l2", "permission_faults") > 0


def test_events_after_the_end_do_not_happen(tmp_path: Path) -> None:
    file = write(tmp_path / "late.jsonl", {"at": 10**9, "event": "shootdown"})
    calm, late = base_run("apu-hsa", "kmeans", "vc"), run("apu-hsa", "kmeans", "vc", events=file)
    assert late.digest == calm.digest
    assert total(late, "fbt", "shootdowns") == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("remap", "line 2: not a JSON object"),
        ("[1]", "line 2: not a JSON object"),
        ({"at": 1, "event": "remep", "address": 0}, "did you mean 'remap'?"),
        ({"at": 1, "event": "probe"}, "address: is missing; 'probe' needs it"),
        ({"at": -1, "event": "shootdown"}, "at = -1: must be a cycle"),
        ({"at": 1, "event": "shootdown", "address": 5}, "address: unknown key of 'shootdown'"),
        ({"at": 1, "event": "probe", "address": 5}, "address = 5: must be an address"),
        ({"at": 1, "event": "probe", "address": "nodes+4k"}, "address = 'nodes+4k': must be"),
        ({"at": 1, "event": "shootdown", "app": "bsf"}, "app = 'bsf': not there; allowed: kmeans"),
        (
            {"at": 1, "event": "protect", "address": f"{NAMES[0]}+0", "permission": "reed"},
            "permission = 'reed': not allowed; did you mean 'read'?; allowed: read, read-write",
        ),
    ],
)
def test_a_line_that_is_no_event(tmp_path: Path, line: Any, message: str) -> None:
    file = write(tmp_path / "events.jsonl", {"at": 5, "event": "shootdown"}, line)
    with pytest.raises(UserError, match=re.escape(message)):
        run("apu-hsa", "kmeans", "vc", events=file)


def test_files_and_machines_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read the events file"):
        run("apu-hsa", "kmeans", "vc", events=tmp_path / "none.jsonl")
    for event in ({"event": "protect", "permission": "read"}, {"event": "probe"}):
        file = write(
            tmp_path / "events.jsonl", {"at": 5, "address": BUFFERS[NAMES[0]].base, **event}
        )
        outcome = command(
            "run", "apu-hsa", "kmeans", "--scale", "smoke", "--events", str(file), code=2
        )
        message = " ".join(outcome.output.split())
        assert f"apu-hsa cannot have the event '{event['event']}': only virtual" in message
        assert "allowed: remap, unmap, synonym, shootdown" in message


@pytest.mark.long
def test_physical_machines_follow_what_tlbs_do(tmp_path: Path) -> None:
    pages = [BUFFERS[name].base for name in NAMES[:2]]
    file = write(
        tmp_path / "events.jsonl",
        {"at": 500, "event": "remap", "address": pages[0]},
        {"at": 1000, "event": "synonym", "address": pages[1], "of": pages[0]},
        {"at": 1500, "event": "unmap", "address": pages[0]},
        {"at": 2000, "event": "shootdown"},
    )
    plain, changed = run("apu-hsa", "kmeans"), run("apu-hsa", "kmeans", events=file)
    assert changed.summary["walks"] > plain.summary["walks"]
    assert changed.summary["transactions"] == plain.summary["transactions"]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"l1.translation": "after"}, 'must be "after-l2"'),
        ({"fbt": "none"}, r"fbt: is missing: l1.translation = \"after-l2\" needs a table"),
        ({"fbt.entries": 100}, "100 entries in 8 ways: sets must be a power of two"),
        ({"fbt.large_pages": "counters"}, "did you mean 'counter'?"),
        ({"fbt.remapping.entries": 0}, "fbt.remapping.entries = 0: must be 1 or more"),
        ({"tlb.L2.scope": "sm"}, r'recipe .vc. needs tlb\.shared\.scope = "gpu" or "instance"'),
        ({"l2.bypass": "translation-aware"}, "no page walk reads the L2 cache"),
        ({"l2.banks": 64, "l2.size": "4MiB"}, "must be at most the 32 lines of a page"),
    ],
)
def test_machines_that_are_refused(overrides: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        gpusim.load_model("apu-hsa", ["vc"], overrides)


@pytest.mark.parametrize("large_pages", quick(["sub-pages", "counter"], "counter"))
def test_large_pages(large_pages: str) -> None:
    overrides: dict[str, object] = {"memory.page": "2MiB", "fbt.large_pages": large_pages}
    result = run("apu-hsa", "kmeans", "vc", overrides=overrides)
    allocations = total(result, "fbt", "allocations")
    assert allocations > 4 if large_pages == "sub-pages" else 0 < allocations < 9


def test_synonym_faults_are_recorded_with_both_names(tmp_path: Path) -> None:
    first, second = (BUFFERS[name] for name in NAMES[:2])
    file = write(
        tmp_path / "synonym.jsonl",
        *(
            {"at": 500 * step, "event": "synonym", "address": second.base, "of": first.base}
            for step in range(10)
        ),
        {"at": 100, "event": "synonym", "address": second.base, "of": first.base},
    )
    result = run("apu-hsa", "kmeans", "vc", events=file, record=["synonym_faults"])
    found = result.table("synonym_faults")
    assert len(found) == total(result, "fbt", "synonym_faults")
    if len(found):
        assert (found.vline != found.leading_vline).all()
        assert (found.vline % 32 == found.leading_vline % 32).all()
