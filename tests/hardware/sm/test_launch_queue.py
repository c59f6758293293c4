"""The queue of launches against a list of what CUDA's rules allow."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.core.streams import StreamUse
from gpusim.hardware.sm.launch_queue import LaunchQueue
from tests.examples import examples
from tests.machine.bench import ScriptedLaunch

PROGRAMS = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.integers(0, 7), max_size=2), st.booleans()),
    min_size=1,
    max_size=12,
)


def uses_of(program: list[tuple[int, list[int], bool]]) -> list[StreamUse]:
    """Uses of streams; a launch may only wait for those of streams before it."""
    uses: list[StreamUse] = []
    for stream, after, waits in program:
        before = tuple(uses[n] for n in after if n < len(uses) and uses[n].stream)
        uses.append(StreamUse(stream, before, waits))
    return uses


def allowed(uses: list[StreamUse], ended: set[int]) -> set[int]:
    """Which launches may have begun, by the rules as they are written."""
    found: set[int] = set()
    for number, use in enumerate(uses):
        before = range(number)
        waits = {n for n in before if uses[n].host_waits or not uses[n].stream}
        needs = {n for n in before if uses[n].stream in (use.stream, 0) or uses[n] in use.after}
        if not use.stream:
            needs = set(before)
        if waits:  # the host has gone on once all up to there had ended
            needs |= set(range(max(waits) + 1))
        if needs <= ended:
            found.add(number)
    return found


@settings(max_examples=examples(200), deadline=None)
@given(PROGRAMS, st.one_of(st.none(), st.integers(1, 4)), st.randoms(use_true_random=False))
def test_what_may_begin_begins(program, most, random):
    uses = uses_of(program)
    launches = [ScriptedLaunch([[[]]], stream_use=use) for use in uses]
    queue = LaunchQueue(iter(launches), most)
    begun: list[int] = []
    ended: set[int] = set()
    while not queue.is_over():
        while (waiting := queue.take()) is not None:
            begun.append(waiting.index)
            assert waiting.launch is launches[waiting.index]
        running = [n for n in begun if n not in ended]
        assert set(begun) <= allowed(uses, ended)
        assert len(running) <= (most or len(uses))
        if most is None:
            assert set(begun) == allowed(uses, ended)
        one = random.choice(running)
        ended.add(one)
        queue.end(uses[one])
    assert sorted(begun) == list(range(len(uses)))


def test_dropped_launches_do_not_begin():
    launches = [ScriptedLaunch([[[]]], stream_use=StreamUse(1)) for _ in range(3)]
    queue = LaunchQueue(iter(launches), None)
    first = queue.take()
    assert first is not None
    queue.drop()
    assert not queue.is_over()
    queue.end(first.use)
    assert queue.take() is None
    assert queue.is_over()
