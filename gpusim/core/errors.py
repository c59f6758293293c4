"""Errors that a user can mend: the command line prints their message, without a traceback."""

from __future__ import annotations

import re
import traceback
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches

from gpusim.core.terminal_text import shown


class UserError(Exception):
    """Something in the user's input is wrong; the message says where and what is allowed.

    What a terminal would obey in it is made visible.  Messages are written for the command line;
    where none is under way, they name the arguments of Python's functions instead of options.
    """

    def __str__(self) -> str:
        text = super().__str__()
        return shown(text if _ON_COMMAND_LINE.get() else _as_arguments(text))


_ON_COMMAND_LINE: ContextVar[bool] = ContextVar("on the command line", default=False)
_WRONG_KEY = re.compile(r"^--set workload\.", re.MULTILINE)
_KEY = re.compile(r"(?<![\w-])--set workload\.(\w+(?:\.\w+)*)")
_OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)")
_ARGUMENTS = {
    "set": "overrides",
    "variant": "variants",
    "from": "start",
    "record": "record =",
}
"""What options are called in Python where they have another name."""


@contextmanager
def on_command_line() -> Iterator[None]:
    """Inside, messages name options of the command line."""
    token = _ON_COMMAND_LINE.set(True)
    try:
        yield
    finally:
        _ON_COMMAND_LINE.reset(token)


def _as_arguments(text: str) -> str:
    """A message with the names of arguments for those of options.

    A key of the workload that a line begins with is ``overrides: KEY``; elsewhere it is
    ``overrides['KEY']``.
    """
    text = _KEY.sub(r"overrides['\1']", _WRONG_KEY.sub("overrides: ", text))
    return _OPTION.sub(lambda found: _ARGUMENTS.get(found[1], found[1].replace("-", "_")), text)


class OptionError(UserError):
    """An option of a policy, or a key of the table that the policy is made with, cannot be.

    Attributes:
        name: the option or key.
        message: what is wrong and what is allowed.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message


def one_of(allowed: Collection[str], **options: str) -> None:
    """Refuse options that have none of the `allowed` values.

    Raises:
        OptionError: the first such option, with the nearest value.
    """
    for name, value in options.items():
        if value not in allowed:
            raise OptionError(
                name, f"not allowed{nearest(value, allowed)}; allowed: {', '.join(allowed)}"
            )


def at_least(least: int, **options: float) -> None:
    """Refuse options below `least`.

    Raises:
        OptionError: the first such option.
    """
    for name, value in options.items():
        if value < least:
            raise OptionError(name, f"must be {least} or more")


class SimulatorError(Exception):
    """A machine is wrong, or stands still; the message says what, without a traceback."""


class DeadlockError(SimulatorError, RuntimeError):
    """Requests were in flight, but none made progress; the message says what waits for what."""


class StarvedError(DeadlockError):
    """An application got nowhere beside others that ran again and again until it had ended."""


class WrongMappingError(SimulatorError):
    """Something answered a page with what the page table does not say of it."""


def wrong_mapping(where: str, tag: int, given: object, right: object) -> WrongMappingError:
    """The error to raise.

    Args:
        where: the component, and the policy in it.
        tag: the page.
        given: the answer; None: it had none.
        right: what the page table says; None: the page is not mapped.
    """
    says = "it is not mapped" if right is None else str(right)
    if given is None:
        return WrongMappingError(
            f"{where} answered page {tag:#x} with None; the page table says: {says}; what a stage "
            "does not have it sends on to the stage below (send_on), down to the walkers"
        )
    return WrongMappingError(
        f"{where} answered page {tag:#x} with {given}; the page table says: {says}"
    )


class WriteError(UserError):
    """A file cannot be written: a full disk, a missing folder, no permission."""


def nearest(name: str, allowed: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` if some allowed name is close to `name`, else an empty string."""
    matches = get_close_matches(name, list(allowed), n=1, cutoff=0.6)
    return f"; did you mean {matches[0]!r}?" if matches else ""


_ALL_NAMES, _FEW_NAMES = 16, 5


def few(allowed: Iterable[str], name: str) -> str:
    """Names for a message, with commas: all if they are not many, else those nearest to `name`."""
    names = list(allowed)
    if len(names) <= _ALL_NAMES:
        return ", ".join(names)
    near = get_close_matches(name, names, n=_FEW_NAMES, cutoff=0.0)
    return f"{', '.join(near)} and {len(names) - len(near)} more"


def is_own(thing: object) -> bool:
    """Whether a class or function is the user's, not gpusim's."""
    return str(getattr(thing, "__module__", "")).partition(".")[0] != "gpusim"


def own_modules(things: Iterable[object]) -> frozenset[str]:
    """Modules of the classes and functions that are the user's, not gpusim's."""
    return frozenset(str(getattr(one, "__module__", "")) for one in things if is_own(one))


_MISUSE = (AttributeError, LookupError, TypeError, ValueError)
"""What comes of a value that cannot be used."""


@contextmanager
def own_code_errors(modules: Collection[str]) -> Iterator[None]:
    """Turns what goes wrong in the user's own policies and programs into a `UserError`.

    Args:
        modules: names of the modules that are the user's.

    Raises:
        UserError: an exception came out of one of them, or after they had a part in the run; it
            names file, line and function.
    """
    try:
        yield
    except (UserError, SimulatorError):
        raise
    except Exception as error:
        cause: BaseException | None = error
        last: BaseException = error
        while cause is not None:  # SimPy hands errors of processes on as causes
            if place := _place_in(modules, cause):
                raise UserError(f"{place}: {type(cause).__name__}: {cause}") from cause
            last, cause = cause, cause.__cause__
        if not modules or not isinstance(last, _MISUSE):
            raise
        frame, line = [*traceback.walk_tb(last.__traceback__)][-1]
        where = f"{frame.f_globals.get('__name__')}, line {line}, in {frame.f_code.co_qualname}"
        raise UserError(
            f"{where}: {type(last).__name__}: {last}; something of your own "
            f"({', '.join(sorted(modules))}) may have given what cannot be used there"
        ) from last


def _place_in(modules: Collection[str], error: BaseException) -> str:
    """The innermost file, line and function of some modules that an error came through, if any."""
    frames = traceback.walk_tb(error.__traceback__)
    own = [(f, line) for f, line in frames if f.f_globals.get("__name__") in modules]
    if not own:
        return ""
    frame, line = own[-1]
    return f"{frame.f_code.co_filename}, line {line}, in {frame.f_code.co_qualname}"
