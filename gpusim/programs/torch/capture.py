"""`capture_torch`: which operators of PyTorch ran on which tensors, without a GPU."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.programs.captured import Captured
from gpusim.programs.program_function import FunctionProgram
from gpusim.programs.torch.indexing import INDEXED, elements, indices_of
from gpusim.programs.torch.operators import LISTS, SILENT, VIEWS
from gpusim.programs.torch.replay import is_replayed, replay, unknown
from gpusim.programs.torch.tensors import Operation, Storage, Tensor

_INDEX_AT = {
    "embedding": 1,
    "index_select": 2,
    "embedding_dense_backward": 1,
    "_embedding_bag": 1,
}
"""Operators that look up rows, and which argument has their numbers."""

_NORMALIZED = {"native_layer_norm", "_fused_rms_norm", "rms_norm"}


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise UserError(
            "PyTorch is not installed; install it with: pip install torch (its CPU build is enough)"
        ) from error
    return torch


@define(eq=False)
class TorchCapture(Captured):
    """Operators that ran, in their order; `gpusim.simulate` runs them on a machine.

    Attributes:
        name: for results.
        storages: memory of the tensors, by their numbers.
        operations: operators.
    """

    name: str = "captured"
    storages: list[Storage] = field(factory=list)
    operations: list[Operation] = field(factory=list)
    _numbers: dict[tuple[int, int], int] = field(factory=dict)
    _kept: list[Any] = field(factory=list)

    @property
    def unknown(self) -> dict[str, int]:
        """Operators that are not replayed, and how often they ran."""
        return dict(unknown(self.operations))

    def program(self) -> FunctionProgram:
        """The launches, as a program from its start.

        Raises:
            UserError: no operator is replayed.
        """
        if not any(map(is_replayed, self.operations)):
            left = f"; others are {', '.join(self.unknown)}" if self.unknown else ""
            raise UserError(
                f"{self.name!r}: no operator that is replayed has run in the capture{left}"
            )
        made = FunctionProgram(self.name, replay, (0, self.storages, self.operations))
        made.notices = tuple(self._notices())
        return made

    def starter(self) -> Callable[[], FunctionProgram]:
        return self.program

    def _notices(self) -> Iterator[str]:
        if left := self.unknown:
            names = ", ".join(f"{name} ({count})" for name, count in sorted(left.items()))
            yield f"operators that are not replayed, and how often they ran: {names}"
        yield "operators of PyTorch are replayed by gpusim's own kernels: sizes of tiles are ours"

    def digest(self) -> str:
        """Hash of all that it is made of."""
        made = hashlib.sha256()
        for storage in self.storages:
            made.update(repr(storage).encode())
        for one in self.operations:
            numbers = sorted(one.numbers.items())
            made.update(repr((one.name, one.inputs, one.outputs, numbers)).encode())
            for contents in (one.indices, one.elements):
                if contents is not None:
                    made.update(contents.tobytes())
        return made.hexdigest()

    # -- recording ---------------------------------------------------------------------------------

    def tensor(self, given: Any, name: str = "") -> Tensor:
        """A tensor of PyTorch, with its storage.

        Args:
            given: the tensor, on the CPU or the meta device.
            name: for reports, if its storage is new.
        """
        storage = given.untyped_storage()
        address = storage.data_ptr() or storage._cdata
        key = address, storage.nbytes()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.storages)
            shape = "x".join(map(str, given.shape)) or "scalar"
            self.storages.append(Storage(name or f"tensor {number} ({shape})", storage.nbytes()))
            if not storage.data_ptr():
                self._kept.append(given)  # so that its number stays its own
        return Tensor(
            number,
            given.element_size(),
            given.storage_offset(),
            tuple(given.shape),
            tuple(given.stride()),
        )

    def note(self, function: Any, arguments: tuple[Any, ...], result: Any, named: Any) -> None:
        """Keep an operator that has run.

        Args:
            function: as PyTorch dispatches it.
            arguments: by place.
            result: what it returned.
            named: arguments by name.
        """
        torch = _torch()
        name = str(function).split(".")[1]
        if name in VIEWS or name.startswith(SILENT):
            return
        given = [*_tensors(arguments), *_tensors(tuple(named.values()))]
        outputs = [*_tensors((result,))]
        if name.startswith(LISTS) and not outputs:
            outputs = [*_tensors(arguments[:1])]
        if not outputs:
            outputs = [*_tensors(arguments[:1])]
        inputs = given[1:] if name == "copy_" else given
        if any(one.layout != torch.strided for one in (*given, *outputs)):
            self.operations.append(Operation(f"{name} of sparse tensors", (), ()))
            return
        numbers = _numbers(function, arguments, named)
        if name in INDEXED:
            found = [*_tensors((indices_of(name, arguments),))]
            others = [one for one in inputs[1:] if not any(one is index for index in found)]
            inputs = [inputs[0], *found, *others]
            numbers["indices"] = len(found)
        if name in _NORMALIZED and isinstance(arguments[1], list | tuple):
            numbers["width"] = int(np.prod(arguments[1]))
        self.operations.append(
            Operation(
                name,
                tuple(map(self.tensor, inputs)),
                tuple(map(self.tensor, outputs)),
                torch.Tag.pointwise in function.tags,
                _indices(name, arguments),
                numbers,
                elements(name, arguments),
            )
        )


def _numbers(function: Any, arguments: tuple[Any, ...], named: Any) -> dict[str, Any]:
    """Numbers among the arguments, and tuples of numbers, by their names."""
    names = [one.name for one in function._schema.arguments]
    given = {**dict(zip(names, arguments, strict=False)), **named}
    found: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, int | bool):
            found[name] = value
        elif isinstance(value, list | tuple) and all(isinstance(one, int) for one in value):
            found[name] = tuple(value)
    return found


def _tensors(values: tuple[Any, ...]) -> Iterator[Any]:
    for value in values:
        if hasattr(value, "untyped_storage"):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(tuple(value))


def _indices(name: str, arguments: tuple[Any, ...]) -> NDArray[np.int64] | None:
    """Numbers of the rows that an operator looks up; None: it does not, or they are not known."""
    at = _INDEX_AT.get(name)
    if at is None or arguments[at].device.type != "cpu":
        return None
    if name == "index_select" and arguments[1] != 0:
        return None
    found: NDArray[np.int64] = arguments[at].detach().numpy().astype(np.int64)
    return found


@contextmanager
def capture_torch(
    name: str = "captured", model: Any = None, tensors: Mapping[str, Any] | None = None
) -> Iterator[TorchCapture]:
    """Inside, operators of PyTorch are recorded, with the shapes, strides and storages of tensors.

    They run as ever, on the CPU, or on the meta device, where tensors have no contents.

    Args:
        name: of the program, for results.
        model: a module whose parameters and buffers name their arrays.
        tensors: further tensors by the names that their arrays get.

    Raises:
        UserError: PyTorch is not installed.
    """
    torch = _torch()
    from torch.utils._python_dispatch import TorchDispatchMode

    captured = TorchCapture(name)
    if model is not None:
        for own, tensor in [*model.named_parameters(), *model.named_buffers()]:
            captured.tensor(tensor, own)
    for own, tensor in (tensors or {}).items():
        captured.tensor(tensor, own)

    class Mode(TorchDispatchMode):  # type: ignore[misc]
        """Records what is dispatched."""

        def __torch_dispatch__(
            self,
            func: Any,
            types: Any,
            args: tuple[Any, ...] = (),
            kwargs: dict[str, Any] | None = None,
        ) -> Any:
            result = func(*args, **(kwargs or {}))
            captured.note(func, args, result, kwargs or {})
            return result

    with (
        Mode(),
        _as_on_gpus(torch),
    ):
        yield captured


@contextmanager
def _as_on_gpus(torch: Any) -> Iterator[None]:
    """Inside, recurrent layers and those of transformers are not operators of CPUs alone."""
    mha, before = torch.backends.mha, torch.backends.mha.get_fastpath_enabled()
    onednn = torch._C._get_mkldnn_enabled()
    mha.set_fastpath_enabled(False)
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        mha.set_fastpath_enabled(before)
        torch._C._set_mkldnn_enabled(onednn)
