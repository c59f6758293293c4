"""Kernels in Triton: compiled by its own compiler, without a GPU, and launched on numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from attrs import define, field

from gpusim.core.errors import UserError
from gpusim.programs.tracer import Shape
from gpusim.ptx.capture import Capture, capture, current
from gpusim.ptx.cubin import registers_of
from gpusim.ptx.kernel_file import grid_of
from gpusim.ptx.launch import Kernel, made_kernel
from gpusim.ptx.parser import parse

Grid: TypeAlias = int | tuple[int, ...] | Callable[[dict[str, Any]], tuple[int, ...]]

DEFAULT_CAPABILITY = 80
"""Compute capability that kernels are compiled for where nothing is said: an A100."""

_TYPES = {
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
}
"""Triton's names of numpy's types."""

_ALIGNED = 16
"""Addresses and numbers that are its multiples are compiled for, as Triton does."""

_DIVISIBLE = [["tt.divisibility", _ALIGNED]]

_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
"""Arguments of a launch that are the compiler's."""


def _triton() -> Any:
    try:
        import triton
    except ImportError as error:
        raise UserError(
            "Triton is not installed; install it with: pip install 'gpusim[triton]'"
        ) from error
    return triton


def _array(value: Any) -> Any:
    """A tensor on the CPU as the numpy array whose memory it is; anything else as it is."""
    if hasattr(value, "data_ptr") and hasattr(value, "numpy"):
        return value.detach().numpy()
    return value


@define(eq=False)
class TritonKernel:
    """A kernel in Triton, for numpy arrays (or tensors on the CPU).

    Attributes:
        function: decorated with ``triton.jit``.
        capability: compute capability that it is compiled for, such as 90 for an H100.
    """

    function: Any
    capability: int = DEFAULT_CAPABILITY
    _kernels: dict[str, tuple[Kernel, int, int]] = field(factory=dict)

    def launch(self, grid: Grid, *args: Any, execute: bool = True, **kwargs: Any) -> None:
        """Launch it, as ``kernel[grid](...)`` does on a GPU.

        Args:
            grid: programs: a number, up to three, or a function of the arguments by name.
            *args: numpy arrays and numbers.
            execute: as of `gpusim.ptx.kernel_file.LoadedKernel.launch`.
            **kwargs: arguments by name, constants of the kernel, and ``num_warps``, ``num_stages``.

        Raises:
            UserError: Triton is not installed or does not accept it, or an argument does not fit.
        """
        options = {name: kwargs.pop(name) for name in _OPTIONS if name in kwargs}
        values = self._bound(args, kwargs)
        signature, constants, aligned = self._specialised(values)
        key = repr((signature, sorted(constants.items()), sorted(aligned), options))
        if key not in self._kernels:
            self._kernels[key] = self._compiled(signature, constants, aligned, options)
        kernel, warps, shared = self._kernels[key]
        programs = grid(dict(values)) if callable(grid) else grid
        names = [name for name in values if signature[name] != "constexpr"]
        given = {name: values[name] for name in names}
        for number in range(len(kernel.function.parameters) - len(names)):
            given[f"scratch {number}"] = 0  # the compiler's own, which it uses only if it says so
        shape = Shape(grid_of(programs), (32 * warps, 1, 1))
        current().launch(kernel, shape, given, shared, execute)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by name, in order."""
        try:
            bound = self.function.signature.bind(*args, **kwargs)
        except TypeError as error:
            names = ", ".join(self.function.signature.parameters)
            raise UserError(f"kernel {self._name!r}: {error}; its arguments: {names}") from error
        bound.apply_defaults()
        return {name: _array(value) for name, value in bound.arguments.items()}

    @property
    def _name(self) -> str:
        return str(self.function.__name__)

    def _specialised(
        self, values: Mapping[str, Any]
    ) -> tuple[dict[str, str], dict[str, Any], set[int]]:
        """Types of the arguments, those that are constants, and which of them are multiples of 16.

        As Triton does: an integer of 1 and None are constants.
        """
        constants = {
            parameter.name: values[parameter.name]
            for parameter in self.function.params
            if parameter.is_constexpr
        }
        signature: dict[str, str] = {}
        aligned: set[int] = set()
        for place, (name, value) in enumerate(values.items()):
            if name in constants or value is None or (type(value) is int and value == 1):
                constants[name] = value
                signature[name] = "constexpr"
                continue
            signature[name] = self._type(name, value)
            if isinstance(value, np.ndarray):
                start = value.__array_interface__["data"][0]
                base = value
                while isinstance(base.base, np.ndarray):
                    base = base.base
                if (start - base.__array_interface__["data"][0]) % _ALIGNED == 0:
                    aligned.add(place)
            elif isinstance(value, int | np.integer) and int(value) % _ALIGNED == 0:
                aligned.add(place)
        return signature, constants, aligned

    def _type(self, name: str, value: Any) -> str:
        if isinstance(value, np.ndarray) and value.dtype.name in _TYPES:
            return f"*{_TYPES[value.dtype.name]}"
        if isinstance(value, bool | np.bool_):
            return "i1"
        if isinstance(value, int | np.integer):
            whole = int(value)
            if -(1 << 31) <= whole < 1 << 31:
                return "i32"
            return "i64" if whole < 1 << 63 else "u64"
        if isinstance(value, float | np.floating):
            return "fp32"
        raise UserError(
            f"kernel {self._name!r}, argument {name!r}: {type(value).__name__} is neither a numpy "
            "array nor a number"
        )

    def _compiled(
        self,
        signature: dict[str, str],
        constants: dict[str, Any],
        aligned: set[int],
        options: dict[str, Any],
    ) -> tuple[Kernel, int, int]:
        """The kernel, its warps, and bytes of shared memory."""
        triton = _triton()
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource

        order = list(signature)
        source = ASTSource(
            fn=self.function,
            signature=signature,
            constexprs={(order.index(name),): value for name, value in constants.items()},
            attrs={(place,): _DIVISIBLE for place in sorted(aligned)},
        )
        try:
            made = triton.compile(
                source, target=GPUTarget("cuda", self.capability, 32), options=options
            )
        except Exception as error:  # a compiler may fail in any way
            raise UserError(
                f"kernel {self._name!r}: Triton does not compile it: {error}"
            ) from error
        text = made.asm["ptx"]
        module = parse(text, f"PTX of {self._name}")
        registers = registers_of(made.asm.get("cubin", b""), made.metadata.name)
        kernel = made_kernel(module, made.metadata.name, text, registers)
        threads = kernel.function.limits.get("reqntid") or (32 * made.metadata.num_warps,)
        return kernel, threads[0] // 32, int(made.metadata.shared)


def triton_kernel(function: Any, capability: int = DEFAULT_CAPABILITY) -> TritonKernel:
    """A kernel in Triton, to be launched on numpy arrays.

    Args:
        function: decorated with ``triton.jit``.
        capability: compute capability that it is compiled for, such as 90 for an H100.

    Raises:
        UserError: Triton is not installed, or it is no such function.
    """
    _triton()
    if not hasattr(function, "params") or not hasattr(function, "signature"):
        raise UserError(f"{function!r} is no kernel in Triton: decorate it with triton.jit")
    return TritonKernel(function, capability)


@contextmanager
def capture_triton(
    name: str = "captured", capability: int = DEFAULT_CAPABILITY, execute: bool = True
) -> Iterator[Capture]:
    """Inside, ``kernel[grid](...)`` of Triton's kernels runs here, and is kept for the machine.

    Args:
        name: of the program, for results.
        capability: compute capability that kernels are compiled for.
        execute: as of `gpusim.ptx.kernel_file.LoadedKernel.launch`.

    Raises:
        UserError: Triton is not installed.
    """
    _triton()
    from triton.runtime.jit import JITFunction

    known: dict[int, TritonKernel] = {}
    before = JITFunction.run

    def run(function: Any, *args: Any, grid: Grid, warmup: bool, **kwargs: Any) -> None:
        kernel = known.setdefault(id(function), TritonKernel(function, capability))
        kernel.launch(grid, *args, execute=execute and not warmup, **kwargs)

    JITFunction.run = run
    try:
        with capture(name) as captured:
            yield captured
    finally:
        JITFunction.run = before
