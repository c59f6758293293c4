"""Launches in their order, executed as they are made, and made a program for the machine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.core.warp_program import Application
from gpusim.programs.captured import Captured
from gpusim.programs.tracer import Shape
from gpusim.ptx.arguments import owner_of, packed
from gpusim.ptx.batch import Site
from gpusim.ptx.device_memory import Array, DeviceMemory, padded
from gpusim.ptx.launch import Kernel, PtxLaunch
from gpusim.ptx.layout import contents_of
from gpusim.ptx.origins import ANY, LOCAL, SHARED, Origin
from gpusim.ptx.structures import structure
from gpusim.ptx.syntax import Variable
from gpusim.ptx.unmodelled import PRINTS, unmodelled
from gpusim.traces.application import TraceApplication, TraceLaunch
from gpusim.traces.cuda_launch import check_cuda_launch
from gpusim.traces.unread import Unread

Bytes = NDArray[np.uint8]

POINTER_BYTES = 8
"""Of a parameter that is an array's address."""


@frozen(eq=False)
class Upload:
    """The host has changed an array between two launches.

    Attributes:
        array: its number.
        contents: all of its bytes.
    """

    array: int
    contents: Bytes


@frozen(eq=False)
class Call:
    """A launch with its arguments.

    Attributes:
        kernel: of it.
        shape: grid and block.
        parameters: contents of the kernel's parameters.
        shared_bytes: shared memory of a block.
        symbols: addresses of global variables.
    """

    kernel: Kernel
    shape: Shape
    parameters: Bytes
    shared_bytes: int
    symbols: dict[str, int]

    def launch(
        self, memory: DeviceMemory, contents: frozenset[Origin], everything: bool
    ) -> PtxLaunch:
        """The launch in a memory."""
        site = Site(
            self.shape,
            self.kernel.layout,
            memory,
            self.symbols,
            self.parameters,
            self.shared_bytes,
        )
        return PtxLaunch(
            name=self.kernel.name,
            blocks=self.shape.blocks,
            threads_per_block=self.shape.threads,
            warp_size=32,
            registers_per_thread=self.kernel.registers,
            shared_bytes=self.shared_bytes,
            kernel=self.kernel,
            site=site,
            code=self.kernel.code(contents, everything),
        )

    def arrays(self, memory: DeviceMemory) -> dict[Origin, int]:
        """Numbers of the arrays to which its parameters, and global variables, point."""
        found: dict[Origin, int] = {}
        numbers = {array.base: number for number, array in enumerate(memory.arrays)}
        layout = self.kernel.layout
        words = self.parameters.view(np.uint64)
        for parameter in self.kernel.function.parameters:
            first = layout.offset[parameter.name]
            for offset in range(0, parameter.bytes - 7, 8):
                if (first + offset) % 8 == 0:
                    array = memory.array_at(int(words[(first + offset) // 8]))
                    if array is not None:
                        found[f"{parameter.name}+{offset}"] = numbers[array.base]
        for name, address in self.symbols.items():
            array = memory.array_at(address)
            if array is not None:
                found[name] = numbers[array.base]
        return found


@define(eq=False)
class Capture(Captured):
    """Launches that are executed, in their order, and can be simulated.

    Attributes:
        name: for results.
        memory: arrays as they are now.
        initial: contents of each array when it was first used.
        steps: launches, and what the host changed between them.
        notices: what a user should know of the launches, a sentence each.
    """

    name: str = "captured"
    memory: DeviceMemory = field(factory=DeviceMemory)
    initial: list[Bytes] = field(factory=list)
    steps: list[Call | Upload] = field(factory=list)
    notices: list[str] = field(factory=list)
    _owners: dict[tuple[int, int], tuple[NDArray[Any], int]] = field(factory=dict)
    """By address and size; they are kept, so that no other array comes to lie there."""
    _symbols: dict[tuple[str, Variable], int] = field(factory=dict)
    """Where variables in global memory lie, which kernels of one file share."""

    def launch(
        self, kernel: Kernel, shape: Shape, arguments: dict[str, Any], shared: int, execute: bool
    ) -> None:
        """Launch a kernel: execute it, and remember it.

        Args:
            kernel: of it.
            shape: grid and block.
            arguments: by name, in the order of the parameters.
            shared: bytes of shared memory that the launch adds.
            execute: whether results are computed now, and stored in the arguments' arrays.

        Raises:
            UserError: an argument is wrong, or the kernel does something wrong.
        """
        try:
            check_cuda_launch(shape.grid, shape.threads, shared_bytes=shared)
        except ValueError as error:
            raise UserError(f"kernel {kernel.name!r}: {error}") from error
        used: list[tuple[NDArray[Any], int]] = []
        symbols = self._globals(kernel, used)
        parameters = np.zeros(-(-max(kernel.layout.size["param"], 1) // 16) * 16, np.uint8)
        for parameter, (name, value) in zip(
            kernel.function.parameters, arguments.items(), strict=True
        ):
            at = kernel.layout.offset[parameter.name]
            found = self._given(kernel.name, name, parameter, value, used)
            parameters[at : at + len(found)] = np.frombuffer(found, np.uint8)
        call = Call(kernel, shape, parameters, kernel.layout.size["shared"] + shared, symbols)
        self.steps.append(call)
        if execute:
            call.launch(self.memory, frozenset(), True).execute()
            for owner, number in used:
                _copy_back(owner, self.memory.arrays[number])

    def address(self, name: str, array: NDArray[Any]) -> int:
        """Where an array lies for kernels, to be stored in other arrays as a pointer.

        Args:
            name: for reports, if it was not an argument before.
            array: as for arguments.
        """
        return int.from_bytes(self._address("", name, array, []), "little")

    def _given(
        self,
        kernel: str,
        name: str,
        parameter: Variable,
        value: Any,
        used: list[tuple[NDArray[Any], int]],
    ) -> bytes:
        """An argument's bytes; arrays are added to those that are used."""
        if isinstance(value, np.ndarray) and value.ndim:
            if parameter.bytes != POINTER_BYTES:
                raise UserError(
                    f"kernel {kernel!r}, argument {name!r}: an array, whose address has "
                    f"{POINTER_BYTES} bytes, for a parameter of {parameter.bytes}"
                )
            return self._address(kernel, name, value, used)
        if isinstance(value, tuple):
            what = f"kernel {kernel!r}, argument {name!r}"
            found = structure(what, value, lambda one: self._address(kernel, name, one, used))
            wanted = -(-len(found) // parameter.align) * parameter.align
            if wanted != parameter.bytes:
                raise UserError(
                    f"{what}: a structure of {parameter.bytes} bytes, and a tuple of {len(found)}; "
                    "an array in it is a pointer; an array that is a member is a tuple of numbers"
                )
            value = found
        whole = value[()] if isinstance(value, np.ndarray) else value
        return packed(kernel, name, parameter, whole)

    def _address(
        self, kernel: str, name: str, array: NDArray[Any], used: list[tuple[NDArray[Any], int]]
    ) -> bytes:
        owner, start = owner_of(kernel, name, array)
        number = self._array(name, owner)
        used.append((owner, number))
        return (self.memory.arrays[number].base + start).to_bytes(8, "little")

    def _array(self, name: str, owner: NDArray[Any]) -> int:
        """The number of an array, with the contents that it has now."""
        contents = owner.reshape(-1).view(np.uint8)
        key = owner.__array_interface__["data"][0], owner.nbytes
        known = self._owners.get(key)
        if known is None:
            number = self._place(name, contents)
            self._owners[key] = (owner, number)
            return number
        number = known[1]
        array = self.memory.arrays[number]
        if not np.array_equal(contents, array.data[: array.bytes]):
            array.data[: array.bytes] = contents
            self.steps.append(Upload(number, contents.copy()))
        return number

    def _place(self, name: str, contents: Bytes) -> int:
        names = {array.name for array in self.memory.arrays}
        number, unique = 2, name
        while unique in names:
            unique, number = f"{name}.{number}", number + 1
        self.memory.place(unique, contents)
        self.initial.append(contents.copy())
        return len(self.initial) - 1

    def _globals(self, kernel: Kernel, used: list[tuple[NDArray[Any], int]]) -> dict[str, int]:
        """Addresses of the variables of a kernel's file, placed when they are first needed.

        Those that are arrays of the host's are added to what is used.
        """
        found: dict[str, int] = {}
        for variable in kernel.layout.globals:
            array = kernel.bound.get(variable.name)
            if array is not None:
                address = self._address(kernel.name, variable.name, array, used)
                found[variable.name] = int.from_bytes(address, "little")
                continue
            key = kernel.module.path, variable
            if key not in self._symbols:
                number = self._place(variable.name, np.frombuffer(contents_of(variable), np.uint8))
                self._symbols[key] = self.memory.arrays[number].base
            found[variable.name] = self._symbols[key]
        return found

    def application(self) -> CapturedApplication:
        """All launches as an application, which starts with the arrays as they were at first.

        Raises:
            UserError: there is none.
        """
        if not any(isinstance(step, Call) for step in self.steps):
            raise UserError("nothing was launched: call a kernel's launch(...) in the capture")
        calls = [step.kernel for step in self.steps if isinstance(step, Call)]
        guessed = sorted({f"{one.name}: {one.registers}" for one in calls if one.estimated})
        notices = (
            (f"registers of a thread are estimated from the PTX ({', '.join(guessed)})",)
            if guessed
            else ()
        )
        unread = Unread()
        for kernel in {id(one): one for one in calls}.values():
            for reason, name in unmodelled(kernel.instructions):
                unread.note(reason, name)
            if kernel.function.prints:
                unread.note(PRINTS, "printf")
        return CapturedApplication(
            unread=unread,
            name=self.name,
            buffers=tuple(array.buffer for array in self.memory.arrays),
            names_all_arrays=True,
            notices=(*notices, *self.notices),
            capture=self,
        )

    def starter(self) -> Callable[[], Application]:
        return self.application().start

    def needed(self) -> list[frozenset[Origin]]:
        """For each launch, the origins whose contents matter to accesses of any launch."""
        calls = [step for step in self.steps if isinstance(step, Call)]
        arrays = [call.arrays(self.memory) for call in calls]
        wanted: set[int] = set()
        while True:
            before = len(wanted)
            for call, of in zip(calls, arrays, strict=True):
                contents = frozenset(name for name, number in of.items() if number in wanted)
                found = call.kernel.slice(contents).contents - {SHARED, LOCAL}
                if ANY in found:
                    wanted.update(range(len(self.memory.arrays)))
                wanted.update(of[name] for name in found if name in of)
            if len(wanted) == before:
                break
        return [frozenset(name for name, number in of.items() if number in wanted) for of in arrays]

    def digest(self) -> str:
        """Hash of all that it is made of."""
        made = hashlib.sha256()
        for contents in self.initial:
            made.update(contents.tobytes())
        for step in self.steps:
            if isinstance(step, Upload):
                made.update(step.contents.tobytes())
            else:
                made.update(repr((step.kernel.name, step.shape, step.shared_bytes)).encode())
                made.update(step.parameters.tobytes())
                made.update(step.kernel.text.encode())
                made.update(step.kernel.layout.constants.tobytes())
        return made.hexdigest()


def _copy_back(owner: NDArray[Any], array: Array) -> None:
    contents = owner.reshape(-1).view(np.uint8)
    if not np.array_equal(contents, array.data[: array.bytes]):
        if not owner.flags.writeable:
            raise UserError(f"the kernel stores into {array.name!r}, which is read-only")
        contents[:] = array.data[: array.bytes]


@define(kw_only=True, eq=False)
class CapturedApplication(TraceApplication):
    """The launches of a capture; they are executed anew, on fresh arrays, as the machine runs them.

    Attributes:
        capture: with all launches.
    """

    capture: Capture

    def read_launches(self) -> Iterator[TraceLaunch]:
        capture = self.capture
        memory = DeviceMemory()
        for array, contents in zip(capture.memory.arrays, capture.initial, strict=True):
            memory.place(array.name, contents)
        needed = iter(capture.needed())
        for step in capture.steps:
            if isinstance(step, Upload):
                memory.arrays[step.array].data[:] = padded(step.contents)
            else:
                yield step.launch(memory, next(needed), False)


_captures: list[Capture] = []


@contextmanager
def capture(name: str = "captured", again: Capture | None = None) -> Iterator[Capture]:
    """Inside, launches are kept: ``gpusim.simulate(model, captured)`` runs them on a machine.

    Args:
        name: of the program, for results.
        again: a capture that goes on; None: a new one.
    """
    made = again or Capture(name)
    _captures.append(made)
    try:
        yield made
    finally:
        _captures.remove(made)


def current() -> Capture:
    """The innermost capture; outside of all, one that is forgotten."""
    return _captures[-1] if _captures else Capture()
