"""A side cache: it only reads, and takes accesses of one kind past the L1 cache."""

from __future__ import annotations

from collections.abc import Iterator

import attr

from gpusim.config.schema import L1Config
from gpusim.core.engine import EventLoop
from gpusim.core.metrics import FRACTION, Metric, Ratio, Total, declare_metrics
from gpusim.files.units import Hertz
from gpusim.hardware.cache.l1 import FirstCacheCounters, L1Cache


@attr.s(auto_attribs=True)
class SideCounters(FirstCacheCounters):
    """Likewise of a side cache, which sees no stores."""


declare_metrics(
    SideCounters,
    Metric("{}_lookups", "1", "{} cache lookups", Total("lookups")),
    Metric("{}_hit_rate", FRACTION, "{} cache hit rate", Ratio("hits", "lookups")),
)


class SideCache(L1Cache):
    """Tags and MSHRs of one of the side caches that a model calls `path`."""

    def __init__(
        self, env: EventLoop, path: str, instance: int, config: L1Config, clock: Hertz, apps: int
    ) -> None:
        super().__init__(env, instance, config, clock, apps)
        self.name = f"{path}[{instance}]"
        self.path = path
        self.counters = [SideCounters() for _ in range(apps)]

    def policies(self) -> Iterator[tuple[str, object]]:
        yield f"{self.path}.replacement", self.array.replacement
