"""Kernels in Numba: compiled by its own compiler, without a GPU, and launched on numpy arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.ptx.arguments import bound
from gpusim.ptx.capture import Capture, capture, current
from gpusim.ptx.changed import changed
from gpusim.ptx.kernel_file import Extent, shape_of
from gpusim.ptx.launch import Kernel, made_kernel
from gpusim.ptx.parser import parse

DEFAULT_CAPABILITY = 80
"""Compute capability that kernels are compiled for where nothing is said: an A100."""

_PASSED_ON = ("fastmath", "opt", "launch_bounds")
"""Options of ``cuda.jit`` that the compiler takes."""

Launcher: TypeAlias = Callable[..., None]


def _cuda() -> Any:
    with suppress(ImportError):
        from numba import cuda

        if hasattr(cuda, "compile_ptx"):  # its package may be a part only
            return cuda
    raise UserError(
        "Numba's compiler for CUDA is not installed; install it with: pip install 'gpusim[numba]'"
    )


class HostArray(np.ndarray[Any, np.dtype[Any]]):
    """What ``cuda.to_device`` returns in a capture: an array of the host with two more methods."""

    def copy_to_host(self, ary: NDArray[Any] | None = None, stream: object = 0) -> NDArray[Any]:
        """A copy of the contents, in `ary` if it is given."""
        del stream
        if ary is None:
            return np.array(self)
        ary[...] = self
        return ary

    def copy_to_device(self, ary: NDArray[Any], stream: object = 0) -> None:
        """Take over contents."""
        del stream
        self[...] = ary


def _to_device(obj: Any, stream: object = 0, copy: bool = True, to: Any = None) -> Any:
    del stream
    made = np.empty_like(obj).view(HostArray) if to is None else to
    if copy:
        made[...] = obj
    return made


def _device_array(shape: Any, dtype: Any = np.float64, **_: object) -> Any:
    return np.zeros(shape, dtype).view(HostArray)


def _device_array_like(ary: NDArray[Any], stream: object = 0) -> Any:
    del stream
    return np.zeros_like(ary).view(HostArray)


_HOST_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "to_device": _to_device,
    "device_array": _device_array,
    "managed_array": _device_array,
    "pinned_array": _device_array,
    "mapped_array": _device_array,
    "device_array_like": _device_array_like,
    "synchronize": lambda: None,
}
"""Functions of ``numba.cuda`` that need a GPU, and what they are in a capture."""


@frozen
class _Device:
    """What Numba asks of the GPU for which it compiles functions that kernels call."""

    compute_capability: tuple[int, int]


@define(eq=False)
class NumbaKernel:
    """A kernel in Numba, for numpy arrays.

    Attributes:
        dispatcher: what ``numba.cuda.jit`` has made of a function.
        capability: compute capability that it is compiled for, such as 90 for an H100.
    """

    dispatcher: Any
    capability: int = DEFAULT_CAPABILITY
    _kernels: dict[tuple[Any, ...], Kernel] = field(factory=dict)

    @property
    def _name(self) -> str:
        return str(self.dispatcher.py_func.__name__)

    def launch(
        self, grid: Extent, block: Extent, *args: Any, shared: int = 0, execute: bool = True
    ) -> None:
        """Launch it, as ``kernel[grid, block](...)`` does on a GPU.

        Args:
            grid: thread blocks: a number, or up to three.
            block: threads of a block: a number, or up to three.
            *args: numpy arrays, numbers, and tuples of numbers.
            shared: bytes of dynamic shared memory.
            execute: as of `gpusim.ptx.kernel_file.LoadedKernel.launch`.

        Raises:
            UserError: Numba does not accept it, or an argument does not fit.
        """
        code = self.dispatcher.py_func.__code__
        names = list(code.co_varnames[: code.co_argcount])
        values = bound(self._name, names, args, {})
        types = tuple(self._type(name, value) for name, value in zip(names, values, strict=True))
        if types not in self._kernels:
            self._kernels[types] = self._compiled(types)
        kernel = self._kernels[types]
        arguments: dict[str, Any] = {}
        for name, value in zip(names, values, strict=True):
            arguments |= _flat(name, value)
        expected = len(kernel.function.parameters)
        if len(arguments) != expected:
            raise UserError(
                f"kernel {self._name!r}: Numba passes {expected} values for its arguments, not "
                f"{len(arguments)}; allowed: arrays, numbers, and tuples of numbers"
            )
        current().launch(kernel, shape_of(self._name, grid, block), arguments, shared, execute)

    def _type(self, name: str, value: Any) -> Any:
        if isinstance(value, HostArray):
            value = np.asarray(value)
        try:
            return self.dispatcher.typeof_pyval(value)
        except (TypeError, ValueError) as error:
            raise UserError(
                f"kernel {self._name!r}, argument {name!r}: Numba has no type for "
                f"{type(value).__name__}"
            ) from error

    def _compiled(self, types: tuple[Any, ...]) -> Kernel:
        from numba.cuda import dispatcher as compiled_functions

        options = self.dispatcher.targetoptions
        pair = divmod(self.capability, 10)
        try:
            with changed(compiled_functions, {"get_current_device": lambda: _Device(pair)}):
                text, _ = _cuda().compile_ptx(
                    self.dispatcher.py_func,
                    types,
                    cc=pair,
                    lineinfo=True,
                    **{name: options[name] for name in _PASSED_ON if options.get(name) is not None},
                )
        except Exception as error:  # a compiler may fail in any way
            raise UserError(f"kernel {self._name!r}: Numba does not compile it: {error}") from error
        found = re.search(r"\.entry\s+(\w+)", text)
        if found is None:
            raise UserError(f"kernel {self._name!r}: the PTX that Numba makes has no .entry")
        text = text.replace(found[1], self._name)  # which names the types of all arguments
        module = parse(text, f"PTX of {self._name}")
        return made_kernel(module, self._name, text, options.get("max_registers"))


def _flat(name: str, value: Any) -> dict[str, Any]:
    """An argument as Numba passes it: an array with its shape and strides, a tuple by elements."""
    if isinstance(value, np.ndarray) and value.ndim:
        plain = value.view(np.ndarray)
        made: dict[str, Any] = {f"{name}.meminfo": 0, f"{name}.parent": 0}
        made |= {f"{name}.nitems": plain.size, f"{name}.itemsize": plain.itemsize, name: plain}
        made |= {f"{name}.shape{axis}": size for axis, size in enumerate(plain.shape)}
        return made | {f"{name}.stride{axis}": size for axis, size in enumerate(plain.strides)}
    if isinstance(value, tuple):
        parts: dict[str, Any] = {}
        for place, part in enumerate(value):
            parts |= _flat(f"{name}.{place}", part)
        return parts
    return {name: value}


@contextmanager
def capture_numba(
    name: str = "captured", capability: int = DEFAULT_CAPABILITY, execute: bool = True
) -> Iterator[Capture]:
    """Inside, ``kernel[grid, block](...)`` of Numba's kernels runs here, and is kept.

    ``cuda.to_device``, ``device_array``, ``synchronize`` and the like are those of the host there.

    Args:
        name: of the program, for results.
        capability: compute capability that kernels are compiled for.
        execute: as of `gpusim.ptx.kernel_file.LoadedKernel.launch`.

    Raises:
        UserError: Numba is not installed.
    """
    cuda = _cuda()
    from numba.cuda.dispatcher import CUDADispatcher

    known: dict[int, NumbaKernel] = {}

    def configure(
        dispatcher: Any, griddim: Extent, blockdim: Extent, stream: object = 0, sharedmem: int = 0
    ) -> Launcher:
        del stream
        kernel = known.setdefault(id(dispatcher), NumbaKernel(dispatcher, capability))

        def launch(*args: Any) -> None:
            kernel.launch(griddim, blockdim, *args, shared=sharedmem, execute=execute)

        return launch

    with (
        changed(CUDADispatcher, {"configure": configure}),
        changed(cuda, _HOST_FUNCTIONS),
        capture(name) as captured,
    ):
        yield captured
