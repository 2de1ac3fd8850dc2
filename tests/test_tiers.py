"""Every test file runs in one tier, and a change of an area calls for its parts."""

import pytest

from tests.tiers import TESTS, TIERS, every_file, files_of, in_project, of_rooms, tiers_of, touched


@pytest.mark.parametrize("file", every_file())
def test_a_file_is_in_exactly_one_tier(file):
    assert len(tiers_of(file)) == 1


@pytest.mark.parametrize("line", [line for lines in TIERS.values() for line in lines])
def test_every_line_names_a_test(line):
    assert list(TESTS.parent.glob(in_project(line)))


def test_what_make_test_runs_is_not_run_again_by_a_part():
    here = set(files_of("test"))
    assert set(files_of("check")) < here
    assert not here & {
        file
        for part in TIERS
        if part not in ("check", "test")
        for file in files_of(part)
        if part != "sweeps"
    }


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("ui/server/classes/following.py", ["browser", "load", "deploy", "attacks"]),
        ("mla_engine/kernels/plan.py", ["kernels"]),
        ("mla_engine/latent/cache.py", ["graphs"]),
        ("ui/engine/on_ray.py", ["ray"]),
        ("assets/wish.js", ["browser", "presses"]),
        ("README.md", []),
    ],
)
def test_a_change_calls_for_its_parts(path, parts):
    assert touched([path]) == parts


def test_a_changed_room_calls_for_its_tests():
    found = of_rooms(["ui/pages/kv_cache/view.py", "tests/ui/test_story.py", "README.md"])
    assert "tests/ui/pages/test_kv_cache.py" in found
    assert "tests/ui/test_story.py" in found
    assert not [file for file in found if "kv_cache" not in file and "story" not in file]
