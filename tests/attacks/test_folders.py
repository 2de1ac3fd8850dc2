"""Names that no file can have, links to themselves, folders without permission: all are refused."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from mla_engine.checkpoints import CheckpointError
from tests.ui.conftest import opened  # noqa: F401, a fixture
from ui.engine import folders
from ui.engine.real_layer import RealLayer, place
from ui.pages.real_models import uploads

NAMES = {
    "no such user": "~nosuchuser/x",
    "too long": "a" * 300,
    "too long within": f"models/{'b' * 300}/c",
    "zero byte": "models/\0/x",
    "only dots": "../" * 40,
    "a loop": "loop",
}


@pytest.fixture
def loop(models):
    """A link to itself in the folder for models, which the app stands beside."""
    link = models / "loop"
    if not link.is_symlink():
        link.symlink_to(link)
    return link


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_that_no_folder_has_is_refused(loop, name):
    name = str(loop) if name == "loop" else name
    assert not folders.is_folder(name)
    with suppress(CheckpointError):
        assert not os.path.lexists(place(RealLayer(name, "", 0)).folder / "config.json")


@pytest.mark.parametrize("setting", ["source", "activations"])
@pytest.mark.parametrize("name", ["~nosuchuser/x", "loop"])
def test_a_page_lives_on_and_a_reload_helps(opened, demo, loop, setting, name):  # noqa: F811
    name = str(loop) if name == "loop" else name
    at = opened("pages/real_models.py", **({"source": demo} | {setting: name}))
    assert at.error
    next(b for b in at.button if b.label == "Back to seeded weights").click().run()
    assert not at.exception
    assert not at.error


def test_an_unreadable_folder_breaks_no_page(opened, tmp_path, monkeypatch):  # noqa: F811
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    stat = os.stat

    def no_permission(path, *args, **named):
        if Path(str(path)).is_relative_to(closed) and Path(str(path)) != closed:
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, *args, **named)

    monkeypatch.setattr(os, "stat", no_permission)  # as for everybody but root
    monkeypatch.setenv("MLA_MODEL_FOLDERS", str(closed))
    monkeypatch.setattr("ui.parts.real_layer.DEMO", str(closed / "demo"))
    assert not opened("pages/kv_cache.py").error


def test_the_working_directory_opens_nothing(tmp_path, monkeypatch):
    (tmp_path / "who" / "model").mkdir(parents=True)
    (tmp_path / "models" / "demo").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLA_MODEL_FOLDERS", raising=False)
    assert place(RealLayer("who/model", "", 0)).folder is None
    monkeypatch.setenv("MLA_MODEL_FOLDERS", "models")
    assert folders.folders() == [folders.APP.resolve() / "models"]
    assert not folders.inside("models/demo").is_relative_to(tmp_path)


def test_an_upload_is_kept_whole_or_not_at_all(models, monkeypatch):
    def full(self, target):
        raise OSError(28, "No space left on device")

    folder = models / uploads.PLACE
    before = set(folder.glob("*"))
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        uploads.keep(b"half")
    assert set(folder.glob("*")) == before


def test_the_largest_upload_that_is_offered_is_taken(models):
    settings = (folders.APP / ".streamlit" / "config.toml").read_text("utf-8")
    assert f"maxUploadSize = {uploads.MOST_MIB} " in settings
    kept = models / uploads.keep(bytes(2**20))
    assert kept.stat().st_size == 2**20
    kept.unlink()
