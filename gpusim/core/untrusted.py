"""Reading untrusted files: bounds on size and memory, and errors that name the file.

Every reader does all of its work inside one `border`, and asks one of the others before it believes
a size.  Files that cannot be read are errors of users, never tracebacks.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpusim.core.errors import SimulatorError, UserError
from gpusim.core.process_memory import MORE_MEMORY, address_space, address_space_ends

MEMORY_VARIABLE = "GPUSIM_MEMORY"
"""Environment variable: bytes that an input may make gpusim take, such as ``32GiB``."""

MEMORY_SHARE = 0.5
"""Without it, this share of the machine's memory."""

SURE_BYTES = 32 << 20
"""What a packed file may unpack to however small it is."""

MOST_TIMES = 100
"""Times their own size to which larger files may unpack: texts and tables do not pack better."""

MOST_SEED = (1 << 63) - 1
"""The largest seed that results can keep."""

MOST_LINE_BYTES = 1 << 20
"""The longest line of a text; the longest that a tracer writes have a thousandth of it."""

MOST_SMALL_BYTES = 1 << 20
"""Most bytes of files that gpusim keeps about sweeps and settings; they have some hundred."""

_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


@contextmanager
def untrusted(
    what: object, damaged: str = "is damaged", passes: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Whatever is raised inside becomes an error that a user can mend.

    Args:
        what: the file, or whatever else is read, for the message.
        damaged: what the message says of it if a library complains.
        passes: errors that are none of reading: of writing what was read, say.

    Raises:
        UserError: it cannot be read, takes more memory than there is, is nested too deeply, or is
            not what it should be.
    """
    try:
        yield
    except (UserError, SimulatorError):
        raise
    except MemoryError as error:
        detail = f" ({error})" if str(error) else ""
        raise UserError(
            f"{what}: takes more memory than there is{detail}: {MORE_MEMORY}"
        ) from error
    except RecursionError as error:
        raise UserError(f"{what}: is nested too deeply") from error
    except passes:
        raise
    except Exception as error:  # a reader's libraries raise what they like
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        shown = f"{type(error).__name__}: {reason}" if isinstance(error, LookupError) else reason
        raise UserError(f"{what} {damaged}: {shown}") from error


@contextmanager
def memory_bound() -> Iterator[None]:
    """Inside, memory ends `memory_limit` above what is taken now, with a `MemoryError`.

    An array of terabytes is refused, and says its size.  Where the system sets no such limits
    (macOS, Windows), only what is larger than the address space is refused.
    """
    with address_space_ends(after=memory_limit()):
        yield


def is_file(path: Path) -> bool:
    """Whether there is a regular file; False where the system cannot say."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):  # too long a name, a loop of links, a NUL, a folder that is shut
        return False


def is_folder(path: Path) -> bool:
    """Whether there is a folder; False where the system cannot say."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def file_bytes(path: Path, cannot: str = "cannot open") -> int:
    """The size of a regular file; devices and pipes, which may never end, are refused.

    Args:
        path: of the file.
        cannot: how the message begins.

    Raises:
        UserError: there is no such file.
    """
    try:
        found = path.stat()
    except FileNotFoundError as error:
        raise UserError(f"{cannot} {path}: there is no such file") from error
    except OSError as error:
        raise UserError(f"{cannot} {path}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{cannot} {str(path)!r}: {error}") from error
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for test, name in _KINDS if test(found.st_mode)), "no file")
        raise UserError(f"{cannot} {path}: it is {kind}")
    return found.st_size


def small_text(path: Path) -> str:
    """The text of one of gpusim's own small files, which may have become anything meanwhile.

    Raises:
        OSError: it is not there, or cannot be read.
        ValueError: it is no regular file, has more than `MOST_SMALL_BYTES`, or is no UTF-8.
    """

    def at_once(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe would wait

    with open(path, "rb", opener=at_once) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ValueError("it is no regular file")
        data = stream.read(MOST_SMALL_BYTES + 1)
    if len(data) > MOST_SMALL_BYTES:
        raise ValueError(f"it has more than {format_memory(MOST_SMALL_BYTES)}")
    return data.decode()


def most_unpacked(packed: int) -> int:
    """Bytes to which a file of `packed` bytes may unpack."""
    return max(SURE_BYTES, MOST_TIMES * packed)


def check_unpacked(path: Path, size: int) -> None:
    """Refuse a packed file that is a bomb.

    Args:
        path: of the file.
        size: bytes to which it unpacks, or so far.

    Raises:
        UserError: it unpacks to more than files do.
    """
    packed = file_bytes(path)
    if size > most_unpacked(packed):
        raise UserError(
            f"{path}: unpacks from {format_memory(packed)} to {format_memory(size)} or more; at "
            f"most {MOST_TIMES} times as much, or {format_memory(SURE_BYTES)}, is believed: unpack "
            "it yourself if you trust it"
        )


def memory_limit() -> int:
    """Bytes that an input may make gpusim take: `MEMORY_VARIABLE`, or a share of the machine's.

    Raises:
        UserError: the variable is no size.
    """
    limit = os.environ.get(MEMORY_VARIABLE)
    if not limit:
        return int(_machine_memory() * MEMORY_SHARE)
    found = re.fullmatch(r"(\d{1,12})\s*([KMGT]iB)", limit.strip())
    if not found:
        raise UserError(f"{MEMORY_VARIABLE}={limit}: must be a size such as 8GiB")
    return int(found[1]) * _UNITS[found[2]]


def afford(needed: float, what: str) -> None:
    """Refuse what takes more memory than `memory_limit`.

    Args:
        needed: bytes, about.
        what: would take them, for the message.

    Raises:
        UserError: it is too much.
    """
    if needed > (most := memory_limit()):
        raise UserError(f"{what} {too_much(needed, most)}")


def too_much(needed: float, most: int) -> str:
    """The words for something that would take more memory than it may."""
    return (
        f"would take about {format_memory(needed)} of memory; at most {format_memory(most)} is "
        f"allowed ({MEMORY_VARIABLE}=SIZE sets another limit)"
    )


def brief(number: int) -> str:
    """A number for the eye, which may have thousands of digits."""
    return f"{number:.3g}" if abs(number) < _LARGEST_FLOAT else "a number of hundreds of digits"


_LARGEST_FLOAT = 10**300


def format_memory(size: float) -> str:
    """A size for the eye, such as ``1.5 GiB``."""
    for unit in reversed(_UNITS):
        if size >= _UNITS[unit]:
            return f"{size / _UNITS[unit]:.3g} {unit}" if size < 1e15 else f"{size:.2g} B"
    return f"{size:.0f} B"


def _machine_memory() -> int:
    """Bytes of memory: the machine's, or what this process may have of it."""
    own = address_space()
    if sys.platform != "win32" and hasattr(os, "sysconf"):  # in no time
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    else:
        import psutil

        whole = int(psutil.virtual_memory().total)
    return whole if own is None else min(whole, own)
