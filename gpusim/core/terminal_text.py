"""Text from files made safe for a terminal: control characters are shown, not obeyed."""

from __future__ import annotations

_CONTROL_PICTURES = 0x2400
_DELETE = 0x7F
_UNKNOWN = 0xFFFD

_TABLE = {
    **{code: _CONTROL_PICTURES + code for code in range(0x20) if chr(code) not in "\n\t"},
    _DELETE: _CONTROL_PICTURES + 0x21,
    **dict.fromkeys(range(0x80, 0xA0), _UNKNOWN),  # C1: some terminals obey these, too
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), _UNKNOWN),  # order of words
    **dict.fromkeys((0x2028, 0x2029, 0x200E, 0x200F, 0x61C), _UNKNOWN),
    **dict.fromkeys(range(0xD800, 0xE000), _UNKNOWN),  # of names that are no UTF-8
}


def shown(text: str) -> str:
    """The text as any terminal shows it: an escape as ``␛``, lines and tabs as they are."""
    return text.translate(_TABLE)
