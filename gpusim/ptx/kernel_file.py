"""`load_kernel`: a kernel of your own, from CUDA C++ or PTX."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from attrs import frozen

from gpusim.core.errors import UserError, nearest
from gpusim.core.untrusted import file_bytes, format_memory, untrusted
from gpusim.programs.tracer import Dim3, Shape
from gpusim.ptx.arguments import bound
from gpusim.ptx.capture import current
from gpusim.ptx.cubin import registers_of
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
        names: of its arguments.
    """

    kernel: Kernel
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        """As the PTX has it."""
        return self.kernel.name

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
        values = bound(self.name, list(self.names), args, kwargs)
        shape = shape_of(self.name, grid, block)
        arguments = dict(zip(self.names, values, strict=True))
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

    Raises:
        UserError: the file cannot be read or compiled, is no PTX, or has no such kernel.
    """
    path, _, named = str(file).rpartition(":") if ":" in Path(file).name else (str(file), "", "")
    made, source = _compiled(Path(path), architecture, options)
    with untrusted(path):
        module = parse(made.ptx, path if not source else f"PTX of {path}")
        function = _find(module, path, name or named)
        registers = registers or registers_of(made.cubin, function.name)
        kernel = made_kernel(module, function.name, made.ptx, registers)
        return LoadedKernel(kernel, _argument_names(function, source))


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


def _argument_names(function: Function, source: str) -> tuple[str, ...]:
    """Names as the source has them, or as the PTX does."""
    own = tuple(parameter.name for parameter in function.parameters)
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.DOTALL)
    found = re.search(rf"\b{re.escape(plain_name(function.name))}\s*\(([^()]*)\)\s*\{{", plain)
    if not found:
        return own
    names = [re.search(r"(\w+)\s*(?:\[\s*\d*\s*\])?\s*$", one) for one in found[1].split(",")]
    told = tuple(one[1] for one in names if one)
    return told if len(told) == len(own) and len(set(told)) == len(told) else own
