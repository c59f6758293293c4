"""What a program asks of a machine, counted by executing its blocks here, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from experiments.fuzz.machines.designs import Design
from gpusim.core.mapping_calls import MappingCall
from gpusim.core.warp_program import (
    MEMORY_OPS,
    NO_INSTRUCTION,
    SCOREBOARD_OPS,
    SIDE_OPS,
    Application,
    Asked,
    LaneChunk,
    Op,
)
from gpusim.results.result import Result

_KINDS = {Op.LOAD: 0, Op.COHERENT_LOAD: 0, Op.STORE: 1, Op.ATOMIC: 2, Op.REDUCE: 3}
"""Operations, and their requests' kinds as tables have them."""


def counted_by_hand(design: Design, result: Result) -> Iterator[str]:
    """Launches, blocks, instructions and transactions of whole programs are those of their code."""
    config = design.model.config
    if design.options or design.work.relaunch or config.side_caches:
        return
    if config.node is not None and config.node.copy_engines is not None:
        return
    if config.walk.warps is not None or config.sm.arithmetic is not None:
        return
    requests = result.table("requests", columns=["app", "warp", "kind"])
    rows = result.counters
    kinds = SCOREBOARD_OPS if config.sm.shared_loads == "scoreboard" else frozenset()
    asked = Asked(frozenset(map(int, kinds)))
    for app, spec in enumerate(design.workload.applications):
        known = _count(spec.start(), config.sm.warp_size, int(config.l1.line), asked)
        own = requests[(requests["app"] == app) & (requests["warp"] >= 0)]
        of_kinds = own["kind"].value_counts().items()
        found = Counter({f"kind {kind}": int(count) for kind, count in of_kinds})
        mine = rows[(rows["component"] == "sm") & (rows["app"] == spec.name)]
        for name in ("instructions", "blocks", "barriers"):
            found[name] = int(mine["value"][mine["counter"] == name].sum())
        facts = result.applications.iloc[app]
        found["launches"] = int(facts["launches"])
        for name in sorted({*known, *found}):
            if known[name] != found[name]:
                yield f"{spec.name}: {known[name]} {name} by hand, {found[name]} of the run"


def _count(application: Application, lanes: int, line: int, asked: Asked) -> Counter[str]:
    found: Counter[str] = Counter()
    for launch in application.launches():
        found["launches"] += 1
        if isinstance(launch, MappingCall):
            continue
        found["blocks"] += launch.blocks
        run = getattr(launch, "run_block_beside", None)
        for block in range(launch.blocks):
            chunks = launch.run_block(block, lanes) if run is None else run(block, lanes, asked)
            for chunk in chunks:
                _count_chunk(chunk, line, found)
    return found


def _count_chunk(chunk: LaneChunk, line: int, found: Counter[str]) -> None:
    memory = 0
    for row, op in enumerate(chunk.kind.tolist()):
        warps = int(chunk.active[row].sum())
        if op in MEMORY_OPS or op in SIDE_OPS.values():
            for warp in np.flatnonzero(chunk.active[row]):
                lanes = chunk.address[memory, warp]
                lines = np.unique(lanes[lanes >= 0] // line)
                found[f"kind {_KINDS[Op(op)]}"] += len(lines)
                found["instructions"] += bool(len(lines))
            memory += 1
        elif op == Op.COMPUTE:
            found["instructions"] += warps * int(chunk.arg[row])
        elif op in (Op.SHARED, *SCOREBOARD_OPS):
            found["instructions"] += warps * (chunk.arg[row] > 0)
        elif op not in NO_INSTRUCTION:
            found["instructions"] += warps
        if op == Op.BARRIER:
            found["barriers"] += warps
