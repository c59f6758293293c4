"""The policy slot of block shares: which GPU of a node runs which blocks of a launch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from gpusim.core.errors import at_least
from gpusim.core.policy import Policy
from gpusim.core.registry import Slot, open_slot, register_policy
from gpusim.core.warp_program import Launch


@mypyc_attr(allow_interpreted_subclasses=True)
class BlockShares(Policy):
    """Deals out the blocks of a launch to the GPUs on which its application has SMs.

    Args:
        sms: by GPU, how many of its SMs the application has.
    """

    def __init__(self, sms: Sequence[int]) -> None:
        self.sms = sms

    @abstractmethod
    def deal(self, launch: Launch, gpus: int) -> Sequence[Sequence[int]]:
        """The blocks of each of `gpus` GPUs, in the order in which they are placed there.

        Each block ``0 .. launch.blocks - 1`` is in one of them, once.
        """


open_slot(Slot.BLOCK_SHARES, BlockShares, "sms")


@mypyc_attr(allow_interpreted_subclasses=True)
class ContiguousShares(BlockShares):
    """Equal runs of blocks: the first ones go to the first GPU (Milic et al., MICRO 2017)."""

    def deal(self, launch: Launch, gpus: int) -> Sequence[Sequence[int]]:
        blocks = launch.blocks
        cuts = [blocks * gpu // gpus for gpu in range(gpus + 1)]
        return [range(cuts[gpu], cuts[gpu + 1]) for gpu in range(gpus)]


register_policy(Slot.BLOCK_SHARES, "contiguous", ContiguousShares)


@mypyc_attr(allow_interpreted_subclasses=True)
class RoundRobinShares(BlockShares):
    """Blocks, or runs of blocks, in turn.

    Args:
        sms: see `BlockShares`.
        blocks: of a run.
    """

    def __init__(self, sms: Sequence[int], *, blocks: int = 1) -> None:
        super().__init__(sms)
        at_least(1, blocks=blocks)
        self._blocks = blocks

    def deal(self, launch: Launch, gpus: int) -> Sequence[Sequence[int]]:
        each = self._blocks
        if each == 1:
            return [range(gpu, launch.blocks, gpus) for gpu in range(gpus)]
        runs = range(0, launch.blocks, each)
        return [
            [
                block
                for first in runs[gpu::gpus]
                for block in range(first, min(first + each, launch.blocks))
            ]
            for gpu in range(gpus)
        ]


register_policy(Slot.BLOCK_SHARES, "round-robin", RoundRobinShares)


@mypyc_attr(allow_interpreted_subclasses=True)
class PerSmShares(BlockShares):
    """Runs of blocks, as many for each SM, rounded up, as the launch has for one of all SMs.

    The first GPUs get theirs first, so that the last ones have fewer, or none: of 64 blocks on two
    GPUs of 64 SMs, the first one runs all, as under MGPUSim's unified driver.
    """

    def deal(self, launch: Launch, gpus: int) -> Sequence[Sequence[int]]:
        blocks, each, begin = launch.blocks, -(-launch.blocks // sum(self.sms)), 0
        shares = []
        for sms in self.sms:
            end = min(begin + sms * each, blocks)
            shares.append(range(begin, end))
            begin = end
        return shares


register_policy(Slot.BLOCK_SHARES, "per-sm", PerSmShares)
