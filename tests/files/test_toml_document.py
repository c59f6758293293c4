import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.core.errors import UserError
from gpusim.files.toml_document import read_document

TEXT = """\
# a file
top = 1 # one

[a]   # the table
x = "a # b"   # two
y = 'c # d'
b.z = [
  1, # inside
  2,
]  # three
t = {p = 1, q = "#"} # four

[a.c]
"""


def write(tmp_path, text):
    path = tmp_path / "file.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_lines_and_comments(tmp_path):
    document = read_document(write(tmp_path, TEXT))
    notes = {".".join(key): (note.line, note.comment) for key, note in document.notes.items()}
    assert notes == {
        "top": (2, "one"),
        "a": (4, "the table"),
        "a.x": (5, "two"),
        "a.y": (6, ""),
        "a.b": (7, "three"),
        "a.b.z": (7, "three"),
        "a.t": (11, "four"),
        "a.c": (13, ""),
    }


def test_a_value_without_comment_takes_that_of_its_table(tmp_path):
    document = read_document(write(tmp_path, TEXT))
    assert document.comment(("a", "y")) == "the table"
    assert document.comment(("a", "t", "q")) == "four"
    assert document.note(("a", "t", "q")).line == 11
    assert document.comment(("nowhere",)) == ""


@given(
    value=st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=20),
    comment=st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=20),
)
def test_any_string_and_any_comment(tmp_path_factory, value, comment):
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    path = write(tmp_path_factory.mktemp("x"), f'\n[t]\nk = "{quoted}" # {comment}\n')
    document = read_document(path)
    assert document.data == {"t": {"k": value}}
    assert document.notes["t", "k"].line == 3
    assert document.notes["t", "k"].comment == comment


def test_what_is_no_toml_names_file_and_line(tmp_path):
    path = write(tmp_path, "a = 1\nb = \n")
    with pytest.raises(UserError, match=r"file\.toml is not a TOML file.*line 2"):
        read_document(path)


def test_unreadable_files(tmp_path):
    with pytest.raises(UserError, match="cannot read"):
        read_document(tmp_path)
    path = tmp_path / "latin.toml"
    path.write_bytes(b"a = '\xe9'\n")
    with pytest.raises(UserError, match="cannot read"):
        read_document(path)
