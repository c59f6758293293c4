"""What is kept of a file is what is in it, whatever the file is called and whenever it changes."""

import os
from pathlib import Path

import pytest

from gpusim.files import contents
from gpusim.files.contents import content_of, hash_file, stamps_of, while_unchanged


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files count as unchanged at once, as they do two seconds later."""
    monkeypatch.setattr(contents, "_SETTLED_NS", -1_000_000_000)


class Reader:
    """Counts how often it has read."""

    def __init__(self) -> None:
        self.times = 0
        self.read = while_unchanged(4)(self._read)

    def _read(self, path: Path) -> str:
        self.times += 1
        return path.read_text()


@pytest.mark.usefixtures("settled")
def test_an_unchanged_file_is_read_once(tmp_path: Path):
    (tmp_path / "a").write_text("one")
    reader = Reader()
    assert [reader.read(tmp_path / "a") for _ in range(3)] == ["one"] * 3
    assert reader.times == 1


def test_a_file_that_has_just_changed_is_read_each_time(tmp_path: Path):
    reader = Reader()
    for text in ("one", "two", "six"):
        (tmp_path / "a").write_text(text)
        assert reader.read(tmp_path / "a") == text
    assert stamps_of([tmp_path / "a"]) is None


@pytest.mark.usefixtures("settled")
def test_another_file_of_the_same_name_size_and_time_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    reader = Reader()
    for folder, text in (("x", "one"), ("y", "two")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a").write_text(text)
        os.utime(tmp_path / folder / "a", ns=(0, 0))
        monkeypatch.chdir(tmp_path / folder)
        assert reader.read(Path("a")) == text
    os.replace(tmp_path / "x" / "a", "a")  # noqa: PTH105
    assert reader.read(Path("a")) == "one"


@pytest.mark.usefixtures("settled")
def test_a_file_whose_time_was_put_back_is_read(tmp_path: Path):
    reader, path = Reader(), tmp_path / "a"
    path.write_text("one")
    before = path.stat()
    assert reader.read(path) == "one"
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # steps of the file system's clock
        path.write_text("two")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert reader.read(path) == "two"


@pytest.mark.usefixtures("settled")
def test_what_is_not_there_is_the_readers_error(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        Reader().read(tmp_path / "a")
    with pytest.raises(FileNotFoundError):
        content_of(tmp_path / "a")
    assert stamps_of([tmp_path / "a"]) is None


def test_a_folder_is_all_of_its_files(tmp_path: Path):
    for name in ("b", "a", "sub/c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert [name for name, _ in content_of(tmp_path)] == ["a", "b", "sub/c"]
    (tmp_path / "sub" / "c").write_text("other")
    assert content_of(tmp_path)[2] == ("sub/c", hash_file(tmp_path / "sub" / "c"))
