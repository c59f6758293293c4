"""A table's rows in program order, from which any thread block is cut out."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
from attrs import define
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.core.warp_program import NOTHING_ASKED, SECTOR_BYTES, Asked, Op
from gpusim.traces.code_lines import CodePath
from gpusim.traces.table_columns import (
    PAGES,
    SCALARS,
    TIME,
    TRANSACTIONS,
    WAVEFRONTS,
    Array,
    TableFile,
)
from gpusim.traces.table_program import NO_LIMIT, WaveProgram
from gpusim.traces.table_special_accesses import TableBeside
from gpusim.traces.warps import WarpTrace

Ints = NDArray[np.int64]

_BLOCK_SHIFT = 32


@define(eq=False)
class Waves:
    """All wavefronts, sorted by launch, block and place in the block; (waves,) each.

    Attributes:
        block: ``launch << 32 | block``.
        number: place in the block.
        sm: SM that it ran on; -1: not in the file.
        instructions: of its program; 0: not in the file.
    """

    block: Ints
    number: Ints
    sm: Ints
    instructions: Ints


@define(eq=False)
class Instructions:
    """All memory instructions, sorted by wavefront and place in its program; (n,) each.

    Attributes:
        wave: row in `Waves`.
        index: place among all instructions of the wavefront.
        place: program counter, or what stands for it.
        write: whether it stores.
        wait: memory instructions that may be outstanding before it.
        barriers: before it.
        row, rows: first transaction, and number of them; a scalar access has none here.
        time: when the first of them was issued, in cycles since the first of its launch; 0 if
            times are not asked for, and of scalar accesses.
    """

    wave: Ints
    index: Ints
    place: Ints
    write: NDArray[np.bool_]
    wait: NDArray[np.uint8]
    barriers: NDArray[np.uint8]
    row: Ints
    rows: Ints
    time: Ints


class TableIndex:
    """A table in memory: some 10 bytes a transaction, 60 an instruction.

    Args:
        path: of the file.
        paced: whether warps shall keep to the times of the table, which arithmetic is a part of.

    Attributes:
        waves: its wavefronts.
        pages: virtual addresses of mapped pages; empty if the file has none.
        unknown: names of columns that are not read.

    Raises:
        UserError: a column is missing, or contradicts another one.
    """

    def __init__(self, path: Path, paced: bool = False) -> None:
        self._path = path
        self._paced = paced
        file = self._file = TableFile(path)
        self.unknown = file.unknown
        self.pages: Array = file.group(PAGES).get("page_vaddr", np.zeros(0, dtype=np.int64))
        rows = file.group((*TRANSACTIONS, TIME) if paced else TRANSACTIONS)
        scalars = file.group(SCALARS)
        if len(scalars) < len(SCALARS) or "inst_idx" not in rows:
            scalars = {column.name: np.zeros(0, dtype=np.uint8) for column in SCALARS}
        self.has_pc = "pc" in rows
        self._has_code = self.has_pc and "inst_idx" in rows
        wave_of_row, wave_of_scalar = self._find_waves(rows, scalars, file.group(WAVEFRONTS))
        self._scalar_waves = wave_of_scalar
        self._first_times: Ints = np.zeros(0, dtype=np.int64)
        keys = (rows["order"], wave_of_row) if "order" in rows else (wave_of_row,)
        by = np.lexsort(keys)
        self._check_order(by, wave_of_row, rows)
        self._first_sector, self._sectors = self._find_sectors(rows, by)
        vector = self._vector(by, wave_of_row[by], rows)
        self._instructions = self._merge(vector, wave_of_scalar, scalars)

    @property
    def launches(self) -> int:
        """Launches up to the last that a row, or a wavefront, belongs to."""
        return int(self.waves.block.max(initial=-1) >> _BLOCK_SHIFT) + 1

    # -- one block -------------------------------------------------------------------------------

    def blocks(self, launch: int) -> Ints:
        """Numbers of the blocks of a launch that appear, one a wavefront, increasing."""
        first, last = np.searchsorted(
            self.waves.block, (launch << _BLOCK_SHIFT, launch + 1 << _BLOCK_SHIFT)
        )
        return self.waves.block[first:last] - (launch << _BLOCK_SHIFT)

    def warps(self, launch: int) -> int:
        """The most wavefronts that a block of a launch has."""
        mine = self.waves.block >> _BLOCK_SHIFT == launch
        return int(self.waves.number[mine].max(initial=-1)) + 1

    def sm(self, launch: int, block: int) -> int | None:
        """The SM on which a block ran; None: the file does not say."""
        waves = self._waves_of(launch, block)
        sm = int(self.waves.sm[waves.start]) if waves else -1
        return None if sm < 0 else sm

    def fill(
        self, launch: int, block: int, warps: list[WarpTrace], asked: Asked = NOTHING_ASKED
    ) -> None:
        """What the warps of a block did, operations that are asked for included."""
        for wave in self._waves_of(launch, block):
            self._fill(wave, warps[int(self.waves.number[wave])], asked)

    def _waves_of(self, launch: int, block: int) -> range:
        key = launch << _BLOCK_SHIFT | block
        first, last = np.searchsorted(self.waves.block, (key, key + 1))
        return range(int(first), int(last))

    def _fill(self, wave: int, warp: WarpTrace, asked: Asked) -> None:
        """The program of one warp."""
        all_ = self._instructions
        first, last = (int(one) for one in np.searchsorted(all_.wave, (wave, wave + 1)))
        part = slice(first, last)
        lanes, ends = self._lanes(all_.row[part], all_.rows[part])
        program = self._program(wave, warp, asked)
        begin = 0
        for index, place, write, wait, barriers, rows, time, end in zip(
            all_.index[part].tolist(),
            all_.place[part].tolist(),
            all_.write[part].tolist(),
            all_.wait[part].tolist(),
            all_.barriers[part].tolist(),
            all_.rows[part].tolist(),
            all_.time[part].tolist(),
            ends.tolist(),
            strict=True,
        ):
            program.before(index, wait, barriers, scalar=not rows)
            if rows:
                op = Op.STORE if write else Op.LOAD
                program.vector(index, place, op, lanes[begin:end], time)
            else:
                program.scalar(index)
            begin = end
        program.end(int(self.waves.instructions[wave]))

    def _program(self, wave: int, warp: WarpTrace, asked: Asked) -> WaveProgram:
        """A program to be filled in, with the side operations that are asked for."""
        launch = self.waves.block[wave] >> _BLOCK_SHIFT
        lead = int(self._beside.lead[launch]) if asked.kinds and self._paced else 0
        scalars = self._beside.scalars(wave) if Op.SCALAR in asked else {}
        code = CodePath(warp) if Op.FETCH in asked and self._has_code else None
        return WaveProgram(warp, self._paced, lead, scalars, code)

    @cached_property
    def _beside(self) -> TableBeside:
        waves = self._scalar_waves
        return TableBeside(
            self._file, waves, self.waves.block[waves] >> _BLOCK_SHIFT, self._first_times
        )

    def _lanes(self, row: Ints, rows: Ints) -> tuple[Ints, Ints]:
        """A lane for each sector of all transactions, and where each instruction's lanes end."""
        some = rows > 0
        if not some.any():
            return np.zeros(0, dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
        begin, end = int(row[some][0]), int((row + rows)[some][-1])
        counts = self._sectors[begin:end].astype(np.int64)
        ends = np.cumsum(counts)
        steps = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
        lanes = (np.repeat(self._first_sector[begin:end], counts) + steps) * SECTOR_BYTES
        return lanes, np.concatenate(([0], ends))[np.cumsum(rows)]

    # -- building --------------------------------------------------------------------------------

    def _find_waves(
        self, rows: dict[str, Array], scalars: dict[str, Array], of_wavefronts: dict[str, Array]
    ) -> tuple[Ints, Ints]:
        """Make `waves`; returns which of them each row, and each scalar access, belongs to."""
        count = len(rows["vaddr"])
        launch, group, wavefront = (
            np.concatenate((rows[name], scalars[f"s_{name}"])).astype(np.int64)
            for name in ("kernel", "workgroup", "wavefront")
        )
        block = launch << _BLOCK_SHIFT | group
        if "wf_kernel" in of_wavefronts and "wf_workgroup" in of_wavefronts:
            own = (
                of_wavefronts["wf_kernel"].astype(np.int64) << _BLOCK_SHIFT
                | of_wavefronts["wf_workgroup"]
            )
            wrong = wavefront >= len(own)
            wrong[~wrong] = own[wavefront[~wrong]] != block[~wrong]
            self._refuse(
                wrong[:count],
                "wavefront",
                rows["wavefront"],
                "the wf_ columns have a row for each id, with its kernel and workgroup",
            )
            self._refuse(wrong[count:], "s_wavefront", scalars["s_wavefront"], "as wavefront")
            wave, ids = wavefront, np.arange(len(own))
        else:
            of_wavefronts = {}
            by = np.lexsort((wavefront, block))
            new = np.ones(len(by), dtype=bool)
            new[1:] = (np.diff(block[by]) != 0) | (np.diff(wavefront[by]) != 0)
            wave = np.empty(len(by), dtype=np.int64)
            wave[by] = np.cumsum(new) - 1
            own, ids = block[by][new], wavefront[by][new]
        place = of_wavefronts.get("wf_in_wg", ids)
        order = np.lexsort((place, own))
        own, place = own[order], place[order].astype(np.int64)
        if "wf_in_wg" not in of_wavefronts:
            place = np.arange(len(own)) - np.searchsorted(own, own)
        twice = np.zeros(len(own), dtype=bool)
        twice[order[1:]] = (np.diff(own) == 0) & (np.diff(place) == 0)
        self._refuse(
            twice, "wf_in_wg", of_wavefronts.get("wf_in_wg", place), "unique in its workgroup"
        )
        unknown = np.zeros(len(own), dtype=np.int64)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        wave = rank[wave]
        sm = unknown - 1
        if "wf_cu" in of_wavefronts:
            sm = of_wavefronts["wf_cu"][order].astype(np.int64)
        elif "cu" in rows:
            sm[wave[:count]] = rows["cu"]
        instructions = of_wavefronts["wf_insts"][order] if "wf_insts" in of_wavefronts else unknown
        self.waves = Waves(own, place, sm, instructions.astype(np.int64))
        return wave[:count], wave[count:]

    def _check_order(self, by: NDArray[np.intp], wave: Ints, rows: dict[str, Array]) -> None:
        """Rows in program order must make whole instructions."""
        same = np.diff(wave[by]) == 0
        wrong = np.zeros(len(by), dtype=bool)
        if "order" in rows:
            wrong[by[1:]] = same & (np.diff(rows["order"][by].astype(np.int64)) == 0)
            self._refuse(wrong, "order", rows["order"], "another value in each row of a wavefront")
        step: Ints = np.ones(len(same), dtype=np.int64)
        if "inst" in rows:
            inst: Ints = rows["inst"][by].astype(np.int64)
            step = inst[1:] - inst[:-1]
            wrong[by[1:]] = same & (step < 0)
            self._refuse(wrong, "inst", rows["inst"], "increasing with the order in a wavefront")
        for name in ("is_write", "inst_idx"):
            if name in rows:
                change = np.diff(rows[name][by].astype(np.int64))
                wrong[by[1:]] = same & (step == 0) & (change != 0)
                self._refuse(wrong, name, rows[name], "one value for all rows of an instruction")
        if "inst_idx" in rows:
            wrong[by[1:]] = same & (step > 0) & (change <= 0)
            self._refuse(wrong, "inst_idx", rows["inst_idx"], "increasing with the instruction")

    def _find_sectors(
        self, rows: dict[str, Array], by: NDArray[np.intp]
    ) -> tuple[Ints, NDArray[np.uint8]]:
        """First sector and number of sectors of each transaction, in program order."""
        address = rows["vaddr"].astype(np.int64)
        first: Array | int = 0
        last: Array | int = 0
        if "first_byte" in rows and "last_byte" in rows:
            first, last = rows["first_byte"], rows["last_byte"].astype(np.int64)
            self._refuse(last < first, "last_byte", rows["last_byte"], "first_byte or more")
        elif "bytes" in rows:
            self._refuse(rows["bytes"] == 0, "bytes", rows["bytes"], "1 or more")
            last = rows["bytes"].astype(np.int64) - 1
        low = (address + first) // SECTOR_BYTES
        count = (address + last) // SECTOR_BYTES - low + 1
        return low[by], count[by].astype(np.uint8)

    def _vector(self, by: NDArray[np.intp], wave: Ints, rows: dict[str, Array]) -> Instructions:
        """The instructions that the rows make."""
        new = np.ones(len(by), dtype=bool)
        if "inst" in rows:
            new[1:] = np.diff(wave) != 0
            new[1:] |= np.diff(rows["inst"][by].astype(np.int64)) != 0
        first = np.flatnonzero(new)
        wave, at = wave[first], by[first]
        count = np.arange(len(first)) - np.searchsorted(wave, wave)
        index = rows["inst_idx"][at].astype(np.int64) if "inst_idx" in rows else count
        name = "pc" if "pc" in rows else "inst"
        zero = np.zeros(len(at), dtype=np.uint8)
        return Instructions(
            wave,
            index,
            rows[name][at].astype(np.int64) if name in rows else count,
            rows["is_write"][at].astype(bool),
            _wait(
                rows["wait_vm"][at] if "wait_vm" in rows else zero + NO_LIMIT,
                rows["wait_lgkm"][at] if "wait_lgkm" in rows else zero + 1,
            ),
            rows["barriers"][at] if "barriers" in rows else zero,
            first,
            np.diff(np.append(first, len(by))),
            self._times(rows, wave, at),
        )

    def _times(self, rows: dict[str, Array], wave: Ints, at: NDArray[np.intp]) -> Ints:
        """When instructions were issued, whose first rows are these."""
        if not self._paced:
            return np.zeros(len(at), dtype=np.int64)
        launch = self.waves.block[wave] >> _BLOCK_SHIFT
        time = rows[TIME.name][at].astype(np.int64)
        first = np.full(self.launches, np.iinfo(np.int64).max)
        np.minimum.at(first, launch, time)
        self._first_times = first
        since: Ints = time - first[launch]
        return since

    def _merge(self, vector: Instructions, wave: Ints, scalars: dict[str, Array]) -> Instructions:
        """Vector and scalar instructions together."""
        index = scalars["s_inst_idx"].astype(np.int64)
        by = np.lexsort((index, wave))
        new = np.ones(len(by), dtype=bool)
        new[1:] = (np.diff(wave[by]) != 0) | (np.diff(index[by]) != 0)
        one = by[new]
        nothing = np.zeros(len(one), dtype=np.int64)
        scalar = Instructions(
            wave[one],
            index[one],
            nothing,
            nothing.astype(bool),
            _wait(scalars["s_wait_vm"][one], scalars["s_wait_lgkm"][one]),
            scalars["s_barriers"][one],
            nothing,
            nothing,
            nothing,
        )
        columns = [
            np.concatenate((getattr(vector, name), getattr(scalar, name)))
            for name in Instructions.__annotations__
        ]
        order = np.lexsort((columns[1], columns[0]))
        both = Instructions(*(column[order] for column in columns))
        twice = (np.diff(both.wave) == 0) & (np.diff(both.index) == 0)
        if twice.any():
            raise UserError(
                f"{self._path}: columns 'inst_idx' and 's_inst_idx' both have "
                f"{both.index[:-1][twice][0]} in one wavefront; allowed: one of them"
            )
        return both

    def _refuse(self, wrong: NDArray[np.bool_], name: str, values: Array, allowed: str) -> None:
        """Raise for the first row that is wrong."""
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise UserError(
                f"{self._path}: column {name!r}, row {row}: {values[row]}; allowed: {allowed}"
            )


def _wait(vm: Array, lgkm: Array) -> NDArray[np.uint8]:
    """How many instructions may be outstanding, of both counters."""
    return np.where(lgkm == 0, 0, vm).astype(np.uint8)
