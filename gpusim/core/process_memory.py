"""Memory of this process: what it may take and has taken, as far as the system says.

Windows has no module `resource`, macOS no ``/proc``, others no limit of the address space.
"""

from __future__ import annotations

import errno
import mmap
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MORE_MEMORY = "take a smaller scale or input, record less, or allow the process more (ulimit -v)"
"""What a user can do where memory ends."""

_WORDS = ("cannot allocate memory", "failed to map segment", "unable to allocate", "new thread")
"""What libraries say of memory that they do not get: of code, of arrays, of stacks."""


def lacks_memory(error: BaseException) -> bool:
    """Whether an error says that the process gets no more memory, in whatever words."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    text = str(error).lower()
    return isinstance(error, ImportError | OSError | RuntimeError) and any(
        words in text for words in _WORDS
    )


def address_space() -> int | None:
    """Bytes at which this process's memory ends; None: nothing limits it, or nothing is known."""
    limits = _limits()
    return None if limits is None or limits[0] < 0 else limits[0]


@contextmanager
def address_space_ends(after: int) -> Iterator[None]:
    """Limit the process, inside, to `after` bytes more than now, where the system can do that."""
    limits, taken = _limits(), _taken()
    if sys.platform == "win32" or limits is None or taken is None:
        yield
        return
    import resource

    soft, hard = limits
    if soft < 0 or taken + after < soft:
        resource.setrlimit(resource.RLIMIT_AS, (taken + after, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def peak_bytes() -> int:
    """The most memory that this process has ever had."""
    import psutil

    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    try:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    except (ImportError, AttributeError):
        return int(psutil.Process().memory_info().rss)
    return peak if sys.platform == "darwin" else peak * 1024


def _limits() -> tuple[int, int] | None:
    """Soft and hard limit of the address space, below 0 without one; None: not known."""
    if sys.platform == "win32":
        return None
    try:
        import resource

        return resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, AttributeError):
        return None


def _taken() -> int | None:
    """Bytes of the address space in use; None: not known."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return None
    return pages * mmap.PAGESIZE
