"""Traces of Accel-Sim: a list of kernels (kernelslist.g) or one kernel (.traceg, .tracez).

The format is that of tracer versions 0 to 6; see `docs/traces.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import define, field

from gpusim.core.errors import UserError
from gpusim.core.streams import StreamUse
from gpusim.core.untrusted import is_file
from gpusim.core.warp_program import NOTHING_ASKED, Asked, Buffer, LaneChunk
from gpusim.traces.application import (
    MOST_EMPTY_BLOCKS,
    TraceApplication,
    TraceFile,
    TraceLaunch,
    made_buffer,
)
from gpusim.traces.blocks import WARP_SIZE, BlockTrace
from gpusim.traces.code_lines import CODE_BASE, CodePlaces
from gpusim.traces.launch_needs import LaunchNeeds
from gpusim.traces.memory_budget import Room
from gpusim.traces.sass_unmodelled import NOT_IN_FILE
from gpusim.traces.text import PACKED, plain_name, plain_stem, read_lines
from gpusim.traces.traceg_block import Known, parse_block
from gpusim.traces.traceg_header import KernelHeader, read_header
from gpusim.traces.traceg_text import BlockText, read_blocks
from gpusim.traces.tracez import SUFFIX, TracezLaunch, read_tracez_header
from gpusim.traces.unread import Unread

FORMAT, COMPRESSED = "Accel-Sim traceg", "Accel-Sim tracez"
"""Names of the formats; a list is of the format of its first kernel."""

KERNELS_LIST = "kernelslist.g"
"""Name of a list of kernels."""

_MEMCPY = "MemcpyHtoD"

COMMANDS = "lines of the list of kernels, not modelled"
HEADER_KEYS = "lines of kernels' headers, not modelled"
ABSENT_KEYS = (
    "lines that kernels' headers lack, taken for 0; "
    "see docs/traces.md#numbers-in-place-of-a-headers"
)


def open_kernels_list(path: Path, needs: LaunchNeeds) -> TraceFile:
    """A list of kernels: copies to the device tell arrays, kernels run in their streams.

    The tracer lists copies that the host waits for, in the default stream: what comes after one
    begins when all before it has ended.

    Args:
        path: of the list, whatever its name.
        needs: what stands in place of ``nregs`` and ``shmem`` of its kernels.

    Raises:
        UserError: the list, or the header of one of its kernels, is wrong.
    """
    buffers: list[Buffer] = []
    kernels: list[KernelHeader] = []
    copied: set[int] = set()
    unread = Unread()
    for number, line in read_lines(path):
        command = line.strip()
        if command.startswith(_MEMCPY):
            buffer = _buffer(command, f"{path}:{number}", len(buffers))
            copied.add(len(kernels))
            if not any(_contains(other, buffer) for other in buffers):
                buffers.append(buffer)
        elif command.startswith("kernel") or is_kernel(Path(command)):
            kernels.append(_header(_listed(path, number, command), needs))
        elif command and not command.startswith("#"):
            unread.note(COMMANDS, command.split(",")[0][:40])
    if not kernels:
        raise UserError(f"{path}: names no kernel; a kernel's line begins with 'kernel'")
    name = path.resolve().parent.name
    application = TracegApplication(
        name=name,
        buffers=tuple(buffers),
        kernels=kernels,
        copied=frozenset(copied),
        unread=_unread_of(kernels, unread),
    )
    return TraceFile(path, _format(kernels[0].path), name, (application,), (path.parent,))


def open_kernel(path: Path, needs: LaunchNeeds) -> TraceFile:
    """A single kernel; see `open_kernels_list`.

    Raises:
        UserError: its header is wrong.
    """
    name = plain_stem(path)
    kernels = [_header(path, needs)]
    application = TracegApplication(
        name=name, kernels=kernels, unread=_unread_of(kernels, Unread())
    )
    return TraceFile(path, _format(path), name, (application,), (path,))


def _listed(path: Path, number: int, command: str) -> Path:
    """The file of a kernel that a line of a list names, or one of its name beside the list.

    It may have been packed since.

    Raises:
        UserError: there is no such file, or it is none of a kernel.
    """
    kernel = path.parent / command
    if not is_kernel(kernel):
        raise UserError(
            f"{path}:{number}: {command[:80]}: must end in .traceg, .traceg.xz, .traceg.gz, "
            ".traceg.zst or .tracez (Accel-Sim's post-traces-processing makes .traceg of .trace)"
        )
    moved = path.parent / kernel.name
    packed = [one.with_name(one.name + end) for one in (kernel, moved) for end in sorted(PACKED)]
    found = next((one for one in (kernel, moved, *packed) if is_file(one)), None)
    if found is None:
        raise UserError(f"{path}:{number}: there is no file {kernel}, nor a packed one")
    return found


def _unread_of(kernels: Sequence[KernelHeader], unread: Unread) -> Unread:
    """What of a list and of its kernels' headers is not honoured."""
    for kernel in kernels:
        for key in kernel.unknown:
            unread.note(HEADER_KEYS, f"-{key[:40]}")
        for key in kernel.absent:
            unread.note(ABSENT_KEYS, f"-{key}")
    return unread


def is_kernel(path: Path) -> bool:
    """Whether a file's name is that of a kernel."""
    return plain_name(path).endswith(".traceg") or path.suffix == SUFFIX


def _header(path: Path, needs: LaunchNeeds) -> KernelHeader:
    return read_tracez_header(path, needs) if path.suffix == SUFFIX else read_header(path, needs)


def _format(path: Path) -> str:
    return COMPRESSED if path.suffix == SUFFIX else FORMAT


def _buffer(command: str, place: str, index: int) -> Buffer:
    """``MemcpyHtoD,0x<address>,<bytes>``."""
    must = f"{place}: {command[:80]!r}: must be {_MEMCPY},0x<address in hex>,<bytes>"
    _, *fields = command.split(",")
    if len(fields) != 2:
        raise UserError(must)
    try:
        return made_buffer(f"memcpy {index}", int(fields[0], 16), int(fields[1]))
    except ValueError as error:
        raise UserError(f"{must}: {error}") from error


def _contains(outer: Buffer, inner: Buffer) -> bool:
    return outer.base <= inner.base and inner.base + inner.bytes <= outer.base + outer.bytes


@define(kw_only=True, eq=False, repr=False)
class TracegApplication(TraceApplication):
    """All kernels of a list, in their streams.

    Attributes:
        kernels: their headers.
        copied: numbers of the kernels before which the host copied something.
    """

    kernels: list[KernelHeader]
    copied: frozenset[int] = frozenset()

    def read_launches(self) -> Iterator[TraceLaunch]:
        code = CodePlaces()
        for number, header in enumerate(self.kernels, start=1):
            kind = TracezLaunch if header.path.suffix == SUFFIX else TracegLaunch
            yield kind(
                code=code.of(header.name),
                name=header.name,
                blocks=header.blocks,
                threads_per_block=header.threads_per_block,
                warp_size=WARP_SIZE,
                registers_per_thread=header.registers,
                shared_bytes=header.shared_bytes,
                stream_use=StreamUse(header.stream, host_waits=number in self.copied),
                header=header,
            )


@define(kw_only=True, eq=False, repr=False)
class TracegLaunch(TraceLaunch):
    """A kernel whose file is read forward, once.

    Blocks that are passed over on the way to the one that is asked for are kept as text until it is
    their turn: none, if the file has them in increasing order.  In a file without any block all of
    them do nothing; a file that has some must have the others too.

    Attributes:
        header: of the file.
        code: where its code lies.
    """

    header: KernelHeader
    code: int = CODE_BASE
    _blocks: Iterator[BlockText] = field(init=False)
    _passed: dict[int, BlockText] = field(factory=dict, init=False)
    _known: Known = field(factory=Known, init=False)
    _found: int = field(default=0, init=False)
    _room: Room = field(factory=Room, init=False)

    def __attrs_post_init__(self) -> None:
        self._blocks = read_blocks(self.header, self._room)

    def chunks(self, block: int, asked: Asked = NOTHING_ASKED) -> Iterator[LaneChunk]:
        while block not in self._passed:
            text = next(self._blocks, None)
            if text is not None:
                self._passed[text.number] = text
                self._found += 1
            elif not self._found and self.blocks <= MOST_EMPTY_BLOCKS:
                self.unread.note(NOT_IN_FILE, "thread blocks")
                return
            else:
                raise UserError(
                    f"{self.header.path}: ends without thread block {block} of {self.blocks} "
                    "(x runs fastest); it is truncated or was filtered"
                )
        text = self._passed.pop(block)
        self._room.give_back(text.size)
        trace = BlockTrace(self, block, asked, self.code)
        parse_block(self.header, trace, text.runs, self._known)
        yield from trace.chunks()
