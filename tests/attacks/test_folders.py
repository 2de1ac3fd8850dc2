"""Links to themselves, folders without permission, uploads: refused in time, and pages live on."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from kvcount.files import quota
from mla_engine.checkpoints import CheckpointError
from tests.engine.samples import refused
from tests.ui.conftest import opened  # noqa: F401, a fixture
from ui.engine import folders
from ui.pages.real_models import uploads
from ui.sources import given
from ui.sources.checkpoint import Checkpoint, place


@pytest.fixture
def loop(models):
    """A link to itself in the folder for models, which the app stands beside."""
    link = models / "loop"
    if not link.is_symlink():
        link.symlink_to(link)
    return link


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
    monkeypatch.setattr("ui.parts.checkpoint.DEMO", str(closed / "demo"))
    assert not opened("pages/kv_cache.py").error


def test_the_working_directory_opens_nothing(tmp_path, monkeypatch):
    (tmp_path / "who" / "model").mkdir(parents=True)
    (tmp_path / "models" / "demo").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLA_MODEL_FOLDERS", raising=False)
    assert place(Checkpoint("who/model", "", 0)).folder is None
    monkeypatch.setenv("MLA_MODEL_FOLDERS", "models")
    assert folders.folders() == [folders.APP.resolve() / "models"]
    assert not folders.inside("models/demo").is_relative_to(tmp_path)


def test_an_upload_is_kept_whole_or_not_at_all(models, monkeypatch):
    def full(self, data):
        with self.open("wb") as file:
            file.write(data[:2])
        raise OSError(28, "No space left on device")

    folder = models / uploads.PLACE
    before = set(folder.glob("[!.]*"))
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        uploads.keep(b"half")
    assert set(folder.glob("[!.]*")) == before


def test_an_upload_that_a_full_disk_has_no_room_for_is_refused_before_it_is_written(
    models, monkeypatch
):
    folder = models / uploads.PLACE
    free = SimpleNamespace(free=quota.LEAVE_FREE_BYTES + 3)
    monkeypatch.setattr(quota.shutil, "disk_usage", lambda _: free)
    before = set(folder.glob("[!.]*"))
    with pytest.raises(CheckpointError, match="are free"):
        uploads.keep(b"four")
    assert set(folder.glob("[!.]*")) == before


FILL = """
import sys
from pathlib import Path
from ui.pages.real_models import uploads
place = uploads._folder().parent
print(flush=True)
for n in range(40):
    sys.stdin.readline()
    uploads.keep(f"{sys.argv[1]} {n} ".encode() * 2000)
    print(flush=True)
"""


def test_two_processes_keep_uploads_within_one_quota(tmp_path):
    """Each writes as soon as it may, at the same time as the other."""
    places = tmp_path / "models", 2**16 * uploads.SHARE
    given = {"MLA_MODEL_FOLDERS": str(places[0]), "MLA_DISK_QUOTA_GIB": str(places[1] / 2**30)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    environment = os.environ | given | {"PYTHONPATH": str(folders.APP)}
    command = [sys.executable, "-c", FILL]
    places[0].mkdir()
    with ExitStack() as stack:
        both = [
            stack.enter_context(subprocess.Popen([*command, name], env=environment, **pipes))
            for name in "ab"
        ]
        for one in both:
            one.stdout.readline()
        for _ in range(40):
            for one in both:
                print(file=one.stdin, flush=True)
            for one in both:
                assert one.stdout.readline()
            kept = (places[0] / uploads.PLACE).glob("*.safetensors")
            assert sum(-(-file.stat().st_size // 4096) * 4096 for file in kept) <= 2**16
    assert [one.returncode for one in both] == [0, 0]


def test_the_largest_upload_that_is_offered_is_taken(models):
    settings = (folders.APP / ".streamlit" / "config.toml").read_text("utf-8")
    assert f"maxUploadSize = {uploads.MOST_MIB} " in settings
    kept = models / uploads.keep(bytes(2**20))
    assert kept.stat().st_size == 2**20
    kept.unlink()


def test_a_name_of_a_folder_here_never_asks_the_hub(tmp_path, monkeypatch):
    """Missing, with a space behind, or a link that leads out: no such name is a repository's."""
    monkeypatch.setattr(folders, "APP", tmp_path)
    monkeypatch.setenv("MLA_MODEL_FOLDERS", "models")
    (tmp_path / "models" / "demo").mkdir(parents=True)
    (tmp_path / "models" / "out").symlink_to("/etc")
    assert place(Checkpoint(" models/demo ", "", 0)).folder == tmp_path / "models" / "demo"
    for name in ("models/typo", "models/typo ", "models/out", "models/x/../typo"):
        with refused(name.strip(), "is not a folder that may be read"):
            place(Checkpoint(name, "", 0))
        with refused("is not a folder that may be read"):
            given.config_of(name)
    assert place(Checkpoint("who/model", "", 0)).folder is None
