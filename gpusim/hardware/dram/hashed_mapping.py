"""Address mappings whose channel is hashed with the address bits above it."""

from __future__ import annotations

from gpusim.config.dram import DramConfig
from gpusim.core.errors import UserError, nearest
from gpusim.core.interleaving import HASHES, HashedInterleaving, hash_refusal
from gpusim.hardware.dram.mapping import AddressMapping


class HashedMapping(AddressMapping):
    """Permutes the channels, differently for each value of the fields above the channel.

    All other fields are as they were, so each address still has a place of its own, and the mapping
    repeats, as without a hash, after as many bytes as the channels hold.

    Raises:
        UserError: as `AddressMapping`; or the hash cannot be.
    """

    __slots__ = ("_part",)

    def __init__(self, config: DramConfig) -> None:
        super().__init__(config)
        name = config.hash
        if name not in HASHES:
            raise UserError(
                f"dram.hash: {name!r}{nearest(str(name), HASHES)}; "
                f"allowed: none, {', '.join(HASHES)}"
            )
        if refusal := hash_refusal(name, self.channels):
            raise UserError(f"dram.hash: {refusal}")
        if self.above == 1:
            raise UserError(
                f"dram.hash: in dram.mapping = {config.mapping!r} nothing stands above 'channel' "
                f"that could be folded into it"
            )
        self._part = HashedInterleaving(name, self.channels, self.above).part

    def channel(self, address: int) -> int:
        return self._part(address >> self._below)


def mapping_of(config: DramConfig) -> AddressMapping:
    """The mapping of a DRAM table.

    Raises:
        UserError: see `AddressMapping` and `HashedMapping`.
    """
    return AddressMapping(config) if config.hash is None else HashedMapping(config)
