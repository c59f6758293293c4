"""Occupancy: how many thread blocks of a launch fit on an SM."""

from __future__ import annotations

from gpusim.config.sm import SmConfig
from gpusim.core.warp_program import Launch


class Occupancy:
    """What is still free on one SM: threads, warps, block slots, registers, shared memory.

    Args:
        config: limits of the SM.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        self.threads = config.max_threads
        self.warps = config.max_warps
        self.registers = config.registers
        self.shared_bytes = int(config.shared_memory)
        self._free_block_slots = list(range(config.max_blocks))
        self._free_warp_slots = list(range(config.max_warps))
        self._launches: list[tuple[int, int]] = []
        """Of launches that have begun: blocks at once, and shared memory of these."""
        self._slots = 0
        """Block slots that may be in use."""

    def fits(self, launch: Launch) -> bool:
        """Whether one more block of `launch` fits now."""
        return (
            bool(self._free_block_slots)
            and self.threads >= launch.threads_per_block
            and self.warps >= self.warps_of(launch)
            and self.registers >= launch.registers_per_thread * launch.threads_per_block
            and self.shared_bytes >= launch.shared_bytes
        )

    def warps_of(self, launch: Launch) -> int:
        """Warps of one block."""
        return -(-launch.threads_per_block // self._config.warp_size)

    def take(self, launch: Launch) -> tuple[int, list[int]]:
        """Reserve room for a block; returns its block slot and warp slots, the lowest free ones."""
        self._change(launch, -1)
        block_slot = self._free_block_slots.pop(0)
        count = self.warps_of(launch)
        warp_slots = self._free_warp_slots[:count]
        del self._free_warp_slots[:count]
        return block_slot, warp_slots

    def give_back(self, launch: Launch, block_slot: int, warp_slots: list[int]) -> None:
        """Free the room of a block that has ended."""
        self._change(launch, 1)
        self._free_block_slots = sorted([*self._free_block_slots, block_slot])
        self._free_warp_slots = sorted(self._free_warp_slots + warp_slots)

    def begin(self, launch: Launch, blocks: int) -> tuple[int, int]:
        """A launch begins, of which the SM would hold `blocks` blocks if it held no others.

        Returns:
            how many block slots may be in use from now on, and how much shared memory.
        """
        if not self._launches:
            self._slots = 0
        self._launches.append((blocks, blocks * launch.shared_bytes))
        held = sum([number for number, _ in self._launches])
        self._slots = max(self._slots, min(held, self._config.max_blocks))
        shared_bytes = sum([one for _, one in self._launches])
        return self._slots, min(shared_bytes, int(self._config.shared_memory))

    def end(self, launch: Launch, blocks: int) -> None:
        """A launch that has begun ends."""
        self._launches.remove((blocks, blocks * launch.shared_bytes))

    def _change(self, launch: Launch, sign: int) -> None:
        self.threads += sign * launch.threads_per_block
        self.warps += sign * self.warps_of(launch)
        self.registers += sign * launch.registers_per_thread * launch.threads_per_block
        self.shared_bytes += sign * launch.shared_bytes


def blocks_per_sm(config: SmConfig, launch: Launch) -> int:
    """How many blocks of `launch` an empty SM holds (0: it can never run)."""
    room = Occupancy(config)
    count = 0
    while room.fits(launch):
        room.take(launch)
        count += 1
    return count
