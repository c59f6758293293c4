"""Cache operators of SASS: what an opcode's modifiers say about the L1 cache.

PTX's ``ld.cg`` and ``ld.cv`` become ``LDG.….STRONG.GPU`` and ``.STRONG.SYS``, ``st.wt`` a
``STG.….STRONG.SYS``, ``cp.async.cg`` an ``LDGSTS.….BYPASS``.
"""

from __future__ import annotations

from enum import Enum

from gpusim.core.warp_program import Op

_LOADS = frozenset({"LDG", "LD", "LDGSTS", "LDGMC"})
_STORES = frozenset({"STG", "ST"})
_SCOPES = frozenset({"GPU", "SYS", "VC"})
_OTHER_CACHES = frozenset({"C", "I", "U", "T"})
"""Caches that a CCTL names if it does not mean that of data: of constants, code, uniform data and
textures."""


class CacheOperator(Enum):
    """What an instruction asks of the L1 cache."""

    DEFAULT = "default"
    """Nothing special."""
    BYPASS_L1 = "bypass L1"
    """A load that the L2 cache answers, whatever the L1 cache holds."""
    WRITE_THROUGH = "write through"
    """A store that the L2 cache gets at once."""
    INVALIDATE_L1 = "invalidate L1"
    """All lines of the SM's L1 cache are forgotten."""
    INVALIDATE_LINE = "invalidate line"
    """The lines that the lanes address are forgotten."""


def cache_operator(opcode: str) -> CacheOperator:
    """What an opcode with its modifiers asks of the L1 cache.

    ``.STRONG`` with the scope of a GPU or a system is coherent beyond an SM, so it cannot be served
    by an L1 cache; with ``.SM`` or ``.CTA`` it can.  Atomics are executed by the L2 cache anyway.
    """
    base, *modifiers = opcode.split(".")
    words = frozenset(modifiers)
    beyond = "MMIO" in words or ("STRONG" in words and not _SCOPES.isdisjoint(words))
    if base in _LOADS and (beyond or (base == "LDGSTS" and "BYPASS" in words)):
        return CacheOperator.BYPASS_L1
    if base in _STORES and beyond:
        return CacheOperator.WRITE_THROUGH
    if base == "CCTL" and _OTHER_CACHES.isdisjoint(words):
        if "IVALL" in words:
            return CacheOperator.INVALIDATE_L1
        if "IV" in words:
            return CacheOperator.INVALIDATE_LINE
    return CacheOperator.DEFAULT


def load_op(opcode: str, op: Op) -> Op:
    """What an access to global memory does, by the `Op` of its base opcode and its modifiers."""
    bypasses = op == Op.LOAD and cache_operator(opcode) == CacheOperator.BYPASS_L1
    return Op.COHERENT_LOAD if bypasses else op
