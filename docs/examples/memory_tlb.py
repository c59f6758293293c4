"""A TLB whose entries lie in memory: each lookup is a read, each fill a write."""

from __future__ import annotations

from gpusim.plugin import Mapping, Slot, StageProcess, StageSite, Translation, policy

ENTRY_BYTES = 16


@policy(Slot.STAGE, "memory-tlb")
class MemoryTlb(StageProcess):
    """Direct-mapped, with `entries` entries.

    Args:
        site: where it stands.
        entries: of the table.
    """

    def __init__(self, site: StageSite, *, entries: int = 65536) -> None:
        super().__init__(site)
        self._base = self.reserve(entries * ENTRY_BYTES)
        self._entries: list[Mapping | None] = [None] * entries

    def _place(self, tag: int) -> int:
        return tag % len(self._entries)

    def asked(self, translation: Translation) -> bool:
        self.read(translation, self._base + self._place(translation.tag) * ENTRY_BYTES)
        return True

    def came(self, translation: Translation, address: int) -> bool:
        entry = self._entries[self._place(translation.tag)]
        if entry is not None and entry.covers(translation.tag):
            self.reply(translation, entry)
        elif self.room:
            self.send_on(translation)
        else:
            return False
        return True

    def answered(self, translation: Translation) -> None:
        if translation.mapping is not None:
            place = self._place(translation.tag)
            self._entries[place] = translation.mapping
            self.write(translation, self._base + place * ENTRY_BYTES)
        super().answered(translation)

    def shoot_down(self, tag: int | None) -> None:
        if tag is None:
            self._entries = [None] * len(self._entries)
            return
        entry = self._entries[self._place(tag)]
        if entry is not None and entry.covers(tag):
            self._entries[self._place(tag)] = None
