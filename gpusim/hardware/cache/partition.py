"""The lines of an L2 bank, shared by applications or dealt out to them by ways."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.config.schema import L2Config
from gpusim.core.errors import OptionError, UserError
from gpusim.core.even_split import split_ways
from gpusim.hardware.cache.array import CacheArray
from gpusim.hardware.cache.renamed_arrays import GroupedCacheArray


def arrays_of(config: L2Config, apps: Sequence[int]) -> dict[int, CacheArray]:
    """The array that each application uses: one for all, or each its share of the ways.

    No two applications have a line in common, so a hit is always in an application's own ways.

    Raises:
        UserError: more applications than ways, or replacement that cannot serve such a share.
    """
    if config.partition == "none":
        return dict.fromkeys(apps, _array(config, config.ways))
    if len(apps) > config.ways:
        raise UserError(
            f'l2.partition = "{config.partition}": {len(apps)} applications cannot share '
            f"l2.ways = {config.ways}; allowed: at most one application a way"
        )
    shares = zip(apps, split_ways(config.ways, len(apps)), strict=True)
    try:
        return {app: _array(config, own) for app, own in shares}
    except OptionError as error:
        raise UserError(
            f'l2.{error}; l2.partition = "{config.partition}" gives each of {len(apps)} '
            f"applications its share of l2.ways = {config.ways}"
        ) from error


def _array(config: L2Config, ways: int) -> CacheArray:
    """An array with `ways` ways of each set of a bank."""
    sets = config.size // config.line // config.banks // config.ways
    if config.interleave is None:
        return CacheArray(sets * ways, ways, config.banks, config.replacement)
    group = config.interleave // config.line
    return GroupedCacheArray(sets * ways, ways, config.banks, group, config.replacement)
