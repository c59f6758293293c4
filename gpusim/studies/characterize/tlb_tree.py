"""Designs of TLBs over one page table, as a tree: what is the same before them is shared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from attrs import define

from gpusim.core.errors import UserError
from gpusim.core.mapping import ASID_SHIFT, VPN_MASK
from gpusim.core.mapping_calls import MappingCall
from gpusim.machine import Machine
from gpusim.studies.characterize.access_stream import EVENTS, Accesses, Ints
from gpusim.studies.characterize.tlb_designs import Design
from gpusim.studies.characterize.tlb_levels import (
    Asked,
    Level,
    LevelCounts,
    LevelSite,
    Lookups,
    Mask,
    PolicyLevel,
    is_plain,
    pages_of,
    plain_level,
    untimed,
)
from gpusim.studies.characterize.tlb_result import DesignCounts, LevelResult


@define(eq=False)
class _Node:
    """TLBs of a level of one or more designs, all of which are asked for the same lookups.

    Attributes:
        asked: for what.
        level: what they hold.
        sites: by design.
        misses: by design, by application.
        below: by design, the next levels.
    """

    asked: Asked
    level: Level
    sites: list[LevelSite]
    misses: list[Ints]
    below: list[list[_Node]]

    @classmethod
    def of(cls, site: LevelSite, asked: Asked, apps: int) -> _Node:
        """A node of one design."""
        level = plain_level([site.config]) if is_plain(site) else PolicyLevel(site)
        return cls(asked, level, [site], [np.zeros(apps, dtype=np.int64)], [[]])

    def place(self, site: LevelSite) -> int | None:
        """Which of its designs has the TLBs of a site; None: it cannot take them in."""
        configs = [one.config for one in self.sites]
        if site.config in configs:
            return configs.index(site.config)
        first = configs[0]
        if not (is_plain(site) and is_plain(self.sites[0]) and site.config.scope == first.scope):
            return None
        if site.config.entries // site.config.ways != first.entries // first.ways:
            return None
        self.level = plain_level([*configs, site.config])
        self.sites.append(site)
        self.misses.append(np.zeros_like(self.misses[0]))
        self.below.append([])
        return len(configs)


class DesignTree:
    """Designs whose pages are the same, and lie in the same frames.

    Args:
        machine: of the first of them, which is never run; its page table is that of all.
        designs: they.
    """

    def __init__(self, machine: Machine, designs: Sequence[Design]) -> None:
        config = machine.config
        self._machine = machine
        self._designs = designs
        self._apps = len(machine.tenants)
        self._shift = (int(config.memory.page) // int(config.l1.line)).bit_length() - 1
        self._known = np.zeros(0, dtype=np.int64)
        self._first: list[_Node] = []
        self._chains: list[list[tuple[_Node, int]]] = [self._chain(one) for one in designs]

    def tags(self, accesses: Accesses) -> Ints:
        """(n,) the tagged pages of accesses."""
        return accesses.app << ASID_SHIFT | accesses.line >> self._shift

    def _chain(self, design: Design) -> list[tuple[_Node, int]]:
        """The levels of a design: each as a node, and which one of the designs in there it is."""
        nodes = self._first
        found: list[tuple[_Node, int]] = []
        for name, config in design.config.tlb.items():
            site = LevelSite(name, untimed(config), self._machine, design.config)
            try:
                node, place = self._node(nodes, site)
            except UserError as error:
                raise UserError(f"design {design.name!r}, tlb.{name}: {error}") from error
            found.append((node, place))
            nodes = node.below[place]
        return found

    def _node(self, nodes: list[_Node], site: LevelSite) -> tuple[_Node, int]:
        """One of the nodes that has the TLBs of a site, a new one where there is none."""
        for node in nodes:
            place = node.place(site)
            if place is not None:
                return node, place
        scope = site.config.scope
        known = (one.asked for one in nodes if one.sites[0].config.scope == scope)
        node = _Node.of(site, next(known, None) or Asked(site, self._apps), self._apps)
        nodes.append(node)
        return node, 0

    # -- lookups -----------------------------------------------------------------------------------

    def map(self, accesses: Accesses, tag: Ints, real: Mask) -> None:
        """Give new pages their frames, in the order of their first accesses; `real`: no events."""
        of_accesses = np.flatnonzero(real)
        pages = np.unique(tag[of_accesses])
        new = pages[~np.isin(pages, self._known, assume_unique=True)]
        if not len(new):
            return
        which = of_accesses[np.isin(tag[of_accesses], new)]
        order = which[np.lexsort((accesses.sm[which], accesses.cycle[which]))]
        walk = self._machine.page_table.walk
        pages, first = np.unique(tag[order], return_index=True)
        for page in pages[np.argsort(first)].tolist():
            walk(page >> ASID_SHIFT, page & VPN_MASK)
        self._known = np.union1d(self._known, new)

    def perform(self, call: MappingCall) -> None:
        """Let the only application map or unmap pieces of its arrays.

        Raises:
            UserError: a piece is not mapped.
        """
        assert self._machine.mapping_calls is not None
        self._machine.mapping_calls.at_once(0, call)
        shift = self._machine.page_table.page_shift
        for address in () if call.maps else call.pieces:
            first, end = address >> shift, address + call.piece_bytes >> shift
            self._known = self._known[(self._known < first) | (self._known >= end)]

    def take(self, accesses: Accesses) -> None:
        """Let what the first levels are asked for pass."""
        self._pass(self._first, Lookups(accesses, self.tags(accesses)))

    def _pass(self, nodes: list[_Node], lookups: Lookups) -> None:
        """Let lookups pass through levels side by side, and their misses through the next ones."""
        for asked in dict.fromkeys(node.asked for node in nodes):
            ordered, tlb = asked.in_order(lookups)
            real = ordered.accesses.kind < EVENTS
            asked.count(ordered, pages_of(tlb[real], ordered.tag[real]))
            for node in nodes:
                if node.asked is not asked:
                    continue
                for place, missed in enumerate(node.level.missed(ordered, tlb)):
                    app = ordered.accesses.app[missed]
                    node.misses[place] += np.bincount(app, minlength=self._apps)
                    if node.below[place]:
                        self._pass(node.below[place], ordered.take(missed | ~real))

    # -- the result --------------------------------------------------------------------------------

    def results(self) -> Iterator[tuple[str, DesignCounts]]:
        """What each design did, by its name."""
        for design, chain in zip(self._designs, self._chains, strict=True):
            levels = []
            for (name, config), (node, place) in zip(design.config.tlb.items(), chain, strict=True):
                counts = tuple(
                    LevelCounts(
                        int(node.asked.lookups[app]),
                        int(node.misses[place][app]),
                        int(node.asked.compulsory[app]),
                    )
                    for app in range(self._apps)
                )
                tlbs = len(np.unique(node.sites[place].tlbs()))
                levels.append(
                    LevelResult(name, config.scope, tlbs, config.entries, config.ways, counts)
                )
            yield (
                design.name,
                DesignCounts(design.name, int(design.config.memory.page), tuple(levels)),
            )
