"""The texts of a real model: they come out of the package as written, and no part has another's."""

import pydoc_data.topics
import subprocess
from itertools import combinations

import pytest

from training.real import texts as module
from training.real.texts import DOCUMENTATION, NOVELS, PARTS, TextsError, digest, documentation

# By the package rdata 1.1.0 of the same file, its lines put together.
BY_RDATA = {
    "EMMA": "dd08b340a56ad4a0a00718d5682528a5a5886ae0aef91c9e0fa528074fa64b75",
    "MANSFIELD PARK": "e0e9ef3863ea77f51f6070062ee0dd50ad9b933223880617629e4e4963ea40ff",
    "NORTHANGER ABBEY": "8618a5acf5be50cc6e9b7680c7469fb6012649ab08c709dfc63c6367989fd31d",
    "PERSUASION": "726513a6c18bb678427bcbcf7c72d0d20816a67c25b0471b26ddcabf3ebac140",
    "PRIDE AND PREJUDICE": "2e44edaa4946d64ad541c68e0224f5d672f43bf3ce2a8a0b0637ad5e02fc6eb3",
    "SENSE AND SENSIBILITY": "0996d90842bbe8093f3b8142c1e77d1b20cff52d1d0615f3ed67733653e74e26",
}


def test_the_novels_are_as_another_reader_of_r_reads_them():
    try:
        package = module.fetched()
    except TextsError as error:
        pytest.skip(str(error))
    found = module.novels(package)
    assert {title: digest(text) for title, text in found.items()} == BY_RDATA


def test_a_novel_belongs_to_one_part():
    titles = [title for titles, _ in PARTS.values() for title in titles]
    assert sorted(titles) == sorted(BY_RDATA)


def test_no_paragraph_of_the_documentation_stands_in_two_parts():
    parts = [documentation(third).split("\n\n") for third in range(3)]
    of_words = [{" ".join(paragraph.split()) for paragraph in part} for part in parts]
    assert all(not one & other for one, other in combinations(of_words, 2))
    assert [len(part) for part in parts] == [len(part) for part in of_words]  # nor twice in one
    topics = pydoc_data.topics.topics.values()
    every = {" ".join(p.split()) for text in topics for p in text.strip().split("\n\n")}
    assert set().union(*of_words) == every


def test_a_part_has_its_kinds(monkeypatch):
    monkeypatch.setattr(module, "fetched", lambda _folder: None)
    monkeypatch.setattr(module, "novels", lambda _package: {title: title for title in BY_RDATA})
    assert module.texts("test") == {NOVELS: "PERSUASION", DOCUMENTATION: documentation(1)}
    assert module.texts("validation") == {NOVELS: "NORTHANGER ABBEY"}


def test_without_a_network_it_says_what_to_do(monkeypatch, tmp_path):
    answer = subprocess.CompletedProcess([], 100, "", "E: Failed to fetch")
    monkeypatch.setattr(subprocess, "run", lambda *_args, **_options: answer)
    with pytest.raises(TextsError, match="Failed to fetch\nIt needs a network"):
        module.fetched(tmp_path)
    assert not list(tmp_path.iterdir())


def test_another_file_is_refused(tmp_path):
    (tmp_path / "r-cran-janeaustenr_1.0.0-1_all.deb").write_bytes(b"another")
    with pytest.raises(TextsError, match="is another file"):
        module.fetched(tmp_path)
