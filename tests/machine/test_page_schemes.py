"""GRIT's three schemes on a machine: a page that two GPUs read, and one that they also write."""

from __future__ import annotations

import pytest

from gpusim.config.schema import PolicyConfig
from tests.machine.bench import Script
from tests.machine.node_bench import page
from tests.machine.test_node_pages import _after, _host, _together

HOME = 134
SCHEMES = PolicyConfig("page-schemes", {"faults": 2, "group": 1})
HISTORY = PolicyConfig("page-history", {"faults": 2, "group": 1})


def _turns(kind: str, first: int) -> Script:
    """Four accesses of a page, apart from those of the other GPU."""
    return [
        step
        for turn in range(4)
        for step in _after(first if not turn else 20_000, (kind, page(1, 128 * turn)), ("wait",))
    ]


def test_a_page_that_is_only_read_is_copied_when_it_has_gone_to_and_fro() -> None:
    """GPU 0's first fault moves page 1 there; GPU 1's is the second one: it gets a copy."""
    done = _together(_host(remote=SCHEMES), _turns("load", 1), _turns("load", 10_000))
    counts = {one: done.count("node/pages", one) for one in ("migrations", "copies", "collapses")}
    assert counts == {"migrations": 1, "copies": 1, "collapses": 0}
    assert done.latencies[-3:] == [HOME] * 3
    assert done.count("node/pair", "requests") == 0
    two = _together(_host(remote=HISTORY), _turns("load", 1), _turns("load", 10_000))
    assert two.count("node/pair", "requests") == 4, "without copies GPU 1 reads from afar"


@pytest.mark.parametrize(("kind", "copies"), [("load", 1), ("store", 0)])
def test_the_access_behind_the_fault_says_whether_it_is_copied(kind: str, copies: int) -> None:
    done = _together(_host(remote=SCHEMES), _turns(kind, 1), _turns("load", 10_000))
    assert done.count("node/pages", "copies") == copies
    assert done.count("node/pages", "migrations") == 1
