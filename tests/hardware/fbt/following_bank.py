"""Follows the versions of sectors through a bank of a virtual L2 cache, and checks what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusim.core.request import Kind, VirtualRequest
from gpusim.core.warp_program import SECTORS
from gpusim.hardware.cache import L2Bank, TranslatedMisses
from gpusim.hardware.cache.array import DIRTY, DIRTY_SHIFT
from gpusim.hardware.cache.table_misses import PHYSICAL

if TYPE_CHECKING:
    from tests.hardware.fbt.following import Follower


def follow_bank(follower: Follower, bank: L2Bank) -> None:
    """Check all that a bank does from now on."""
    misses: Any = bank.misses
    assert isinstance(misses, TranslatedMisses)
    followed: Any = _FollowedBank(follower, bank)
    for name in ("fill", "_finish", "_store", "leave", "written_back"):
        setattr(misses, name, getattr(followed, name.strip("_")))
    bank.answer = followed.answer  # type: ignore[method-assign]


class _FollowedBank:
    """What a bank does, with checks before it."""

    def __init__(self, follower: Follower, bank: L2Bank) -> None:
        misses: Any = bank.misses
        self.follower = follower
        self.whole = bank.lines.whole
        self.sectored = bank.lines.sectored
        self.finishing = -1
        """Physical line of the miss that is answered."""
        self._fill, self._written_back = misses.fill, misses.written_back
        self._finish, self._store, self._leave = misses._finish, misses._store, misses.leave
        self._answer = bank.answer

    def fill(self, filled: VirtualRequest) -> None:
        if filled.kind == Kind.WALK:  # page tables have no names that change
            self._fill(filled)
            return
        follower, name = self.follower, filled.leading
        line = filled.address >> follower.line_shift
        others = [where for other, (where, _) in follower.l2.items() if other != name]
        assert line not in others, "two names of a line"
        if not self.sectored:
            assert name not in follower.l2
            assert line not in follower.leaving_lines(), "memory is stale"
        where, versions = follower.l2.setdefault(name, (line, {}))
        assert where == line
        came = filled.sectors if self.sectored else self.whole
        for sector in set(follower.those(came)) - versions.keys():
            leaving = [one for one, those in follower.left() if sector in those]
            assert line not in leaving, "memory is stale"
            versions[sector] = follower.memory.get((line, sector), 0)
        self._fill(filled)

    def finish(self, request: VirtualRequest, delay: int) -> None:
        self.finishing = request.address >> self.follower.line_shift
        self._finish(request, delay)

    def store(self, request: VirtualRequest) -> None:
        follower = self.follower
        follower.writes += 1
        line, versions = self._copy(request.leading)
        now = follower.machine.env.now
        follower.check_frame(request, line, now)
        allowed = follower.writable_of(request.tag).since(now)
        assert request.writable in allowed, "a stale permission"
        self._store(request)
        if request.writable:
            follower.version += 1
            follower.l2[request.leading] = line, versions
            for sector in follower.those((request.sectors & SECTORS) << request.place):
                versions[sector] = follower.latest[line, sector] = follower.version

    def answer(self, request: VirtualRequest, delay: int) -> None:
        if request.kind == Kind.WALK:
            self._answer(request, delay)
            return
        follower = self.follower
        copy = line, versions = self._copy(request.leading)
        if request.kind == Kind.LOAD:
            follower.reads += 1
            for sector in follower.those((request.sectors & SECTORS) << request.place):
                assert self.sectored or sector in versions
                if sector in versions:  # what came in parts may have left in parts, too
                    latest = follower.latest.get((line, sector), 0)
                    assert versions[sector] == latest, "a stale value"
            if request.name == request.line:  # else its SM decides whether to believe it
                follower.check_frame(request, line, follower.machine.env.now)
        follower.answers[id(request)] = request, copy
        self._answer(request, delay)

    def leave(self, gone: tuple[int, int], app: int) -> None:
        follower, (name, state) = self.follower, gone
        if name & PHYSICAL:
            self._leave(gone, app)
            return
        line, versions = follower.l2.pop(name)
        dirty = follower.those((state & DIRTY) >> DIRTY_SHIFT)
        for sector in versions.keys() - set(dirty):
            now = follower.memory.get((line, sector), 0)
            assert versions[sector] == now, "a clean sector differs from memory"
        if dirty:
            assert self.sectored or name not in follower.leaving
            leaving = {sector: versions[sector] for sector in dirty if sector in versions}
            follower.leaving.setdefault(name, []).append((line, leaving))
        self._leave(gone, app)

    def written_back(self, name: int) -> None:
        follower = self.follower
        where, versions = follower.leaving[name].pop(0)
        if not follower.leaving[name]:
            del follower.leaving[name]
        for sector, version in versions.items():
            follower.memory[where, sector] = version
        self._written_back(name)

    def _copy(self, name: int) -> tuple[int, dict[int, int]]:
        """A line that is here, or that which is being claimed, of which nothing is."""
        return self.follower.l2.get(name, (self.finishing, {}))
