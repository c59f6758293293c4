"""Where packets come out of links, beside a sorted list."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.engine import NEVER
from gpusim.core.request import MemoryRequest
from gpusim.core.unboxed import pair
from gpusim.hardware.node.link_ends import LinkEnds
from gpusim.hardware.node.packet import Packet, Way


def packet(number: int) -> Packet:
    request = MemoryRequest(0, 0, 0, 0, 0, 0, 0, 1, 0, None, pair(0, 0))
    return Packet(request, Way(0, 1, ()), number, 0, answer=False)


SENT = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6), st.booleans()), max_size=40)
"""Lane, cycles after the last packet of the lane, and whether a packet is taken out first."""


@given(SENT)
def test_packets_come_out_by_arrival_then_in_the_order_in_which_they_were_sent(
    sent: list[tuple[int, int, bool]],
) -> None:
    ends = LinkEnds()
    lanes = [ends.open_lane() for _ in range(4)]
    last = [0] * 4
    waiting: list[tuple[int, int, int]] = []
    for number, (lane, after, takes) in enumerate(sent):
        if takes and waiting:
            waiting.sort()
            assert ends.take().size == waiting.pop(0)[1]
        last[lane] += after
        waiting.append((last[lane], number, lane))
        ends.send(lanes[lane], packet(number), last[lane])
        assert ends.ready == min(waiting)[0]
    for lane in lanes:
        inside = [number for _, number, where in sorted(waiting) if where == lane]
        assert [one.size for one in ends.inside(lane)] == inside
    for _, number, _ in sorted(waiting):
        assert ends.take().size == number
    assert ends.ready == NEVER
