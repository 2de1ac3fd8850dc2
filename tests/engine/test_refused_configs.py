"""Configurations that no layer can have: of the mechanisms that choose, pool or keep a state."""

from dataclasses import replace

import pytest

from mla_engine import RopeConfig
from tests.engine.kinds import CSA, DSA, GLM, KDA
from tests.engine.samples import refused

IMPOSSIBLE = {
    DSA: [
        ({"n_index_heads": 0}, ("n_index_heads (0)", "at least 1")),
        ({"n_index_heads": 2.5}, ("n_index_heads (2.5)", "whole number")),
        ({"d_index": -3}, ("d_index (-3)", "at least 1")),
        ({"d_index": 3}, ("d_index (3) must be at least d_rope (4)", "try 4")),
        ({"index_topk": 0}, ("index_topk (0)", "at least 1")),
        ({"index_topk": True}, ("index_topk (True)", "whole number")),
        ({"index_pairing": "halves"}, ("index_pairing ('halves')", "'interleaved', 'half'")),
        ({"index_shared": 1}, ("index_shared (1)", "True or False")),
        ({"d_rope": 3}, ("d_rope (3) must be even", "try 4")),
    ],
    CSA: [
        ({"n_output_groups": 3}, ("n_heads (4) must be a multiple of n_output_groups (3)", "2")),
        ({"window": 0}, ("window (0)", "at least 1")),
        ({"pooling": -1}, ("pooling (-1)", "at least 0")),
        ({"overlap": 1}, ("overlap (1)", "True or False")),
        ({"pooling": 0}, ("pooling is 0", "set pooling")),
        ({"d_index": None}, ("d_index (None)", "together")),
        ({"index_topk": None}, ("n_index_heads (2)", "together")),
        ({"index_topk": 0}, ("index_topk (0)", "at least 1")),
        ({"d_index": 3}, ("d_index (3) must be at least d_rope (4)", "try 4")),
        ({"d_head": 3}, ("d_head (3) must be at least d_rope (4)", "try 4")),
        ({"d_rope": 3}, ("d_rope (3) must be even", "try 4")),
        ({"norm_eps": 0}, ("norm_eps (0)", "above 0")),
    ],
    GLM: [
        ({"pooling": 0}, ("pooling (0)", "at least 1")),
        ({"pooling": 2.5}, ("pooling (2.5)", "whole number")),
        ({"pooling": 4}, ("index_topk (6) must be a multiple of pooling (4)", "3 or 6")),
        ({"d_rope": 4, "rope": RopeConfig()}, ("rotated keys and pooled", "set rope to None")),
        ({"index_topk": 0}, ("index_topk (0)", "at least 1")),
    ],
    KDA: [
        ({"n_heads": 0}, ("n_heads (0) must be at least 1",)),
        ({"conv_width": 65}, ("conv_width (65) must be at least 1 and at most 64",)),
        ({"d_decay": 0}, ("d_decay (0) must be at least 1",)),
        ({"decay_floor": 5.0}, ("decay_floor (5.0) must be a number below 0",)),
        ({"decay_floor": "low"}, ("decay_floor ('low') must be a number below 0",)),
    ],
}
CASES = [(config, *case) for config, cases in IMPOSSIBLE.items() for case in cases]


@pytest.mark.parametrize(("config", "changes", "words"), CASES)
def test_a_configuration_that_no_layer_can_have_is_refused(config, changes, words):
    with refused(*words):
        replace(config, **changes)
