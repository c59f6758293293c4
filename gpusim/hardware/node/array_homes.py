"""Arrays of programs that lie in the memory of one GPU of a node."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from gpusim.core.warp_program import Buffer
from gpusim.hardware.node.placement import PagePlacement


class ArrayHomes:
    """Where pages lie: those of arrays that name a GPU there, others as a policy says.

    Args:
        policy: of the other pages.
    """

    def __init__(self, policy: PagePlacement) -> None:
        self.policy = policy
        self._firsts: dict[int, list[int]] = {}
        self._homes: dict[int, list[tuple[int, int]]] = {}
        """By address space, the first page of each array that names a GPU, in order; of each the
        last page, and the GPU."""

    def begin(self, asid: int, arrays: Sequence[Buffer], gpus: Sequence[int]) -> None:
        """An application begins.

        Args:
            asid: its address space.
            arrays: its arrays, as far as it names any.
            gpus: the GPUs that it has, which its arrays count from 0 on.
        """
        self.policy.begin(asid, arrays)
        size = self.policy.page_bytes
        homes = sorted(
            (one.base // size, (one.base + max(one.bytes, 1) - 1) // size, gpus[one.gpu])
            for one in arrays
            if one.gpu is not None
        )
        self._firsts[asid] = [first for first, _, _ in homes]
        self._homes[asid] = [(last, gpu) for _, last, gpu in homes]

    def place(self, asid: int, vpn: int, gpu: int) -> int:
        """The GPU in whose memory a page will lie that `gpu` is the first to ask for."""
        firsts = self._firsts.get(asid)
        if firsts:
            index = bisect_right(firsts, vpn) - 1
            if index >= 0:
                last, home = self._homes[asid][index]
                if vpn <= last:
                    return home
        return self.policy.place(asid, vpn, gpu)
