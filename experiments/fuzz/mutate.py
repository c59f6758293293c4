"""Mutations of files: bytes, text, what is packed, and the structure of HDF5 and npz."""

from __future__ import annotations

import gzip
import io
import lzma
import re
from collections.abc import Callable, Hashable
from functools import cache
from random import Random
from typing import Any

import h5py
import numpy as np

from experiments.fuzz.corpus import GOOD_TRACEG, tracez_of
from experiments.fuzz.hostile import LINES, NUMBERS, WORDS

_MOST_MUTATIONS = 4
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|-?\d+(?:\.\d+)?")
_WORD = re.compile(r"[A-Za-z_][\w.]*")


def mutated(random: Random, name: str, data: bytes) -> bytes:
    """A file with something wrong in it, by its name."""
    for _ in range(random.randint(1, _MOST_MUTATIONS)):
        data = _once(random, name, data)
    return data


def _once(random: Random, name: str, data: bytes) -> bytes:
    ending = name.rpartition(".")[2]
    inside = random.random()
    if ending in _STRUCTURES and inside < _STRUCTURE_SHARE:
        try:
            return _STRUCTURES[ending](random, data)
        except Exception:  # noqa: BLE001  (libraries raise what they like)
            return _bytes(random, data)  # an earlier mutation has damaged it
    if ending in _BINARY or inside > _TEXT_SHARE:
        return _bytes(random, data)
    return _text(random, data.decode("utf-8", "replace")).encode("utf-8", "surrogatepass")


_STRUCTURE_SHARE, _TEXT_SHARE = 0.7, 0.85
_ATTRIBUTES: tuple[dict[Hashable | None, Any], ...] = ({}, {"units": []}, {"units": {"cycles": 1}})
_BINARY = {"gz", "xz", "tracez", "npz", "parquet", "h5", "raw"}


# -- bytes -----------------------------------------------------------------------------------------


def _bytes(random: Random, data: bytes) -> bytes:
    if not data:
        return random.randbytes(random.randint(0, 64))
    at = random.randrange(len(data))
    length = min(random.choice((1, 2, 4, 16, 256)), len(data) - at)
    piece = data[at : at + length]
    return random.choice(_BYTE_MUTATIONS)(random, data[:at], piece, data[at + length :])


_BYTE_MUTATIONS: tuple[Callable[[Random, bytes, bytes, bytes], bytes], ...] = (
    lambda random, before, piece, after: before,
    lambda random, before, piece, after: before + after,
    lambda random, before, piece, after: before + piece * random.choice((2, 3, 50)) + after,
    lambda random, before, piece, after: before + random.randbytes(len(piece)) + after,
    lambda random, before, piece, after: before + b"\xff" * len(piece) + after,
    lambda random, before, piece, after: before + b"\0" * len(piece) + after,
    lambda random, before, piece, after: (
        before + bytes([piece[0] ^ 1 << random.randrange(8)]) + piece[1:] + after
    ),
)


# -- text ------------------------------------------------------------------------------------------


def _text(random: Random, text: str) -> str:
    return random.choice((_replaced_number, _replaced_number, _replaced_word, _lines))(random, text)


def _replaced_number(random: Random, text: str) -> str:
    return _replaced(random, text, _NUMBER, NUMBERS)


def _replaced_word(random: Random, text: str) -> str:
    return _replaced(random, text, _WORD, WORDS)


def _replaced(random: Random, text: str, what: re.Pattern[str], by: tuple[str, ...]) -> str:
    places = [found.span() for found in what.finditer(text)]
    if not places:
        return text + random.choice(by)
    begin, end = random.choice(places)
    return text[:begin] + random.choice(by) + text[end:]


def _lines(random: Random, text: str) -> str:
    lines = text.split("\n")
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    kind = random.randrange(5)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(other, lines[at])
    elif kind == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 3:
        lines.insert(at, random.choice(LINES))
    else:
        del lines[at:]
    return "\n".join(lines)


# -- structures ------------------------------------------------------------------------------------


def _gzipped(random: Random, data: bytes) -> bytes:
    if random.random() < _BOMB_SHARE:
        return _bomb(random.choice((b"\0", b"1", b"1 2\n")))
    return gzip.compress(_text(random, _unpacked(data)).encode("utf-8", "replace"), mtime=0)


@cache
def _bomb(piece: bytes) -> bytes:
    return gzip.compress(piece * _BOMB, 6, mtime=0)


def _xzipped(random: Random, data: bytes) -> bytes:
    text = _text(random, lzma.decompress(data)[:_MOST].decode("utf-8", "replace"))
    return lzma.compress(text.encode("utf-8", "replace"), preset=0)


_BOMB, _BOMB_SHARE, _MOST = 12_000_000, 0.01, 1 << 20


def _unpacked(data: bytes) -> str:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        return stream.read(_MOST).decode("utf-8", "replace")


def _tracez(random: Random, data: bytes) -> bytes:
    """Another text, packed as well; or a number somewhere that claims something."""
    if random.random() < _LOSS:
        at = random.randrange(len(data))
        claim = random.choice((0, 1, 1 << 16, (1 << 31) - 1, (1 << 32) - 1))
        return data[:at] + claim.to_bytes(4, "little") + data[at + 4 :]
    return tracez_of(_text(random, GOOD_TRACEG), random.choice((1, 2, 3)))


def _npz(random: Random, data: bytes) -> bytes:
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        columns = {name: archive[name] for name in archive.files}
    name = random.choice(sorted(columns))
    values = columns[name]
    columns[name] = random.choice(_ARRAYS)(random, values)
    if random.random() < _LOSS:
        del columns[random.choice(sorted(columns))]
    packed = io.BytesIO()
    np.savez_compressed(packed, **columns)
    return packed.getvalue()


_LOSS = 0.2


def _parquet(random: Random, data: bytes) -> bytes:
    import pandas as pd

    table = pd.read_parquet(io.BytesIO(data))
    name = random.choice(list(table.columns))
    kind = random.randrange(5)
    if kind == 0:
        table = table.drop(columns=name)
    elif kind == 1:
        table[name] = random.choice(WORDS).encode("utf-8", "replace").decode()
    elif kind == 2:
        table[name] = random.choice((None, float("nan"), -1, 1 << 62, True, 1e308))
    elif kind == 3:
        table = table.rename(columns={name: random.choice(WORDS[:16])})
    else:
        table.attrs = random.choice(_ATTRIBUTES)
    packed = io.BytesIO()
    table.to_parquet(packed)
    return packed.getvalue()


def _extreme(random: Random, values: Any) -> Any:
    changed = np.array(values)
    if changed.dtype.kind in "iu" and changed.size:
        limits = np.iinfo(changed.dtype)
        changed.flat[random.randrange(changed.size)] = random.choice((limits.min, limits.max, 0))
    return changed


_ARRAYS: tuple[Callable[[Random, Any], Any], ...] = (
    _extreme,
    _extreme,
    lambda random, values: values[: random.randrange(len(values) + 1)] if values.ndim else values,
    lambda random, values: values.astype(random.choice(("f4", "U5", "i1", "?", "c8"))),
    lambda random, values: values.reshape(-1, 1),
    lambda random, values: np.zeros((0,), values.dtype),
    lambda random, values: np.resize(values, random.choice((1, 100, 10_000))),
)


def _hdf5(random: Random, data: bytes) -> bytes:
    stream = io.BytesIO(data)
    with h5py.File(stream, "r+") as file:
        names: list[str] = []
        file.visit(names.append)
        name = random.choice(names)
        random.choice(_NODES)(random, file, name)
    return stream.getvalue()


def _vlen(random: Random, file: Any, name: str) -> None:
    del file[name]
    file.create_dataset(name, data=["a", "b" * 50], dtype=h5py.string_dtype())


def _huge(random: Random, file: Any, name: str) -> None:
    del file[name]
    file.create_dataset(name, shape=(1 << 34,), dtype="u4", chunks=(1 << 16,), compression="gzip")


def _shortened(random: Random, file: Any, name: str) -> None:
    if isinstance(file[name], h5py.Dataset):
        values = file[name][()]
        del file[name]
        file.create_dataset(name, data=random.choice(_ARRAYS)(random, np.asarray(values)))


def _renamed(random: Random, file: Any, name: str) -> None:
    if isinstance(file[name], h5py.Dataset) and file[name].dtype.kind == "S":
        length = len(file[name])
        del file[name]
        words = [random.choice(WORDS).encode("utf-8", "replace")[:200] for _ in range(length)]
        file.create_dataset(name, data=np.array(words, dtype=h5py.string_dtype("utf-8", 200)))


def _linked(random: Random, file: Any, name: str) -> None:
    del file[name]
    links = (h5py.SoftLink("/"), h5py.SoftLink(f"/{name}"), h5py.ExternalLink("/etc/passwd", "/x"))
    file[name] = random.choice(links)


def _emptied(random: Random, file: Any, name: str) -> None:
    del file[name]
    if random.random() < _LOSS:
        file.create_group(name)


def _attributes(random: Random, file: Any, name: str) -> None:
    place = random.choice((file, file[name]))
    keys = sorted(place.attrs)
    if keys:
        place.attrs[random.choice(keys)] = random.choice((b"", 1.5, 1 << 62, -1, "x", [1, 2]))


_NODES: tuple[Callable[[Random, Any, str], None], ...] = (
    _vlen,
    _huge,
    _shortened,
    _shortened,
    _shortened,
    _renamed,
    _renamed,
    _linked,
    _emptied,
    _attributes,
)

_STRUCTURES: dict[str, Callable[[Random, bytes], bytes]] = {
    "gz": _gzipped,
    "xz": _xzipped,
    "tracez": _tracez,
    "npz": _npz,
    "parquet": _parquet,
    "h5": _hdf5,
}
