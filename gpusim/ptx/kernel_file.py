"""`load_kernel`: a kernel of your own, from CUDA C++ or PTX."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from gpusim.core.errors import UserError, nearest
from gpusim.core.untrusted import file_bytes, format_memory, untrusted
from gpusim.programs.tracer import Dim3, Shape
from gpusim.ptx.arguments import bound
from gpusim.ptx.capture import current
from gpusim.ptx.cubin import registers_of
from gpusim.ptx.cuda_arguments import Argument, arguments_of
from gpusim.ptx.launch import Kernel, made_kernel
from gpusim.ptx.names import plain_name
from gpusim.ptx.nvrtc import DEFAULT_ARCHITECTURE, Compiled, compiled
from gpusim.ptx.parser import parse
from gpusim.ptx.syntax import Module

_MOST_THREADS = 1024
"""Threads of a block of NVIDIA's GPUs."""

_MOST_BYTES = 64 << 20
"""Bytes of a file (our choice): the largest ones of libraries have some MiB."""

Extent: TypeAlias = int | tuple[int, ...]


@frozen(eq=False)
class LoadedKernel:
    """A kernel that can be launched.

    Attributes:
        kernel: ready to be executed.
        arguments: as the source declares them.
    """

    kernel: Kernel
    arguments: tuple[Argument, ...]

    @property
    def name(self) -> str:
        """As the PTX has it."""
        return self.kernel.name

    @property
    def names(self) -> tuple[str, ...]:
        """Those of its arguments."""
        return tuple(one.name for one in self.arguments)

    @property
    def plain_name(self) -> str:
        """As the source has it."""
        return plain_name(self.kernel.name)

    def launch(
        self,
        grid: Extent,
        block: Extent,
        *args: Any,
        shared: int = 0,
        execute: bool = True,
        **kwargs: Any,
    ) -> None:
        """Launch it: execute it here, and, in a `gpusim.capture`, keep it for the machine.

        Args:
            grid: thread blocks: a number, or up to three (x, y, z).
            block: threads of a block: a number, or up to three (x, y, z).
            *args: numpy arrays, which the kernel reads and changes, and numbers.
            shared: bytes of shared memory beside those that the kernel declares.
            execute: whether results are computed now; without, the arrays stay as they are, and
                what no address depends on is never computed.
            **kwargs: arguments by name.

        Raises:
            UserError: an argument does not fit, or the kernel accesses what is not there; names
                the line of the source.
        """
        names = self.names
        values = bound(self.name, list(names), args, kwargs)
        for argument, value in zip(self.arguments, values, strict=True):
            argument.check(self.plain_name, value)
        shape = shape_of(self.name, grid, block)
        arguments = dict(zip(names, values, strict=True))
        current().launch(self.kernel, shape, arguments, shared, execute)


def shape_of(kernel: str, grid: Any, block: Any) -> Shape:
    """Grid and block of a launch.

    Raises:
        UserError: they are no such numbers, or there are too many threads.
    """
    shape = Shape(grid_of(grid), _extent("block", block))
    if shape.threads > _MOST_THREADS:
        raise UserError(
            f"kernel {kernel!r}: {shape.threads} threads of a block; at most {_MOST_THREADS}"
        )
    return shape


def grid_of(given: Any) -> Dim3:
    """Thread blocks along x, y and z.

    Raises:
        UserError: they are no such numbers.
    """
    return _extent("grid", given)


def _extent(what: str, given: Any) -> Dim3:
    numbers = given if isinstance(given, tuple) else (given,)
    whole = all(isinstance(one, int | np.integer) and int(one) > 0 for one in numbers)
    if not 1 <= len(numbers) <= 3 or not whole:
        raise UserError(f"{what} = {given!r}: must be a number from 1 on, or up to three of them")
    x, y, z = (*(int(one) for one in numbers), 1, 1)[:3]
    return x, y, z


def load_kernel(
    file: str | os.PathLike[str],
    name: str = "",
    *,
    registers: int | None = None,
    architecture: str = DEFAULT_ARCHITECTURE,
    options: Sequence[str] = (),
    variables: Mapping[str, NDArray[Any]] = MappingProxyType({}),
) -> LoadedKernel:
    """A kernel of a file of CUDA C++ (.cu, compiled by NVRTC) or PTX (.ptx).

    Loading runs nothing of the file.

    Args:
        file: its path; ``"bfs.cu:visit"`` names a kernel in it, too.
        name: of the kernel, or an instance of a template, such as ``"scale<float, 4>"``; may be
            left out where the file has one kernel only.
        registers: 32-bit registers of a thread, as ``ptxas -v`` tells them; default: of CUDA C++
            what NVRTC's assembler says, of PTX estimated.
        architecture: for which NVRTC compiles.
        options: further ones of NVRTC.
        variables: by their names, first contents of ``__constant__`` variables, and arrays that
            are ``__device__`` variables: kernels read and change them, like arguments.

    Raises:
        UserError: the file cannot be read or compiled, is no PTX, or has no such kernel.
    """
    path, named = path_and_kernel(file)
    kernels = KernelFile(path, [name or named], architecture, options, variables)
    return kernels.kernel(name or named, registers)


def path_and_kernel(file: str | os.PathLike[str]) -> tuple[str, str]:
    """The path of a file, and the kernel that may be named behind a colon."""
    last = Path(file).name
    base, _, named = last.partition(":")
    return str(file).removesuffix(last) + base, named


class KernelFile:
    """A file of kernels, compiled once.

    Args:
        path: of the file.
        names: of the kernels that will be asked for; of others, those that are no templates.
        architecture: for which NVRTC compiles.
        options: further ones of NVRTC.
        variables: contents of variables (`load_kernel`).

    Raises:
        UserError: the file cannot be read or compiled, or is no PTX.
    """

    def __init__(
        self,
        path: str,
        names: Sequence[str],
        architecture: str = DEFAULT_ARCHITECTURE,
        options: Sequence[str] = (),
        variables: Mapping[str, NDArray[Any]] = MappingProxyType({}),
    ) -> None:
        self._path = path
        instances = [one for one in names if "<" in one]
        self._made, self._source = _compiled(Path(path), architecture, options, instances)
        with untrusted(path):
            where = f"PTX of {path}" if self._source else path
            self._module = parse(self._made.ptx, where)
            self._bound = _with_contents(self._module, path, variables)

    @property
    def names(self) -> list[str]:
        """Names of its kernels, as the PTX has them."""
        return [one.name for one in self._module.functions.values() if one.entry and one.body]

    def kernel(self, name: str = "", registers: int | None = None) -> LoadedKernel:
        """A kernel of it.

        Args:
            name: as the source or the PTX has it; may be left out where there is one only.
            registers: of a thread (`load_kernel`).

        Raises:
            UserError: there is no such kernel.
        """
        found = self._found(self._made.lowered.get(name, name))
        with untrusted(self._path):
            registers = registers or registers_of(self._made.cubin, found)
            kernel = made_kernel(self._module, found, self._made.ptx, registers)
            arguments = arguments_of(self._module.functions[found], self._source)
            return LoadedKernel(evolve(kernel, bound=self._bound), arguments)

    def _found(self, name: str) -> str:
        """The name of a kernel, as the PTX has it."""
        path, names = self._path, self.names
        if not names:
            what = "(PTX: .entry; CUDA: __global__)"
            raise UserError(f"{path} has no kernel {what}{self._templates}")
        fitting = [one for one in names if not name or name in {one, plain_name(one)}]
        if len(fitting) == 1:
            return fitting[0]
        plain = [plain_name(one) for one in fitting or names]
        shown = ", ".join(plain if len({*plain}) == len(plain) else fitting or names)
        if fitting:
            called = f" {name!r}" if name else ""
            raise UserError(
                f"{path} has several kernels{called}: name one of {shown}{self._templates}"
            )
        raise UserError(
            f"{path} has no kernel {name!r}{nearest(name, plain)}; it has {shown}{self._templates}"
        )

    @property
    def _templates(self) -> str:
        """How kernels are named that the PTX does not have."""
        if "template" not in self._source:
            return ""
        return "; a template is named with its arguments, such as 'scale<float, 4>'"


def _compiled(
    path: Path, architecture: str, options: Sequence[str], instances: Sequence[str]
) -> tuple[Compiled, str]:
    """What a file is compiled to, and its source if it has one."""
    text = _text(path)
    if path.suffix == ".ptx":
        return Compiled(text, b""), ""
    if path.suffix in {".cu", ".cuh", ".cpp", ".cc"}:
        own = f"--include-path={path.parent}"
        return compiled(text, path.name, architecture, [own, *options], instances), text
    raise UserError(f"{path}: kernels are read from .cu (CUDA C++) and .ptx files")


def _text(path: Path) -> str:
    with untrusted(path):
        if file_bytes(path) > _MOST_BYTES:
            raise ValueError(f"it has more than {format_memory(_MOST_BYTES)}")
        return path.read_text(encoding="utf-8")


def _with_contents(
    module: Module, path: str, variables: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Let constant variables begin with the contents of arrays; returns those of global ones.

    Raises:
        UserError: there is no such variable, or it has another size.
    """
    bound = {}
    places = {
        name: place
        for place, one in enumerate(module.variables)
        for name in (one.name, plain_name(one.name))
        if one.space in {"global", "const"}
    }
    for name, array in variables.items():
        if name not in places:
            raise UserError(f"{path} has no variable {name!r}{nearest(name, places)}")
        variable = module.variables[places[name]]
        contents = np.ascontiguousarray(array).tobytes()
        is_global = variable.space == "global"
        if len(contents) > variable.bytes or (is_global and len(contents) < variable.bytes):
            raise UserError(
                f"{path}: the variable {name!r} has {variable.bytes} bytes; the array for it has "
                f"{len(contents)}"
            )
        if is_global:
            bound[variable.name] = array
        else:
            module.variables[places[name]] = evolve(variable, contents=contents)
    return bound
