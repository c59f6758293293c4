"""What kernels say and no run honours, by instructions in their code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpusim.ptx.syntax import Instruction
from gpusim.ptx.uses import sources_of

TEXTURES = "accesses of textures and surfaces, not modelled"
TENSOR_MEMORY = "accesses of matrices by whole warps, not modelled"
PREFETCHES = "prefetches, which only take their issue cycle"
FENCES = "fences, which only take their issue cycle"
PART_OF_BLOCK = "barriers of part of a block, at which the machine's warps do not wait"
PRINTS = "what kernels print, which is left out"
CLUSTERS = "clusters of blocks, not modelled"

_BY_OPCODE = {
    **dict.fromkeys(("tex", "tld4", "suld", "sust", "sured"), TEXTURES),
    **dict.fromkeys(("tcgen05", "multimem"), TENSOR_MEMORY),
    **dict.fromkeys(("prefetch", "prefetchu"), PREFETCHES),
    **dict.fromkeys(("fence", "membar"), FENCES),
    **dict.fromkeys(("mapa", "getctarank"), CLUSTERS),
}


def unmodelled(body: Iterable[Instruction]) -> Iterator[tuple[str, str]]:
    """Reasons, and names of the instructions, once for each place in the code."""
    for one in body:
        reason = _BY_OPCODE.get(one.opcode)
        if one.opcode in {"bar", "barrier"}:
            reason = _of_barrier(one)
        if reason is not None:
            yield reason, one.opcode


def _of_barrier(one: Instruction) -> str | None:
    """Why a barrier does not hold the machine's warps, if so."""
    if one.has("cluster"):
        return CLUSTERS
    numbers = [*sources_of(one)]
    whole = len(numbers) <= (2 if one.has("red") else 1)
    return None if one.has("warp") or whole else PART_OF_BLOCK
