"""The result of a characterization: which pages blocks and SMs access, without timing."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan

import numpy as np
from attrs import asdict, frozen
from numpy.typing import NDArray

from gpusim.results.run_data import Provenance
from gpusim.studies.characterize.distribution import Distribution

TLB_MARK = 64
"""Entries of ORCH's L1 TLB: its figures mark this distance."""

_STRIDES = 16
"""Strides that JSON tells."""

DISTRIBUTIONS: Mapping[str, tuple[str, str]] = {
    "distance_alone": (
        "pages",
        "distinct other pages between two accesses of a block to one page, the block alone",
    ),
    "distance_interleaved": (
        "pages",
        "the same accesses, with those of all blocks on the SM between them",
    ),
    "accesses_between": (
        "accesses",
        "other accesses of the SM between two accesses to one page, by whichever block",
    ),
    "instruction_pages": ("pages", "distinct pages of a warp memory instruction"),
    "stride": ("pages", "from one access of the SM to its next; 0 for the same page"),
    "shared_page_bits": (
        "bits",
        "upper bits that the virtual page numbers of a window of accesses have in common",
    ),
    "shared_frame_bits": ("bits", "the same of the frame numbers"),
}
"""The distributions of an application: unit of the values, and what is observed."""


@frozen
class KernelCounts:
    """What the launches of one kernel do.

    Attributes:
        name: of the kernel.
        launches, blocks, warps: of all its launches.
        warp_instructions: all of them, waits left out.
        memory_instructions: warp instructions that access global or local memory.
        transactions: after coalescing; each asks for a translation.
    """

    name: str
    launches: int
    blocks: int
    warps: int
    warp_instructions: int
    memory_instructions: int
    transactions: int


@frozen
class ArrayFootprint:
    """How much of an array is touched.

    Attributes:
        name: of the array.
        bytes: its size.
        pages: pages that it lies in; neighbouring arrays may share one.
        touched: those that are accessed.
    """

    name: str
    bytes: int
    pages: int
    touched: int


@frozen(eq=False)
class ApplicationCharacterization:
    """One application.

    Attributes:
        name: unique in the workload.
        sms: SMs that it runs on.
        kernels: in the order of their first launches.
        arrays: in allocation order.
        pages: distinct pages that are accessed.
        intra_bins: (5,) int64, thread blocks by intensity of reuse within themselves.
        inter_bins: (5,) int64, ordered pairs of blocks of one launch by reuse between them.
        pairs: ordered pairs that there are; more than are counted where blocks were drawn.
        distributions: by the names in `DISTRIBUTIONS`.
    """

    name: str
    sms: int
    kernels: tuple[KernelCounts, ...]
    arrays: tuple[ArrayFootprint, ...]
    pages: int
    intra_bins: NDArray[np.int64]
    inter_bins: NDArray[np.int64]
    pairs: int
    distributions: Mapping[str, Distribution]

    def total(self, count: str) -> int:
        """Sum of one of the counts of `KernelCounts`, such as ``"transactions"``."""
        return sum(int(getattr(kernel, count)) for kernel in self.kernels)

    @property
    def array_bytes(self) -> int:
        """Sizes of all arrays."""
        return sum(array.bytes for array in self.arrays)

    @property
    def pairs_counted(self) -> int:
        """Ordered pairs in `inter_bins`."""
        return int(self.inter_bins.sum())

    @property
    def intra_shares(self) -> NDArray[np.float64]:
        """(5,) share of the blocks in each bin (ORCH Fig. 4); nan without blocks."""
        return _shares(self.intra_bins)

    @property
    def inter_shares(self) -> NDArray[np.float64]:
        """(5,) share of the pairs in each bin (ORCH Fig. 3); nan without pairs."""
        return _shares(self.inter_bins)

    @property
    def dominant_stride(self) -> tuple[int, float]:
        """The most frequent stride to another page, and its share of those; (0, nan) if none."""
        moves = self.distributions["stride"].without(0)
        if not moves.total:
            return 0, float("nan")
        stride, count = moves.most_frequent(1)[0]
        return stride, count / moves.total

    def to_json(self, page_bytes: int) -> dict[str, object]:
        """Numbers by name; distances at powers of two, of the strides the most frequent ones."""
        found = self.distributions
        distances = ("distance_alone", "distance_interleaved", "accesses_between")
        plain = ("instruction_pages", "shared_page_bits", "shared_frame_bits")
        return {
            "name": self.name,
            "sms": self.sms,
            "summary": {
                name: None if isnan(value) else value
                for name, (value, _) in self.summary(page_bytes).items()
            },
            "kernels": [asdict(kernel) for kernel in self.kernels],
            "arrays": [asdict(array) for array in self.arrays],
            "intra_bins": self.intra_bins.tolist(),
            "inter_bins": self.inter_bins.tolist(),
            "pairs": self.pairs,
            **{f"{name}_cdf": found[name].cumulative() for name in distances},
            **{name: found[name].to_json() for name in plain},
            "stride": dict(found["stride"].most_frequent(_STRIDES)),
        }

    def summary(self, page_bytes: int) -> dict[str, tuple[int | float, str]]:
        """Headline numbers: value and unit; nan where there is nothing to observe."""
        found = self.distributions
        stride, share = self.dominant_stride
        alone, together = found["distance_alone"], found["distance_interleaved"]
        return {
            **{
                name: (self.total(name), "1")
                for name in (
                    "launches",
                    "blocks",
                    "warps",
                    "warp_instructions",
                    "memory_instructions",
                    "transactions",
                )
            },
            "pages": (self.pages, "pages"),
            "page_footprint": (self.pages * page_bytes, "B"),
            "array_footprint": (self.array_bytes, "B"),
            "pages_per_instruction": (found["instruction_pages"].mean, "pages"),
            "reuses": (alone.total, "1"),
            "distance_alone_median": (_number(alone.quantile(0.5)), "pages"),
            "distance_interleaved_median": (_number(together.quantile(0.5)), "pages"),
            "beyond_64_alone": (_beyond(alone), "fraction"),
            "beyond_64_interleaved": (_beyond(together), "fraction"),
            "accesses_between_median": (
                _number(found["accesses_between"].quantile(0.5)),
                "accesses",
            ),
            "dominant_stride": (stride, "pages"),
            "dominant_stride_share": (share, "fraction"),
            "shared_page_bits": (found["shared_page_bits"].mean, "bits"),
            "shared_frame_bits": (found["shared_frame_bits"].mean, "bits"),
        }


@frozen(eq=False)
class Characterization:
    """A workload's accesses before any TLB, as blocks and SMs of a model make them.

    Attributes:
        provenance: what was characterized on which model.
        page_bytes, line_bytes, warp_size: of the model.
        page_bits, frame_bits: widths of virtual page numbers and of frame numbers.
        applications: in the order of the workload.
    """

    provenance: Provenance
    page_bytes: int
    line_bytes: int
    warp_size: int
    page_bits: int
    frame_bits: int
    applications: tuple[ApplicationCharacterization, ...]

    def to_json(self) -> dict[str, object]:
        """All numbers but those of long distributions, which an HDF5 file keeps."""
        run = self.provenance
        return {
            "model": run.model,
            "variants": list(run.variants),
            "overrides": list(run.overrides),
            "workload": run.workload,
            "scale": run.scale,
            "seed": run.seed,
            "page_bytes": self.page_bytes,
            "line_bytes": self.line_bytes,
            "warp_size": self.warp_size,
            "page_bits": self.page_bits,
            "frame_bits": self.frame_bits,
            "applications": [app.to_json(self.page_bytes) for app in self.applications],
        }


def _shares(bins: NDArray[np.int64]) -> NDArray[np.float64]:
    total = int(bins.sum())
    return bins / total if total else np.full(len(bins), np.nan)


def _number(value: int | None) -> int | float:
    return float("nan") if value is None else value


def _beyond(distances: Distribution) -> float:
    """Share of reuses at distances larger than `TLB_MARK` (ORCH §III-D)."""
    return 1 - distances.at_most(TLB_MARK)
