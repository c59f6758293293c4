"""Arguments of kernels as CUDA sources declare them: their names, and what pointers point to."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from attrs import frozen

from gpusim.core.errors import UserError
from gpusim.ptx.names import plain_name
from gpusim.ptx.syntax import Function

_SCALARS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "unsigned": "int32",
    "long": "int64",
    "bool": "int8",
    "size_t": "int64",
    **{f"{sign}int{bits}_t": f"int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
"""Types of C, and numpy's of their size; that signs differ does no harm."""

_QUALIFIERS = {"const", "volatile", "restrict", "__restrict__", "signed", "struct", "__restrict"}


@frozen
class Argument:
    """An argument of a kernel.

    Attributes:
        name: as the source has it, or the PTX.
        points_to: numpy's name of what its pointer points to; empty: not known.
        type: as the source has it.
    """

    name: str
    points_to: str = ""
    type: str = ""

    def check(self, kernel: str, value: Any) -> None:
        """Refuse an array of another type than its pointer's.

        Raises:
            UserError: it is one.
        """
        if not self.points_to or not isinstance(value, np.ndarray) or not value.ndim:
            return
        wanted, own = np.dtype(self.points_to), value.dtype
        if own.itemsize % wanted.itemsize == 0 and own.kind == "V":
            return
        whole = own.kind in "iub" and wanted.kind == "i"
        if own.itemsize != wanted.itemsize or not (whole or own.kind == wanted.kind):
            raise UserError(
                f"kernel {kernel!r}, argument {self.name!r}: an array of {own.name} for "
                f"{self.type!r}; give one of {wanted.name}, or its memory as such "
                f"(array.view({wanted.name!r}))"
            )


def arguments_of(function: Function, source: str) -> tuple[Argument, ...]:
    """Arguments with names and types as the source has them, or with names as the PTX does."""
    own = tuple(Argument(parameter.name) for parameter in function.parameters)
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.DOTALL)
    found = re.search(rf"\b{re.escape(plain_name(function.name))}\s*\(([^()]*)\)\s*\{{", plain)
    if not found:
        return own
    declared = [_declared(text) for text in found[1].split(",")]
    names = {one.name for one in declared if one is not None}
    if len(declared) != len(own) or len(names) != len(own):
        return own
    return tuple(one for one in declared if one is not None)


def _declared(text: str) -> Argument | None:
    """The argument that a declaration is of; None: it is not understood."""
    found = re.fullmatch(r"\s*(.*?)(\w+)\s*((?:\[\s*\w*\s*\])*)\s*", text, re.DOTALL)
    if found is None:
        return None
    type_, name, brackets = found.groups()
    stars = type_.count("*") + bool(brackets)
    words = [word for word in re.findall(r"\w+", type_) if word not in _QUALIFIERS]
    known = [_SCALARS.get(word, "") for word in words]
    points_to = ""
    if stars == 1 and words and all(known):
        numbers = [word for word in words if word != "unsigned"] or ["unsigned"]
        points_to = _SCALARS["long" if "long" in numbers else numbers[0]]
    return Argument(name, points_to, " ".join(type_.split()) or name)
