"""What LULESH's kernels have in common: arrays by name, corners of elements, and streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ParamSpec

import numpy as np
from attrs import frozen

from gpusim.programs import writing as gpu
from gpusim.programs.kernel_function import Body
from gpusim.programs.proxy_apps.hexahedra import Reals

P = ParamSpec("P")

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


@frozen
class Domain:
    """The problem that all kernels work on.

    Attributes:
        reals: arrays of doubles, by LULESH's names.
        indices: arrays of ints.
        edge: elements along each side of the cube.
    """

    reals: Mapping[str, gpu.Doubles]
    indices: Mapping[str, gpu.Ints]
    edge: int

    @property
    def elements(self) -> int:
        """Their number."""
        return self.edge**3

    @property
    def nodes(self) -> int:
        """Corners of elements."""
        return (self.edge + 1) ** 3

    def load(
        self,
        k: gpu.BlockTracer,
        names: tuple[str, ...],
        index: gpu.Lanes,
        where: gpu.Mask | None = None,
    ) -> Reals:
        """(len(names), threads) one element of each array; no wait."""
        return np.stack([k.load(self.reals[name], index, where) for name in names])

    def read(
        self,
        k: gpu.BlockTracer,
        names: tuple[str, ...],
        index: gpu.Lanes,
        where: gpu.Mask | None = None,
    ) -> Reals:
        """(len(names), threads) one element of each array, and a wait."""
        values = self.load(k, names, index, where)
        k.wait(0, where)
        return values

    def store(
        self,
        k: gpu.BlockTracer,
        names: tuple[str, ...],
        index: gpu.Lanes,
        values: Reals,
        where: gpu.Mask | None = None,
    ) -> None:
        """Write one element of each array."""
        for name, value in zip(names, values, strict=True):
            k.store(self.reals[name], index, value, where)

    def corners(self, k: gpu.BlockTracer, element: gpu.Lanes, where: gpu.Mask) -> gpu.Lanes:
        """(CORNERS, threads) the element's nodes: 8 loads, `elements` apart, then a wait."""
        nodelist = self.indices["nodelist"]
        loads = [k.load(nodelist, element + c * self.elements, where) for c in range(CORNERS)]
        k.wait(0, where)
        return np.stack(loads).astype(np.int64)

    def gather(
        self, k: gpu.BlockTracer, names: tuple[str, ...], corners: gpu.Lanes, where: gpu.Mask
    ) -> Reals:
        """(len(names), CORNERS, threads) values at corners, corner by corner, then a wait."""
        values = np.stack([self.load(k, names, corner, where) for corner in corners], axis=1)
        k.wait(0, where)
        return values

    def listed(self, k: gpu.BlockTracer, inside: gpu.Mask) -> gpu.Lanes:
        """(threads,) the elements of the material: L matElemlist, and a wait."""
        return k.fetch(self.indices["matElemlist"], k.t, inside).astype(np.int64)


def lulesh_kernel(
    name: str, registers: int = 63, shared: int = 0
) -> Callable[[Body[P]], gpu.KernelFunction[P]]:
    """Decorator: a kernel over elements or nodes; its name is LULESH's, with ``_kernel``.

    Kernels with corners have 63 registers, the most that older devices allow (our choice).
    """
    return gpu.kernel(
        f"{name}_kernel", registers=registers, block=BLOCK, shared=shared, in_step=True
    )


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
    where: Callable[[Registers], gpu.Mask] | None = None


@frozen
class Stream:
    """A kernel with one element or node a thread, without neighbours.

    A correction of a value right after its store is part of that store (our choice).

    Attributes:
        name: LULESH's.
        steps: what each thread does.
        by_material: it finds its element in matElemlist, which lists all elements in order.
        renamed: the kernel's arguments that stand for other arrays.
        nodes: a thread has a node.
    """

    name: str
    steps: tuple[Step, ...]
    by_material: bool = False
    renamed: Mapping[str, str] = {}
    nodes: bool = False

    def on(self, domain: Domain) -> gpu.KernelLaunch:
        """A launch for all elements or nodes."""
        count = domain.nodes if self.nodes else domain.elements
        return lulesh_kernel(self.name, registers=24)(_stream)[count](domain, self)


def _stream(k: gpu.BlockTracer, domain: Domain, of: Stream) -> None:
    inside = gpu.threads_below(k, domain.nodes if of.nodes else domain.elements)
    index = domain.listed(k, inside) if of.by_material else k.t
    values: Registers = {}
    for step in of.steps:
        where = inside if step.where is None else inside & step.where(values)
        for name in step.inputs:
            values[name] = k.load(domain.reals[of.renamed.get(name, name)], index, where)
        if step.inputs:
            k.wait(0, where)
        if step.formula is None:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):  # threads that take no part
            result = step.formula(values)
        k.compute(step.instructions + ADDRESS * len(step.inputs + step.outputs), where)
        for name in step.outputs:
            values[name] = np.where(where, result, values.get(name, 0.0))
            array = domain.reals.get(of.renamed.get(name, name))
            if array is not None:
                k.store(array, index, result, where)
