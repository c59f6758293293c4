"""Settings of all tests.

Two profiles of hypothesis: `quick`, which is the default, and `long`, of which `.ci/run` makes use
(``--hypothesis-profile long``). A test that needs another number of examples than the profile's
asks `tests.examples` for it.
"""

import gc
import os
from collections import Counter

import pytest
from hypothesis import settings

from tests.examples import LONG, QUICK
from tests.forked_pool import fork_workers

# Of the terminal that tests are started in; readline exports them behind Python's back, and tables
# of commands that tests start would fold.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)
    os.unsetenv(name)

for name, examples in (("quick", QUICK), ("long", LONG)):
    settings.register_profile(
        name, max_examples=examples, deadline=None, derandomize=True, print_blob=False
    )
settings.load_profile("quick")


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what a sweep or a survey does, not of how its workers begin and end."""
    fork_workers(monkeypatch)


YOUNG_OBJECTS = 20_000
"""Python looks for garbage among this number of new objects; the usual 700 take a sixth of the
tests' time."""

gc.disable()  # until all tests are collected: a quarter of the time that this takes


def pytest_addoption(parser: pytest.Parser) -> None:
    turn_help = "of tests marked `turns(n)`, one in n of their values, which this number chooses"
    parser.addoption("--turn", type=int, metavar="NUMBER", help=turn_help)
    rest_help = "with --turn: of all other long tests, one in N"
    parser.addoption("--one-in", type=int, default=1, metavar="N", help=rest_help)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests whose turn it is not."""
    turn = config.getoption("turn")
    if turn is None:
        return
    waiting = set()
    before: Counter[str] = Counter()
    for item in sorted(items, key=lambda item: item.nodeid):
        marker = item.get_closest_marker("turns")
        if marker is not None:
            name, one_in = item.nodeid.partition("[")[0], marker.args[0]
        elif item.get_closest_marker("long") is not None:
            name, one_in = "", config.getoption("one_in")
        else:
            continue
        if (before[name] + turn) % one_in:
            waiting.add(item)
        before[name] += 1
    config.hook.pytest_deselected(items=[item for item in items if item in waiting])
    items[:] = [item for item in items if item not in waiting]


def pytest_collection_finish() -> None:
    """All tests and modules are there to stay: Python need not look for garbage among them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """With -q, pytest-randomly does not print the seed of the order; a failure may need it."""
    seed = terminalreporter.config.getoption("randomly_seed", None)
    if exitstatus and seed is not None:
        terminalreporter.write_line(f"order of the tests: --randomly-seed={seed}")
