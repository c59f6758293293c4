"""Names of functions as their sources have them."""

from __future__ import annotations

import re


def plain_name(name: str) -> str:
    """The name of a function in its source; of a mangled one, without classes and namespaces."""
    rest = re.fullmatch(r"_ZN?(\d.*)", name)
    found, left = name, rest[1] if rest else ""
    while part := re.match(r"\d+", left):
        end = part.end() + int(part[0])
        found, left = left[part.end() : end], left[end:]
        if not name.startswith("_ZN"):
            break
    return found
