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
from gpusim.ptx.syntax import Function, Module

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
        name: of the kernel; may be left out where the file has one only.
        registers: 32-bit registers of a thread, as ``ptxas -v`` tells them; default: of CUDA C++
            what NVRTC's assembler says, of PTX estimated.
        architecture: for which NVRTC compiles.
        options: further ones of NVRTC.
        variables: by their names, first contents of ``__constant__`` variables, and arrays that
            are ``__device__`` variables: kernels read and change them, like arguments.

    Raises:
        UserError: the file cannot be read or compiled, is no PTX, or has no such kernel.
    """
    path, _, named = str(file).rpartition(":") if ":" in Path(file).name else (str(file), "", "")
    made, source = _compiled(Path(path), architecture, options)
    with untrusted(path):
        module = parse(made.ptx, path if not source else f"PTX of {path}")
        bound = _with_contents(module, path, variables)
        function = _find(module, path, name or named)
        registers = registers or registers_of(made.cubin, function.name)
        kernel = made_kernel(module, function.name, made.ptx, registers)
        return LoadedKernel(evolve(kernel, bound=bound), arguments_of(function, source))


def _compiled(path: Path, architecture: str, options: Sequence[str]) -> tuple[Compiled, str]:
    """What a file is compiled to, and its source if it has one."""
    text = _text(path)
    if path.suffix == ".ptx":
        return Compiled(text, b""), ""
    if path.suffix in {".cu", ".cuh", ".cpp", ".cc"}:
        own = f"--include-path={path.parent}"
        return compiled(text, path.name, architecture, [own, *options]), text
    raise UserError(f"{path}: kernels are read from .cu (CUDA C++) and .ptx files")


def _text(path: Path) -> str:
    with untrusted(path):
        if file_bytes(path) > _MOST_BYTES:
            raise ValueError(f"it has more than {format_memory(_MOST_BYTES)}")
        return path.read_text(encoding="utf-8")


def _find(module: Module, path: str, name: str) -> Function:
    kernels = {one.name: one for one in module.functions.values() if one.entry and one.body}
    if not kernels:
        raise UserError(f"{path} has no kernel (PTX: .entry; CUDA: __global__)")
    if not name:
        if len(kernels) > 1:
            raise UserError(f"{path} has several kernels: name one of {', '.join(kernels)}")
        return next(iter(kernels.values()))
    fitting = [one for one in kernels.values() if name in {one.name, plain_name(one.name)}]
    if len(fitting) != 1:
        names = [plain_name(one) for one in kernels]
        raise UserError(
            f"{path} has no kernel {name!r}{nearest(name, names)}; it has {', '.join(kernels)}"
        )
    return fitting[0]


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
