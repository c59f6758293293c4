"""CUDA C++ made PTX by NVRTC, NVIDIA's compiler as a library (a wheel; no GPU, no toolkit)."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from attrs import frozen

from gpusim.core.errors import UserError
from gpusim.ptx.host_headers import HOST_HEADERS, WITH_EVERY_SOURCE

_PACKAGES = ("nvidia.cuda_nvrtc", "nvidia.cu13", "nvidia.cu12", "nvidia")
_NAMES = ("libnvrtc.so*", "nvrtc64*.dll")
_INSTALL = "install it with: pip install 'gpusim[cuda]' (the wheel nvidia-cuda-nvrtc)"

_OF_HOSTS = ("<<<", "cudaMalloc", "std::", "int main")
_HINT = (
    "(NVRTC compiles what runs on the GPU: put the host's functions between #ifndef "
    "__CUDACC_RTC__ and #endif)"
)

DEFAULT_ARCHITECTURE = "sm_80"
"""What is compiled for where nothing is said: an A100."""


@frozen
class Compiled:
    """What NVRTC makes of a source.

    Attributes:
        ptx: with the lines that its instructions come from.
        cubin: assembled for the architecture; empty for a virtual one (``compute_80``).
        lowered: names in the PTX of the instances of templates that were asked for.
    """

    ptx: str
    cubin: bytes
    lowered: Mapping[str, str] = MappingProxyType({})


def compiled(
    source: str,
    name: str,
    architecture: str = DEFAULT_ARCHITECTURE,
    options: Sequence[str] = (),
    instances: Sequence[str] = (),
) -> Compiled:
    """PTX of a CUDA source, and what an assembler makes of it.

    Compiling runs nothing of the source.

    Args:
        source: the text.
        name: of its file, for messages and lines.
        architecture: such as ``"sm_90"``.
        options: further ones of NVRTC, such as ``"-DN=64"``.
        instances: of templates, such as ``"scale<float, 4>"``.

    Raises:
        UserError: NVRTC is not installed, or does not accept the source.
    """
    library = _library()
    program = ctypes.c_void_p()
    strings = ctypes.c_char_p * len(HOST_HEADERS)
    _check(
        library,
        library.nvrtcCreateProgram(
            ctypes.byref(program),
            source.encode(),
            name.encode(),
            len(HOST_HEADERS),
            strings(*(text.encode() for text in HOST_HEADERS.values())),
            strings(*(one.encode() for one in HOST_HEADERS)),
        ),
    )
    try:
        given = [f"--gpu-architecture={architecture}", "-lineinfo", "-default-device"]
        given += ["-device-int128", *options]  # nvcc has this type by default
        given += [f"--include-path={folder}" for folder in headers()]
        given += [f"--pre-include={one}" for one in WITH_EVERY_SOURCE]
        array = (ctypes.c_char_p * len(given))(*(one.encode() for one in given))
        for one in instances:
            _check(library, library.nvrtcAddNameExpression(program, one.encode()))
        failed = library.nvrtcCompileProgram(program, len(given), array)
        if failed:
            log = _text(library, program, "ProgramLog").strip()
            hint = f"\n{_HINT}" if any(word in source for word in _OF_HOSTS) else ""
            raise UserError(
                f"{name}: NVRTC does not accept it:\n{log or _error(library, failed)}{hint}"
            )
        cubin = _data(library, program, "CUBIN") if architecture.startswith("sm_") else b""
        lowered = {one: _lowered(library, program, one) for one in instances}
        return Compiled(_text(library, program, "PTX"), cubin, lowered)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def is_installed() -> bool:
    """Whether NVRTC can be found."""
    return _path() is not None


def _path() -> Path | None:
    for package in _PACKAGES:
        try:
            found = find_spec(package)
        except ModuleNotFoundError:
            continue
        for folder in (found.submodule_search_locations or ()) if found else ():
            for name in _NAMES:
                for path in sorted(Path(folder).rglob(name)):
                    if "builtins" not in path.name:
                        return path
    return None


def headers() -> list[Path]:
    """Folders of CUDA's headers, where wheels have brought them."""
    library = _path()
    if library is None:
        return []
    folder = library.parent.parent / "include"
    return [one for one in (folder, folder / "cccl") if one.is_dir()]


def _library() -> ctypes.CDLL:
    path = _path()
    if path is None:
        raise UserError(f"CUDA C++ is compiled by NVRTC, which is not there; {_INSTALL}")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise UserError(f"{path} cannot be loaded: {error}; {_INSTALL}") from error
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return library


def _text(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    return _data(library, program, what).rstrip(b"\0").decode("utf-8", "replace")


def _data(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(library, getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(library, getattr(library, f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


def _lowered(library: ctypes.CDLL, program: ctypes.c_void_p, instance: str) -> str:
    found = ctypes.c_char_p()
    _check(library, library.nvrtcGetLoweredName(program, instance.encode(), ctypes.byref(found)))
    return (found.value or b"").decode()


def _error(library: ctypes.CDLL, code: int) -> str:
    text: bytes = library.nvrtcGetErrorString(code)
    return text.decode()


def _check(library: ctypes.CDLL, code: int) -> None:
    if code:
        raise UserError(f"NVRTC: {_error(library, code)}")
