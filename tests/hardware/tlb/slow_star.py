"""STAR's TLB as its algorithms tell it: sub-entries by number, written and read bit by bit."""

from __future__ import annotations

import attrs

from gpusim.core.mapping import ASID_SHIFT
from tests.hardware.tlb.numbered import NO_PAGE

SEQUENTIAL, STRIDE = "01", "10"


@attrs.define
class Sub:
    """A valid sub-entry; `index` is what the AIB and the place have to give back."""

    owner: int
    index: str
    aib: str
    pfn: int
    used: int


@attrs.define
class Entry:
    """`layout` as STAR §VI-B writes it: four bases or not, then 00, 01 or 10."""

    subs: list[Sub | None]
    bases: dict[int, int]
    used: int = 0
    layout: str = "000"

    def of(self, number: int) -> list[Sub]:
        return [sub for sub in self.subs if sub and sub.owner == number]

    def valid(self) -> int:
        return sum(sub is not None for sub in self.subs)


class SlowStar:
    """The same options as the array; `sub_entries` 2, 4, 8 or 16."""

    def __init__(
        self,
        sets: int,
        ways: int,
        sub_entries: int,
        *,
        bases: int = 2,
        layouts: str = "both",
        single: str = "stride",
        stride: int = 1,
        relocate: str = "eager",
    ) -> None:
        self.ways = ways
        self.size = sub_entries
        self.bits = {1: 0, 2: 1, 4: 2, 8: 3, 16: 4}[sub_entries]
        self.most = bases
        self.layouts = layouts
        self.single = single
        self.skip = {1: 0, 2: 1, 4: 2, 8: 3}[stride]
        self.lazy = relocate == "lazy"
        self.sets: list[list[Entry]] = [[] for _ in range(sets)]
        self.clock = 0
        self.extra = 0
        self.counts = dict.fromkeys(
            (
                "sequential_shares",
                "stride_shares",
                "promotions",
                "conversion_losses",
                "conflicts",
                "reverts",
                "demotions",
                "dropped_bases",
                "dropped_pages",
            ),
            0,
        )
        self.evicted: list[tuple[int, int]] = []

    # -- where a page is -------------------------------------------------------------------------

    def split(self, tag: int) -> tuple[list[Entry], int, str]:
        vpb, index = divmod(tag, self.size)
        bits = format(index, "b").zfill(self.bits) if self.bits else ""
        return self.sets[vpb % len(self.sets)], vpb, bits

    def replaced(self, layout: str) -> range:
        """Which characters of an index the number of the base takes the place of."""
        width = {"000": 0, "001": 1, "010": 1, "101": 2, "110": 2}[layout]
        if layout.endswith(SEQUENTIAL):
            return range(width)
        end = self.bits - self.skip
        return range(end - width, end)

    def place(self, layout: str, number: int, index: str) -> tuple[int, str]:
        """The sub-entry of a page of a base, and its AIB."""
        where = self.replaced(layout)
        aib = "".join(index[i] for i in where)
        own = format(number, "b").zfill(len(where)) if where else ""
        text = index[: where.start] + own + index[where.stop :]
        return int(text or "0", 2), aib

    def find(self, entry: Entry, number: int, index: str) -> int:
        """The sub-entry that has a page; -1: none."""
        at, aib = self.place(entry.layout, number, index)
        places = [at, int(index or "0", 2)] if self.lazy else [at]
        for at in places:
            sub = entry.subs[at]
            if sub and sub.owner == number and sub.aib == aib and sub.index == index:
                return at
        return -1

    def compare(self, entries: list[Entry], vpb: int) -> tuple[Entry, int] | None:
        """Compare the first bases of all entries, then the second ones, …: 10 cycles a time."""
        last = max((number for entry in entries for number in entry.bases), default=0)
        for number in range(last + 1):
            self.extra = 10 * number
            for entry in entries:
                if entry.bases.get(number) == vpb:
                    return entry, number
        return None

    # -- calls -----------------------------------------------------------------------------------

    def lookup(self, tag: int) -> int:
        entries, vpb, index = self.split(tag)
        match = self.compare(entries, vpb)
        if match is None:
            return NO_PAGE
        entry, number = match
        at = self.find(entry, number, index)
        sub = entry.subs[at]
        if at < 0 or sub is None:
            return NO_PAGE
        self.clock += 1
        sub.used = entry.used = self.clock
        return sub.pfn

    def insert(self, tag: int, pfn: int) -> int:
        entries, vpb, index = self.split(tag)
        self.clock += 1
        evicted = 0
        match = self.compare(entries, vpb)
        if match is None:
            if len(entries) < self.ways:
                entry, number = self.new(entries, vpb)
            elif (partner := self.partner(entries, vpb)) is not None:
                entry, number = partner, self.share(partner, vpb)
            else:
                victim = min(entries, key=lambda one: one.used)
                entries.remove(victim)
                self.evicted.append((victim.bases[0] * self.size >> ASID_SHIFT, victim.valid()))
                evicted = 1
                entry, number = self.new(entries, vpb)
        else:
            entry, number = match
            quota = {"0": self.size // 2, "1": self.size // 4}[entry.layout[0]]
            if (
                entry.layout != "000"
                and len(entry.of(number)) == quota
                and self.find(entry, number, index) < 0
            ):
                number = self.give_more(entry, number)
        self.put(entry, number, index, pfn)
        entry.used = self.clock
        return evicted

    def new(self, entries: list[Entry], vpb: int) -> tuple[Entry, int]:
        entries.append(Entry([None] * self.size, {0: vpb}))
        return entries[-1], 0

    def put(self, entry: Entry, number: int, index: str, pfn: int) -> None:
        present = self.find(entry, number, index)
        at, aib = self.place(entry.layout, number, index)
        at = present if present >= 0 else at
        there = entry.subs[at]
        if there is not None and present < 0:
            if self.lazy and there.owner != number:
                # Algorithm 2, lines 25 to 28: move the original one, or evict it.
                home, _ = self.place(entry.layout, there.owner, there.index)
                assert home != at
                if entry.subs[home] is None:
                    entry.subs[home] = there
                else:
                    self.counts["conflicts"] += 1
            else:
                assert there.owner == number
                self.counts["conflicts"] += 1
        entry.subs[at] = Sub(number, index, aib, pfn, self.clock)

    # -- sharing ---------------------------------------------------------------------------------

    def partner(self, entries: list[Entry], vpb: int) -> Entry | None:
        if self.most == 1:
            return None
        able = [one for one in entries if one.layout == "000" and one.valid() < self.size / 2]
        if not able and self.most == 4:
            able = [
                one
                for one in entries
                if len(one.bases) == 3
                or (len(one.bases) == 2 and all(len(one.of(k)) < self.size / 4 for k in (0, 1)))
            ]
        asid = vpb * self.size >> ASID_SHIFT
        same = [
            one for one in able if asid in [b * self.size >> ASID_SHIFT for b in one.bases.values()]
        ]
        chosen = same or able
        return min(chosen, key=lambda one: (one.valid(), one.used)) if chosen else None

    def share(self, entry: Entry, vpb: int) -> int:
        kind = entry.layout[1:]
        if entry.layout == "000":
            occupied = "".join("x" if sub else " " for sub in entry.subs).strip()
            kinds = {"sequential": SEQUENTIAL, "stride": STRIDE}
            own = STRIDE if " " in occupied else SEQUENTIAL
            own = kinds[self.single] if occupied == "x" else own
            kind = kinds.get(self.layouts) or own
            self.change(entry, "0" + kind)
        elif len(entry.bases) == 2:
            self.counts["promotions"] += 1
            self.change(entry, "1" + kind)
        self.counts["sequential_shares" if kind == SEQUENTIAL else "stride_shares"] += 1
        number = min(set(range(4)) - set(entry.bases))
        entry.bases[number] = vpb
        return number

    def change(self, entry: Entry, layout: str) -> None:
        """Another layout: bases numbered anew in their order, pages moved, newer ones on top."""
        order = sorted(entry.bases)
        subs = sorted((sub for sub in entry.subs if sub), key=lambda sub: sub.used)
        entry.layout = layout
        entry.bases = {new: entry.bases[old] for new, old in enumerate(order)}
        before = len(subs)
        old_places, entry.subs = entry.subs, [None] * self.size
        for sub in subs:
            at = next(i for i, other in enumerate(old_places) if other is sub)
            sub.owner = order.index(sub.owner)
            home, sub.aib = self.place(layout, sub.owner, sub.index)
            stays = self.lazy and layout != "000"
            entry.subs[at if stays else home] = sub
        self.counts["conversion_losses"] += before - entry.valid()

    def give_more(self, entry: Entry, number: int) -> int:
        """Revert: the entry is `number`'s alone, or, of four bases, its and the fullest other's."""
        keep = {number}
        if entry.layout[0] == "1":
            others = [other for other in sorted(entry.bases) if other != number]
            keep.add(max(others, key=lambda other: len(entry.of(other))))
            self.counts["demotions"] += 1
        else:
            self.counts["reverts"] += 1
        own = [sub.index for sub in entry.of(number)]
        vpb = entry.bases[number]
        for other in set(entry.bases) - keep:
            self.counts["dropped_bases"] += 1
            self.counts["dropped_pages"] += len(entry.of(other))
            del entry.bases[other]
        entry.subs = [sub if sub and sub.owner in keep else None for sub in entry.subs]
        self.change(entry, "0" + entry.layout[1:] if len(keep) == 2 else "000")
        number = next(k for k, base in entry.bases.items() if base == vpb)
        assert sorted(sub.index for sub in entry.of(number)) == sorted(own)  # nothing of it is lost
        return number

    def invalidate(self, tag: int) -> bool:
        entries, vpb, index = self.split(tag)
        match = self.compare(entries, vpb)
        if match is None:
            return False
        entry, number = match
        at = self.find(entry, number, index)
        if at < 0:
            return False
        entry.subs[at] = None
        if not entry.of(number):
            del entry.bases[number]
            if not entry.bases:
                entries.remove(entry)
            elif len(entry.bases) == 1:
                self.change(entry, "000")
            elif len(entry.bases) == 2 and entry.layout[0] == "1":
                self.change(entry, "0" + entry.layout[1:])
        return True

    def flush(self) -> None:
        self.sets = [[] for _ in self.sets]

    # -- what holds always -----------------------------------------------------------------------

    def check(self) -> None:
        for entries in self.sets:
            assert len(entries) <= self.ways
            bases = [base for entry in entries for base in entry.bases.values()]
            assert len(bases) == len(set(bases))
            for entry in entries:
                self.check_entry(entry)

    def check_entry(self, entry: Entry) -> None:
        number_of_bases = {"000": (1,), "001": (2,), "010": (2,), "101": (3, 4), "110": (3, 4)}
        assert len(entry.bases) in number_of_bases[entry.layout]
        where = self.replaced(entry.layout)
        room = self.size >> len(where)
        for number in entry.bases:
            assert 1 <= len(entry.of(number)) <= room
        for at, sub in enumerate(entry.subs):
            if sub is None:
                continue
            place = format(at, "b").zfill(self.bits) if self.bits else ""
            stray = self.lazy and at != self.place(entry.layout, sub.owner, sub.index)[0]
            if stray:
                assert place == sub.index
                assert sub.owner == 0
                continue
            rebuilt = place[: where.start] + sub.aib + place[where.stop :]
            assert rebuilt == sub.index
            if where:
                assert int(place[where.start : where.stop], 2) == sub.owner
