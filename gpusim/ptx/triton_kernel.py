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
from gpusim.ptx.changed import changed
from gpusim.ptx.cubin import registers_of
from gpusim.ptx.kernel_file import grid_of
from gpusim.ptx.launch import Kernel, made_kernel
from gpusim.ptx.parser import parse
from gpusim.ptx.tensors import SMALL_FLOATS, is_tensor, tensor_array, type_name

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


@define(eq=False)
class TritonKernel:
    """A kernel in Triton, for numpy arrays (or tensors on the CPU).

    Attributes:
        function: decorated with ``triton.jit``.
        capability: compute capability that it is compiled for, such as 90 for an H100.
    """

    function: Any
    capability: int = DEFAULT_CAPABILITY
    _kernels: dict[str, tuple[Kernel, int, int, int]] = field(factory=dict)

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
        own = {parameter.name for parameter in self.function.params}
        options = {name: kwargs[name] for name in _OPTIONS if name in kwargs}
        kwargs = {name: kwargs[name] for name in kwargs if name in own or name not in _OPTIONS}
        given = self._bound(args, kwargs)
        small = {
            name: SMALL_FLOATS[type_name(value)][1]
            for name, value in given.items()
            if is_tensor(value) and type_name(value) in SMALL_FLOATS
        }
        values = {
            name: tensor_array(value) if is_tensor(value) else value
            for name, value in given.items()
        }
        signature, constants, aligned = self._specialised(values)
        signature |= {name: f"*{type_}" for name, type_ in small.items()}
        key = repr((signature, sorted(constants.items()), sorted(aligned), options))
        if key not in self._kernels:
            self._kernels[key] = self._compiled(signature, constants, aligned, options)
        kernel, warps, shared, scratch = self._kernels[key]
        programs = grid(dict(values)) if callable(grid) else grid
        names = [name for name in values if signature[name] != "constexpr"]
        arguments = {name: values[name] for name in names}
        shape = Shape(grid_of(programs), (32 * warps, 1, 1))
        for number in range(len(kernel.function.parameters) - len(names)):
            arguments[f"scratch {number}"] = 0  # the compiler's own
        if scratch:
            arguments["scratch 0"] = np.zeros(scratch * shape.blocks, np.uint8)
        current().launch(kernel, shape, arguments, shared, execute)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by name, in order."""
        try:
            bound = self.function.signature.bind(*args, **kwargs)
        except TypeError as error:
            names = ", ".join(self.function.signature.parameters)
            raise UserError(f"kernel {self._name!r}: {error}; its arguments: {names}") from error
        bound.apply_defaults()
        return dict(bound.arguments)

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
    ) -> tuple[Kernel, int, int, int]:
        """The kernel, its warps, bytes of shared memory, and of scratch memory a program."""
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
                source,
                target=GPUTarget("cuda", self.capability, 32),
                options={"enable_fp_fusion": True, **options},  # defaults differ between versions
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
        scratch = int(getattr(made.metadata, "global_scratch_size", 0))
        return kernel, threads[0] // 32, int(made.metadata.shared), scratch


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


class _Driver:
    """Triton's driver without a GPU, as kernels and their launches use it.

    Args:
        capability: compute capability of the GPU that there would be.
    """

    def __init__(self, capability: int) -> None:
        self._capability = capability
        self.utils = self

    def get_current_target(self) -> Any:
        """What kernels are compiled for."""
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self._capability, 32)

    def get_current_device(self) -> int:
        """Number of the GPU."""
        return 0

    def get_device_capability(self, *_: Any) -> tuple[int, int]:
        """Compute capability, in two parts."""
        return divmod(self._capability, 10)

    def get_active_torch_device(self) -> Any:
        """Where tensors lie: on the CPU."""
        import torch

        return torch.device("cpu")

    def get_device_properties(self, *_: Any) -> dict[str, int]:
        """Those of an A100, or an H100, by the capability."""
        sms, shared = (108, 166_912) if self._capability < _HOPPER else (132, 232_448)
        return {"multiprocessor_count": sms, "max_shared_mem": shared, "warpSize": 32}


_HOPPER = 90


@contextmanager
def capture_triton(
    name: str = "captured", capability: int = DEFAULT_CAPABILITY, execute: bool = True
) -> Iterator[Capture]:
    """Inside, ``kernel[grid](...)`` of Triton's kernels runs here, and is kept for the machine.

    Args:
        name: of the program, for results.
        capability: compute capability that kernels are compiled for; kernels with an autotuner run
            with its first configuration.
        execute: as of `gpusim.ptx.kernel_file.LoadedKernel.launch`.

    Raises:
        UserError: Triton is not installed.
    """
    triton = _triton()
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    known: dict[int, TritonKernel] = {}
    tuned: set[str] = set()

    def run(function: Any, *args: Any, grid: Grid, warmup: bool, **kwargs: Any) -> None:
        kernel = known.setdefault(id(function), TritonKernel(function, capability))
        kernel.launch(grid, *args, execute=execute and not warmup, **kwargs)

    run_tuned = Autotuner.run

    def noted(tuner: Any, *args: Any, **kwargs: Any) -> Any:
        if len(tuner.configs) > 1:
            tuned.add(str(tuner.base_fn.__name__))
        return run_tuned(tuner, *args, **kwargs)

    with (
        changed(JITFunction, {"run": run}),
        changed(Autotuner, {"_bench": lambda *_, **__: 0.0, "run": noted}),
        changed(triton.runtime.driver, {"_active": _Driver(capability)}),
        capture(name) as captured,
    ):
        yield captured
        captured.notices += [
            f"{one} runs with the first of its configurations: the autotuner has no GPU to measure"
            for one in sorted(tuned)
        ]
