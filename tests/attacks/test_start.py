"""A server that cannot run says why in one sentence, and its health is true."""

import pytest

from tests.attacks.server import copied, healthy, running, started, wait_until
from ui.server.start import STREAMLIT

WRONG = {"MLA_MEMORY_BUDGET_GIB": "1 GiB", "PUBLIC_URL": "mla.example.org"}
FRAME = "    with page.frame(PAGE) as frame:"
TEXTS = "ui/frame/texts/share.toml"
BROKEN = {  # what is wrong -> the change in a file, what the sentence names
    "texts that are no TOML": (TEXTS, ("button = ", "button = = "), f"{TEXTS} cannot be read"),
    "another version of Streamlit": (
        "ui/server/start.py",
        (f'STREAMLIT = "{STREAMLIT}"', 'STREAMLIT = "1.0.0"'),
        f"Streamlit {STREAMLIT} is installed, and the app relies on 1.0.0",
    ),
    "an overview that fails": (
        "app.py",
        (FRAME, FRAME + "\n        raise OSError('planted')"),
        "its first page failed",
    ),
}
MAYBE_LATER = """    import pathlib, time
    while not pathlib.Path({file!r}).exists():
        time.sleep(0.01)
    with page.frame(PAGE) as frame:"""


def told(app):
    """Return the last line of a server that cannot run, when it has ended."""
    wait_until(lambda: not app.alive, "the server has ended")
    assert app.process.returncode > 0
    *before, last = app.log.splitlines()
    assert not any("cannot run" in line for line in before)
    return last, "\n".join(before)


def test_wrong_variables_stop_the_server_with_one_sentence():
    with started(WRONG) as app:
        sentence, before = told(app)
    assert all(f"{name} is {value!r}" in sentence for name, value in WRONG.items())
    assert "Traceback" not in before


@pytest.mark.parametrize("wrong", BROKEN)
def test_a_room_that_cannot_be_shown_stops_the_server(wrong, tmp_path):
    file, change, named = BROKEN[wrong]
    with started(root=copied(tmp_path, {file: change})) as app:
        sentence, before = told(app)
    assert sentence.startswith("MLA Explorer cannot run: ")
    assert named in sentence
    assert ("Traceback" in before) == (wrong == "an overview that fails")  # which the log explains


def test_health_is_green_only_when_a_page_has_been_run(tmp_path):
    ready = tmp_path / "ready"
    waits = MAYBE_LATER.format(file=str(ready))
    tree = copied(tmp_path, {"app.py": (FRAME, waits)})
    with started(root=tree) as app:
        status, _, said = wait_until(lambda: app.answer("/_stcore/health"), "it answers")
        assert (status, said) == (503, b"starting")
        assert "is ready" not in app.log
        ready.touch()
        wait_until(lambda: healthy(app), "a page has been run")
        assert app.get("/_stcore/health")[2] == b"ok"
        lines = [line.strip() for line in app.log.splitlines() if line.strip()]
    assert len(lines) == 3, f"more than an address is said: {lines}"
    assert lines[-1] == "MLA Explorer is ready."


def test_without_a_network_the_small_real_model_is_missed_and_nothing_else(tmp_path):
    nowhere = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    ours = {"MLA_REAL_MODEL": "1", "MLA_MODEL_FOLDERS": str(tmp_path)}
    with running(ours | nowhere) as app:
        wait_until(lambda: "could not be fetched" in app.log, "it has been tried")
        assert healthy(app)
        assert app.log.count("the small real model: ") == 1
        assert "Traceback" not in app.log
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
