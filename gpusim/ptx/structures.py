"""Structures as arguments: tuples of their members, laid out as C does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpusim.core.errors import UserError

_POINTER = 8
"""Bytes of one, and where it may begin."""


def structure(what: str, members: tuple[Any, ...], address: Callable[[Any], bytes]) -> bytes:
    """The bytes of a structure.

    Args:
        what: the argument, for messages.
        members: arrays, to which the structure has pointers; numbers of numpy's; and tuples, for
            structures and arrays inside.
        address: of an array.

    Raises:
        UserError: a member is something else.
    """
    return _laid_out(what, members, address)[0]


def _laid_out(
    what: str, members: tuple[Any, ...], address: Callable[[Any], bytes]
) -> tuple[bytes, int]:
    """Bytes of a structure, and at what multiples it may begin."""
    made, widest = bytearray(), 1
    for member in members:
        if isinstance(member, tuple):
            found, align = _laid_out(what, member, address)
        elif isinstance(member, np.ndarray) and member.ndim:
            found, align = address(member), _POINTER
        elif isinstance(member, np.generic | np.ndarray):
            found, align = member.tobytes(), member.dtype.alignment
        else:
            raise UserError(
                f"{what}: {member!r} in a structure; allowed: arrays, tuples, and numbers with a "
                "type, such as numpy.int32(3)"
            )
        made += bytes(-len(made) % align) + found
        widest = max(widest, align)
    size = max(len(made), 1)  # an empty structure has one byte
    return bytes(made) + bytes(size + -size % widest - len(made)), widest
