"""What each GPU of a node asked of each other one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import attr
from mypy_extensions import mypyc_attr

from gpusim.core.component import Component
from gpusim.core.counters import count
from gpusim.core.law import Law, laws_of
from gpusim.core.metrics import Metric, Ratio, Total, declare_metrics
from gpusim.core.request import Kind, MemoryRequest

_LOAD: Final = int(Kind.LOAD)
_STORE: Final = int(Kind.STORE)
_WALK: Final = int(Kind.WALK)


@attr.s(auto_attribs=True, eq=False, repr=False)
class PairCounters:
    """What one GPU asked of the memory of another one, for one application."""

    requests: int = count("requests that left the GPU for the memory of the other one")
    answers: int = count("of these, answered")
    loads: int = count("of the requests, loads")
    stores: int = count("of the requests, stores")
    atomics: int = count("of the requests, atomics")
    walks: int = count("of the requests, reads of its page table")
    bytes_there: int = count("bytes of the requests, headers included", "bytes")
    bytes_back: int = count("bytes of the answers, headers included", "bytes")
    latency_cycles: int = count("from crossbar to crossbar, there and back, summed", "cycles")


declare_metrics(
    PairCounters,
    Metric("remote_requests", "1", "requests to memories of other GPUs", Total("requests")),
    Metric(
        "remote_bytes",
        "bytes",
        "moved for requests to other GPUs, headers included",
        Total("bytes_there + bytes_back"),
    ),
    Metric(
        "remote_request_latency",
        "cycles",
        "of a request to another GPU, from crossbar to crossbar",
        Ratio("latency_cycles", "answers"),
    ),
)


@mypyc_attr(allow_interpreted_subclasses=True)
class PairTraffic(Component):
    """The requests of one GPU to the memory of another one.

    Its number among all pairs is ``source * gpus + target``, so that results hold a matrix.

    Args:
        source, target: the GPUs.
        gpus: of the node.
        apps: applications that share the machine.
    """

    path = "node/pair"
    laws: Sequence[Law] = laws_of(
        [PairCounters],
        Law("requests", "answers", "requests to other GPUs", "answers of other GPUs"),
        Law("requests", "loads + stores + atomics + walks"),
    )

    def __init__(self, source: int, target: int, gpus: int, apps: int) -> None:
        self.name = f"pair[{source}→{target}]"
        self.instance = source * gpus + target
        self.counters = [PairCounters() for _ in range(apps)]

    def sent(self, request: MemoryRequest, size: int) -> None:
        """A request has left the crossbar, `size` bytes long."""
        counters = self.counters[request.app]
        counters.requests += 1
        counters.bytes_there += size
        if request.kind == _LOAD:
            counters.loads += 1
        elif request.kind == _STORE:
            counters.stores += 1
        elif request.kind == _WALK:
            counters.walks += 1
        else:
            counters.atomics += 1

    def came(self, request: MemoryRequest, size: int, cycles: int) -> None:
        """Its answer has come, `cycles` later."""
        counters = self.counters[request.app]
        counters.answers += 1
        counters.bytes_back += size
        counters.latency_cycles += cycles

    def app_counters(self, app: int) -> Iterable[object]:
        return (self.counters[app],)
