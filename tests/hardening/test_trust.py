"""Code that files name runs where the user says so, only."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpusim
from gpusim.core.errors import UserError
from gpusim.core.user_code import Imports, importing, load_own, trusted_folders
from tests import ROOT
from tests.whole.running import command


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest):
    """A recipe, a workload and a sweep that name a module in the current folder."""
    name = f"strange_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(
        "from pathlib import Path\nPath('ran').touch()\n"
        "from gpusim.hardware.tlb.set_associative import SetAssociativeArray\n"
        "class Mine(SetAssociativeArray):\n    pass\n"
    )
    (tmp_path / "recipe.toml").write_text(
        f'description = "d"\nsource = "s"\n[tlb.first]\narray = "{name}:Mine"\n'
    )
    (tmp_path / "work.toml").write_text(
        f'[[applications]]\nprogram = "{name}:Mine"\nsmoke = {{}}\n'
    )
    (tmp_path / "sweep.toml").write_text(
        'models = ["tiny"]\nworkloads = ["atax"]\nscale = "smoke"\n[set]\n'
        f'"tlb.L1.array" = ["{name}:Mine"]\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop(name, None)


RUN = ("run", "tiny", "atax", "--scale", "smoke", "--set", "workload.n=32", "--json")


def test_what_only_looks_imports_nothing(stranger: Path):
    command("show", "tiny", "--variant", "./recipe.toml")
    command("list", "models")
    shown = command("sweep", "./sweep.toml", "-o", "runs", "--dry-run", code=2)
    assert "this command imports none" in shown.output
    assert not (stranger / "ran").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        (*RUN, "--variant", "./recipe.toml"),
        ("cost", "tiny", "--variant", "./recipe.toml"),
        ("run", "tiny", "./work.toml", "--scale", "smoke"),
        ("sweep", "./sweep.toml", "-o", "runs"),
        ("characterize", "./work.toml", "--scale", "smoke"),
    ],
)
def test_a_file_that_names_code_is_refused(stranger: Path, arguments: tuple[str, ...]):
    refused = command(*arguments, code=2)
    assert "give --allow-code if you trust" in refused.output
    assert not (stranger / "ran").exists()


def test_it_is_allowed_by_an_option_or_by_marking_the_folder_once(stranger: Path):
    command(*RUN, "--variant", "./recipe.toml", "--allow-code")
    assert (stranger / "ran").exists()
    assert str(stranger.resolve()) in command("trust", ".").output
    assert trusted_folders() == [stranger.resolve()]
    command(*RUN, "--variant", "./recipe.toml")
    command("trust", ".", "--remove")
    (name,) = (path.stem for path in stranger.glob("strange_*.py"))
    command(*RUN, "--variant", "./recipe.toml")
    del sys.modules[name]  # what is imported already runs nothing when it is named again
    command(*RUN, "--variant", "./recipe.toml", code=2)


def test_what_the_user_types_is_the_users_own(stranger: Path):
    (name,) = (path.stem for path in stranger.glob("strange_*.py"))
    command(*RUN, "--set", f"tlb.L1.array={name}:Mine")
    assert (stranger / "ran").exists()


def test_in_python_whoever_loads_a_file_runs_code_already(stranger: Path):
    assert gpusim.load_model("tiny", ["./recipe.toml"]).variants
    assert (stranger / "ran").exists()


def test_a_module_that_ends_the_process_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "quits_at_once.py").write_text("import sys\nsys.exit(0)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(UserError, match="cannot load the slot 'quits_at_once:X': SystemExit: 0"):
        load_own("quits_at_once:X", "slot")


def test_a_damaged_list_of_folders_is_told(stranger: Path):
    (stranger / "settings" / "gpusim").mkdir(parents=True)
    (stranger / "settings" / "gpusim" / "trusted.json").write_text("{")
    assert "trusted.json is damaged" in command("trust", code=2).output


def test_limits_of_imports_end_with_their_block():
    with importing(Imports.NOTHING), pytest.raises(UserError, match="imports none"):
        load_own("no_such_module_here:X", "slot")
    with pytest.raises(UserError, match="there is no no_such_module_here"):
        load_own("no_such_module_here:X", "slot")


def test_folders_that_are_marked_at_once_are_all_in_the_list(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    folders = [tmp_path / f"f{number}" for number in range(40)]
    for folder in folders:
        folder.mkdir()
    mark = (
        "import sys; from pathlib import Path; "
        "from gpusim.files.trusted_folders import mark_trusted; "
        "sys.stdin.read(); [mark_trusted(Path(one)) for one in sys.argv[1:]]"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", mark, *map(str, folders[number::4])],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
        )
        for number in range(4)
    ]
    for one in started:
        one.stdin.close()
    assert [one.wait() for one in started] == [0] * 4
    assert trusted_folders() == sorted(folder.resolve() for folder in folders)
    assert not list((tmp_path / "settings" / "gpusim").glob("*.partial"))
