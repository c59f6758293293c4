"""What LULESH's kernels have in common: arrays by name, corners of elements, and streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from attrs import define, frozen
from numpy.typing import NDArray

from gpusim.programs.device import DeviceArray
from gpusim.programs.idioms import threads_below
from gpusim.programs.kernel import Kernel
from gpusim.programs.lane_record import Mask
from gpusim.programs.proxy_apps.hexahedra import Reals
from gpusim.programs.tracer import BlockTracer, Shape

BLOCK = 256
CORNERS = 8
DOUBLE_PASSES = 2
"""Passes of a shared access of 8 bytes a thread: 32 threads need 256 bytes, twice the banks'."""

ADDRESS = 2
"""Instructions that add a thread's offset to the 64 bits of an array's address, as SASS of compute
capability 6.1 has them."""

XYZ = ("x", "y", "z")
VELOCITY = ("xd", "yd", "zd")
FORCE = ("fx", "fy", "fz")

Numbers = NDArray[np.int64]


@frozen
class Domain:
    """The problem that all kernels work on.

    Attributes:
        reals: arrays of doubles, by LULESH's names.
        indices: arrays of ints.
        edge: elements along each side of the cube.
    """

    reals: Mapping[str, DeviceArray[np.float64]]
    indices: Mapping[str, DeviceArray[np.int32]]
    edge: int

    @property
    def elements(self) -> int:
        """Their number."""
        return self.edge**3

    @property
    def nodes(self) -> int:
        """Corners of elements."""
        return (self.edge + 1) ** 3


@define(kw_only=True, eq=False)
class LuleshKernel(Kernel):
    """A kernel over elements or nodes; its name is LULESH's, with ``_kernel``.

    Attributes:
        domain: the problem.
        registers_per_thread: 63 with corners, the most that older devices allow (our choice).
    """

    domain: Domain
    registers_per_thread: int = 63

    def load(
        self, k: BlockTracer, names: tuple[str, ...], index: Numbers, where: Mask | None = None
    ) -> Reals:
        """(len(names), threads) one element of each array; no wait."""
        return np.stack([k.load(self.domain.reals[name], index, where) for name in names])

    def store(
        self,
        k: BlockTracer,
        names: tuple[str, ...],
        index: Numbers,
        values: Reals,
        where: Mask | None = None,
    ) -> None:
        """Write one element of each array."""
        for name, value in zip(names, values, strict=True):
            k.store(self.domain.reals[name], index, value, where)

    def corners(self, k: BlockTracer, element: Numbers, where: Mask) -> Numbers:
        """(CORNERS, threads) the element's nodes: 8 loads, `elements` apart, then a wait."""
        nodelist = self.domain.indices["nodelist"]
        rows = range(CORNERS)
        loads = [k.load(nodelist, element + c * self.domain.elements, where) for c in rows]
        k.wait(0, where)
        return np.stack(loads).astype(np.int64)

    def gather(
        self, k: BlockTracer, names: tuple[str, ...], corners: Numbers, where: Mask
    ) -> Reals:
        """(len(names), CORNERS, threads) values at corners, corner by corner, then a wait."""
        values = np.stack([self.load(k, names, corner, where) for corner in corners], axis=1)
        k.wait(0, where)
        return values


Registers = dict[str, Reals]


@frozen
class Step:
    """A part of a stream: loads, then arithmetic, then stores, which may alias the next loads.

    Attributes:
        inputs: arrays that are loaded at the thread's place.
        outputs: arrays, or registers if there is no such array, that get the formula's value.
        formula: from values by name, those of earlier steps too; None: nothing is computed.
        instructions: arithmetic instructions (our choice: counted in the formula), to which
            `ADDRESS` come for each array or register.
        where: threads that take this branch; None: all.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    formula: Callable[[Registers], Reals] | None = None
    instructions: int = 1
    where: Callable[[Registers], Mask] | None = None


@define(kw_only=True, eq=False)
class Stream(LuleshKernel):
    """One element or node a thread, without neighbours.

    A correction of a value right after its store is part of that store (our choice).

    Attributes:
        count: elements or nodes.
        steps: what each thread does.
        by_material: it finds its element in matElemlist, which lists all elements in order.
        renamed: the kernel's arguments that stand for other arrays.
    """

    count: int
    steps: tuple[Step, ...]
    by_material: bool = False
    renamed: Mapping[str, str] = {}
    registers_per_thread: int = 24
    in_step = True

    def body(self, k: BlockTracer) -> None:
        inside = threads_below(k, self.count)
        index = k.t
        if self.by_material:
            index = k.load(self.domain.indices["matElemlist"], k.t, inside).astype(np.int64)
            k.wait(0, inside)
        values: Registers = {}
        for step in self.steps:
            where = inside if step.where is None else inside & step.where(values)
            for name in step.inputs:
                values[name] = k.load(self._array(name), index, where)
            if step.inputs:
                k.wait(0, where)
            if step.formula is None:
                continue
            with np.errstate(divide="ignore", invalid="ignore"):  # threads that take no part
                result = step.formula(values)
            k.compute(step.instructions + ADDRESS * len(step.inputs + step.outputs), where)
            for name in step.outputs:
                values[name] = np.where(where, result, values.get(name, 0.0))
                if self.renamed.get(name, name) in self.domain.reals:
                    k.store(self._array(name), index, result, where)

    def _array(self, name: str) -> DeviceArray[np.float64]:
        return self.domain.reals[self.renamed.get(name, name)]


def linear(count: int) -> Shape:
    """Enough blocks for so many threads."""
    return Shape.linear(count, BLOCK)
