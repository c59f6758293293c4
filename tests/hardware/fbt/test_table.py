"""The table against a naive one: a plain list of pages."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gpusim.hardware.fbt import ForwardBackwardTable, Page
from tests.examples import examples

WAYS, SETS, LINES = 2, 2, 4
numbers = st.integers(0, 9)


class TableAgainstList(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.table = ForwardBackwardTable(SETS * WAYS, WAYS, LINES)
        self.pages: list[Page] = []  # the least recently used first
        self.lines: dict[int, set[int]] = {}

    def in_set(self, number: int, by: str) -> list[Page]:
        return [page for page in self.pages if getattr(page, by) % SETS == number % SETS]

    @rule(frame=numbers, leading=numbers)
    def touch(self, frame: int, leading: int) -> None:
        page = self.table.backward(frame)
        known = [one for one in self.pages if one.frame == frame]
        assert ([] if page is None else [page]) == known
        if page is not None:
            self.pages.remove(page)
            self.pages.append(page)
            return
        victim = self.table.in_the_way(frame, leading)
        same = [one for one in self.pages if one.leading == leading]
        full = [
            found
            for number, by in ((frame, "frame"), (leading, "leading"))
            if len(found := self.in_set(number, by)) == WAYS
        ]
        if same:
            assert victim is same[0]
        elif full:
            assert victim in full[0]
            locked = [one for one in full[0] if one.locked]
            empty = [one for one in full[0] if not self.lines[one.frame] and not one.users]
            assert victim is (locked or empty or full[0])[0]
        else:
            assert victim is None
            made = self.table.insert(frame, leading, writable=True)
            self.pages.append(made)
            self.lines[frame] = set()

    @precondition(lambda self: self.pages)
    @rule(data=st.data(), line=st.integers(0, LINES - 1))
    def change(self, data: st.DataObject, line: int) -> None:
        page = data.draw(st.sampled_from(self.pages))
        what = data.draw(st.sampled_from(["fill", "evict", "lock", "use", "remove"]))
        lines = self.lines[page.frame]
        if what == "fill":
            self.table.line_filled(page, line)
            lines.add(line)
        elif what == "evict":
            self.table.line_evicted(page, line)
            lines.discard(line)
        elif what == "lock":
            page.locked = not page.locked
        elif what == "use":
            page.users = 1 - page.users
        else:
            self.table.remove(page)
            self.pages.remove(page)
            del self.lines[page.frame]

    @invariant()
    def agree(self) -> None:
        assert len(self.table) == len(self.pages)
        assert {page.frame for page in self.table.pages()} == set(self.lines)
        for page in self.pages:
            assert self.table.forward(page.leading) is page
            held = {line for line in range(LINES) if self.table.may_hold(page, line)}
            assert held == self.lines[page.frame]


TestTableAgainstList = TableAgainstList.TestCase
TestTableAgainstList.settings = settings(
    max_examples=examples(100), stateful_step_count=20, deadline=None
)


def test_without_a_vector_lines_are_counted() -> None:
    table = ForwardBackwardTable(4, 2, vector=0)
    page = table.insert(1, 2, writable=True)
    assert not table.may_hold(page, 500)
    table.line_filled(page, 500)
    table.line_filled(page, 7)
    table.line_evicted(page, 500)
    assert page.lines == 1
    assert table.may_hold(page, 500)  # it cannot tell which
    table.line_evicted(page, 7)
    assert not table.may_hold(page, 7)
