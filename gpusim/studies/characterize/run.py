"""`characterize`: what a workload's blocks and SMs access, without timing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from gpusim.config.load import LoadedModel
from gpusim.core.errors import UserError, own_code_errors, own_modules
from gpusim.core.mapping_calls import CallDriver, MappingCall
from gpusim.core.version import __version__
from gpusim.core.warp_program import Buffer, Launch
from gpusim.files.apart import keep_apart
from gpusim.hardware.sm.block_placement import RoundRobinPlacement
from gpusim.hardware.sm.occupancy import blocks_per_sm
from gpusim.machine import Machine, Tenant
from gpusim.machine.dimensions import dimensions
from gpusim.programs.kernel import maker_of
from gpusim.results.run_data import Provenance
from gpusim.runs.tenants import assign_sms
from gpusim.studies.characterize.blocks import BlockAccesses, Geometry, run_block
from gpusim.studies.characterize.characterization import (
    DISTRIBUTIONS,
    ApplicationCharacterization,
    ArrayFootprint,
    Characterization,
    KernelCounts,
)
from gpusim.studies.characterize.distances import distinct_between, previous
from gpusim.studies.characterize.distribution import Tally
from gpusim.studies.characterize.file import characterization_file
from gpusim.studies.characterize.intensity import (
    BINS,
    BlockPages,
    inter_block_bins,
    intra_block_bins,
    sample_blocks,
)
from gpusim.studies.characterize.locality import Frames, shared_upper_bits, strides
from gpusim.studies.characterize.placement import SmStream, place_blocks, sm_stream, touch_order
from gpusim.workloads.workload import Workload

MAX_ACCESSES = 1 << 25
"""Accesses of one launch, which is in memory as a whole: about 12 bytes each, and five times as
much for those of one SM at a time."""

_OF_MODEL = ("sm.", "memory.", "l1.line")
"""Where the keys of a model are on which accesses depend."""


def depends_on(key: str) -> bool:
    """Whether a setting of a model, such as ``"memory.page"``, may change a characterization."""
    return key.startswith(_OF_MODEL)


def characterize(
    workload: Workload,
    model: LoadedModel,
    *,
    output: str | os.PathLike[str] | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> Characterization:
    """Run a workload's programs without a machine and characterize what they access.

    Args:
        workload: from `gpusim.load_workload`.
        model: from `gpusim.load_model`: SMs, occupancy limits, warp, line and page size, frames.
        output: HDF5 file to write as well.
        progress: called with an application's name and its blocks so far.

    Raises:
        UserError: there are too few SMs, a block does not fit on one, a launch makes more than
            `MAX_ACCESSES` accesses, physical memory is full, a program of the user's own failed, or
            `output` cannot be written.
    """
    if output is None:
        return _characterize(workload, model, progress)
    keep_apart({"output": output}, [model.path, *workload.inputs])
    with characterization_file(output) as write:
        found = _characterize(workload, model, progress)
        write(found)
    return found


def _characterize(
    workload: Workload, model: LoadedModel, progress: Callable[[str, int], None] | None
) -> Characterization:
    config = model.config
    geometry = Geometry(config.sm.warp_size, int(config.l1.line), int(config.memory.page))
    tenants = assign_sms(model, workload)
    machine = Machine(config, tenants, workload.seed)
    table = machine.page_table
    sizes = dimensions(config)
    applications = []
    for asid, tenant in enumerate(tenants):
        frames = Frames(table, asid, sizes.page_bits, sizes.frame_bits)
        calls = machine.mapping_calls
        survey = _Survey(tenant, model, geometry, frames, workload.seed, calls)
        with own_code_errors(own_modules([maker_of(tenant.application)])):
            for blocks in survey.run():
                if progress is not None:
                    progress(tenant.name, blocks)
        applications.append(survey.result())
    return Characterization(
        Provenance(
            gpusim=__version__,
            model=model.name,
            workload=workload.name,
            scale=workload.scale,
            seed=workload.seed,
            variants=tuple(model.variants),
            overrides=tuple(f"{key}={value}" for key, value in model.overrides.items()),
        ),
        geometry.page_bytes,
        geometry.line_bytes,
        geometry.warp_size,
        sizes.page_bits,
        sizes.frame_bits,
        tuple(applications),
    )


class _Survey:
    """One application, launch by launch; only sums and the set of pages outlive a launch."""

    def __init__(
        self,
        tenant: Tenant,
        model: LoadedModel,
        geometry: Geometry,
        frames: Frames,
        seed: int,
        calls: CallDriver | None,
    ) -> None:
        self._tenant = tenant
        self._calls = calls
        self._asid = frames.asid
        self._model = model
        self._geometry = geometry
        self._frames = frames
        self._rng = np.random.default_rng(seed)
        self._placement = RoundRobinPlacement()
        self._kernels: dict[str, NDArray[np.int64]] = {}
        self._pages = np.zeros(0, dtype=np.int64)
        self._intra = np.zeros(BINS, dtype=np.int64)
        self._inter = np.zeros(BINS, dtype=np.int64)
        self._pairs = 0
        self._tallies = {name: Tally() for name in DISTRIBUTIONS}

    def run(self) -> Iterator[int]:
        """Run all launches; yields the number of blocks so far."""
        done = 0
        for launch in self._tenant.application.launches():
            if isinstance(launch, MappingCall) and launch.maps and self._calls is not None:
                self._calls.at_once(self._asid, launch)  # for good: frames are asked for later
            blocks: list[BlockAccesses] = []
            accesses = 0
            for index in range(launch.blocks):
                blocks.append(run_block(launch, index, self._geometry))
                accesses += len(blocks[-1].page)
                self._check(launch, accesses)
                done += 1
                yield done
            self._count(launch, blocks)
            if accesses:
                self._measure_blocks(blocks)
                self._measure_sms(launch, blocks)

    def result(self) -> ApplicationCharacterization:
        """All measures."""
        application = self._tenant.application
        return ApplicationCharacterization(
            self._tenant.name,
            len(self._tenant.sms),
            tuple(KernelCounts(name, *counts.tolist()) for name, counts in self._kernels.items()),
            tuple(self._array(buffer) for buffer in application.buffers),
            len(self._pages),
            self._intra,
            self._inter,
            self._pairs,
            {name: tally.result() for name, tally in self._tallies.items()},
        )

    def _check(self, launch: Launch, accesses: int) -> None:
        if accesses > MAX_ACCESSES:
            raise UserError(
                f"application {self._tenant.name!r}: a launch of kernel {launch.name!r} makes more "
                f"than {MAX_ACCESSES} accesses; take a smaller scale, or only one of N blocks "
                "with --set workload.sample=N"
            )

    def _count(self, launch: Launch, blocks: list[BlockAccesses]) -> None:
        """Add to the counts of its kernel, in the order of `KernelCounts`."""
        self._kernels.setdefault(launch.name, np.zeros(6, dtype=np.int64))[:] += (
            1,
            len(blocks),
            sum(block.warps for block in blocks),
            sum(block.warp_instructions for block in blocks),
            sum(len(block.instruction_pages) for block in blocks),
            sum(len(block.page) for block in blocks),
        )

    def _measure_blocks(self, blocks: list[BlockAccesses]) -> None:
        """Reuse intensities, pages, and pages of an instruction."""
        pages = BlockPages.of(blocks)
        self._intra += intra_block_bins(pages)
        self._inter += inter_block_bins(sample_blocks(pages, self._rng))
        self._pairs += len(pages.total) * (len(pages.total) - 1)
        self._pages = np.union1d(self._pages, pages.page)
        for block in blocks:
            self._tallies["instruction_pages"].add(block.instruction_pages)

    def _measure_sms(self, launch: Launch, blocks: list[BlockAccesses]) -> None:
        """Distances, strides and shared bits in the order in which SMs make the accesses."""
        config, sms = self._model.config.sm, len(self._tenant.sms)
        per_sm = blocks_per_sm(config, launch)
        if not per_sm:
            raise UserError(
                f"a block of kernel {launch.name!r} does not fit on an SM of {self._model.name}"
            )
        steps = [block.steps for block in blocks]
        placed = place_blocks(launch, steps, sms, per_sm, self._placement)
        self._frames.of(touch_order(blocks, placed))
        for sm in range(sms):
            stream = sm_stream(blocks, placed, sm)
            if stream.page.size:
                self._measure_distances(stream)
                self._measure_locality(stream.page)

    def _measure_distances(self, stream: SmStream) -> None:
        tallies = self._tallies
        page = np.unique(stream.page, return_inverse=True)[1]
        before = previous(page)
        reuse = np.flatnonzero(before >= 0)
        tallies["accesses_between"].add(reuse - before[reuse] - 1)
        own = stream.owner * (int(page.max()) + 1) + page
        before = previous(own)
        reuse = np.flatnonzero(before >= 0)
        tallies["distance_interleaved"].add(distinct_between(page, before[reuse], reuse))
        # One block after the other: what is between two accesses of a block is its own.
        own = own[np.argsort(stream.owner, kind="stable")]
        before = previous(own)
        reuse = np.flatnonzero(before >= 0)
        tallies["distance_alone"].add(distinct_between(own, before[reuse], reuse))

    def _measure_locality(self, page: NDArray[np.int64]) -> None:
        tallies, frames = self._tallies, self._frames
        tallies["stride"].add(strides(page))
        tallies["shared_page_bits"].add(shared_upper_bits(page, frames.page_bits))
        frame = frames.of(page)
        tallies["shared_frame_bits"].add(shared_upper_bits(frame, frames.frame_bits))

    def _array(self, buffer: Buffer) -> ArrayFootprint:
        """How much of an array is touched; an empty one lies nowhere."""
        size = self._geometry.page_bytes
        first, last = buffer.base // size, (buffer.base + buffer.bytes - 1) // size
        low, high = np.searchsorted(self._pages, (first, last + 1)).tolist()
        return ArrayFootprint(buffer.name, buffer.bytes, last + 1 - first, high - low)
