"""What a trace states and a run does not honour: counted, and one warning at its end."""

from __future__ import annotations

from collections import Counter

COLUMNS = "columns of the file, not read"

_MOST_NAMES = 16
"""Names of one reason that a warning has; of the others it has their number."""


class Unread:
    """Counts of one application, by reason and by what it was."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}

    def note(self, reason: str, what: str, count: int = 1) -> None:
        """Count something that is not honoured.

        Args:
            reason: why, and what happens instead; a part of a sentence.
            what: its name, such as a base opcode.
            count: how many of it.
        """
        self._counts.setdefault(reason, Counter())[what] += count

    def copy(self) -> Unread:
        """The same counts, which then grow on their own."""
        made = Unread()
        for reason, counts in self._counts.items():
            for what, count in counts.items():
                made.note(reason, what, count)
        return made

    def __bool__(self) -> bool:
        return bool(self._counts)

    def text(self) -> str:
        """All counts: ``100 TEX, 3 SULD: accesses not in the trace, not modelled; 7 CCTL: …``."""
        parts = []
        for reason, counts in self._counts.items():
            names = [f"{count} {what}" for what, count in counts.most_common(_MOST_NAMES)]
            if len(counts) > _MOST_NAMES:
                rest = counts.total() - sum(dict(counts.most_common(_MOST_NAMES)).values())
                names.append(f"{rest} of {len(counts) - _MOST_NAMES} other names")
            parts.append(f"{', '.join(names)}: {reason}")
        return "; ".join(parts)
