import pytest

from gpusim.core.errors import UserError
from gpusim.files import shipped as datafiles


def test_in_a_checkout():
    assert (datafiles.data_folder("models") / "tiny.toml").is_file()
    assert "tiny" in datafiles.data_names("models")


def test_an_installed_package_carries_its_own(tmp_path, monkeypatch):
    (tmp_path / "gpusim" / "data" / "models").mkdir(parents=True)
    (tmp_path / "gpusim" / "data" / "models" / "b.toml").touch()
    (tmp_path / "models").mkdir()
    monkeypatch.setattr(datafiles, "_PACKAGE", tmp_path / "gpusim")
    assert datafiles.data_names("models") == ("b",)
    assert datafiles.find_data("models", "b").parent.parent.name == "data"


def test_a_broken_installation(tmp_path, monkeypatch):
    monkeypatch.setattr(datafiles, "_PACKAGE", tmp_path / "gpusim")
    with pytest.raises(UserError, match="own models are missing"):
        datafiles.data_folder("models")


def test_a_path_is_a_path(tmp_path):
    path = tmp_path / "x.toml"
    path.touch()
    assert datafiles.find_data("models", str(path)) == path
    with pytest.raises(UserError, match="no model file"):
        datafiles.find_data("models", "models/none")
    with pytest.raises(UserError, match="no workload named"):
        datafiles.find_data("workloads", "none")
