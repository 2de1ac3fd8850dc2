"""The decode page: counts against closed forms, real caches, one output, play and cancel."""

import html
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
import torch
from safetensors.torch import save_file
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest
from transformers import AutoModelForCausalLM

from mla_engine import (
    PRESETS,
    DeltaAttention,
    DeltaCache,
    DeltaConfig,
    GroupedConfig,
    GroupedQueryAttention,
    IndexedConfig,
    IndexedLatentAttention,
    LatentCache,
    LatentConfig,
    MultiHeadLatentAttention,
    PooledAttention,
    PooledCache,
    PooledConfig,
    PooledIndexAttention,
    PooledIndexConfig,
    RopeConfig,
    checkpoints,
    costs,
)
from mla_engine.cache import Cache
from mla_engine.figures.looks import look
from mla_engine.layer import AttentionLayer
from mla_engine.studies.words import hidden_states
from tests.ui.conftest import CHECKPOINT, REAL_TEXT, noted_downloads, open_page
from tests.ui.controls import button, control, has_button
from tests.ui.screen import component, csv, lead, own, prose, says, statement
from tests.ui.wishes import wish
from ui.pages.decode import run
from ui.parts.ways import Way
from ui.sources import Drawn
from ui.words.numbers import clock, digits, prefixed, tied_size, times

PAGE = "pages/decode.py"
SMALL = {
    "preset": "small", "d_model": "48", "n_heads": "6", "n_kv_heads": "3", "d_head": "8",
    "d_value": "10", "d_latent_kv": "20", "d_latent_q": "24", "d_rope": "4",
}  # fmt: skip
COMMON = {"d_model": 48, "n_heads": 6, "d_head": 8, "d_value": 10, "rope": RopeConfig()}
MHA, GQA, MQA = (GroupedConfig(**COMMON, n_kv_heads=n) for n in (6, 3, 1))
LATENT = LatentConfig(**COMMON, d_latent_kv=20, d_latent_q=24, d_rope=4, latent_norm=True)
INDEXED = IndexedConfig(**vars(LATENT), n_index_heads=3, d_index=8, index_topk=4)
CSA = PooledConfig(
    d_model=48, n_heads=6, d_head=20, d_latent_q=24, d_latent_o=40, n_output_groups=3, window=3,
    d_rope=4, pooling=2, overlap=True, index_topk=2, n_index_heads=6, d_index=8,
)  # fmt: skip
HCA = replace(CSA, pooling=4, overlap=False, index_topk=None, n_index_heads=None, d_index=None)
BLOCKS = PooledIndexConfig(**vars(replace(INDEXED, d_rope=0, rope=None)), pooling=2)
KDA = DeltaConfig(d_model=48, n_heads=6, d_head=8, d_value=10, d_decay=8, d_gate=8)
PROMPT, STEP, HEADS, SEED = 16, 3, 4, 5
CONTEXT = PROMPT + STEP - 1  # tokens before the step
LINK = SMALL | {
    "dec_prompt": "16",
    "dec_step": "3",
    "dec_heads": "4",
    "seed": "5",
    "dec_ways": "all",
}


@dataclass(frozen=True)
class Kept:
    """A way, and what it keeps of a token: numbers of the whole layer; 0 where that differs."""

    code: str
    config: GroupedConfig | LatentConfig
    numbers: int
    form: str = "expanded"
    cache: str = "kv"

    def held_bytes(self, tokens: int) -> int:
        """By hand: three tokens of the window, entries, what waits of c and z; state and tails."""
        by_code = {
            "csa": 3 * 20 + tokens // 2 * (20 + 8) + 2 * (tokens % 2 * 2 + 2) * (20 + 8),
            "hca": 3 * 20 + tokens // 4 * 20 + 2 * (tokens % 4) * 20,
            "kda": 6 * (8 * 10 + 3 * (8 + 8 + 10)),
            "block_dsa": tokens * 20 + tokens // 2 * 8 + tokens % 2 * 2 * 8,
        }
        return 4 * by_code.get(self.code, tokens * self.numbers)

    @property
    def read_bytes(self) -> int:
        """Return the bytes a step reads: cached, and made from that, for every token."""
        entries = {"csa": 9 * 8 + 2 * 20, "hca": 4 * 20}  # all index keys, the chosen entries
        if self.code in entries:
            return 4 * (3 * 20 + entries[self.code])
        if self.code == "kda":
            return self.held_bytes(CONTEXT)
        if self.code == "dsa":  # every index key, and the latents of four tokens
            return 4 * (CONTEXT * 8 + 4 * (20 + 4))
        if self.code == "block_dsa":  # an index key for two tokens, the latents of two blocks
            return 4 * (CONTEXT // 2 * 8 + 4 * 20)
        made = (CONTEXT + 1) * 6 * (8 + 10) if self.code == "mla_each" else 0
        return 4 * (CONTEXT * self.numbers + made)

    @property
    def multiply_adds(self) -> float:
        step = costs.decode(self.config, CONTEXT, self.form, cache=self.cache, dtype_bytes=4)
        return step.total_flops / 2


WAYS = {
    "MHA": Kept("mha", MHA, 6 * (8 + 10)),
    "GQA, g = 3": Kept("gqa", GQA, 3 * (8 + 10)),
    "MQA": Kept("mqa", MQA, 8 + 10),
    "MLA, absorbed": Kept("mla_absorbed", LATENT, 20 + 4, "absorbed", "latent"),
    "MLA, expanded each step": Kept("mla_each", LATENT, 20 + 4, cache="latent"),
    "MLA, full K and V": Kept("mla_kv", LATENT, 6 * (8 + 4 + 10)),
    "DSA, absorbed": Kept("dsa", INDEXED, 20 + 4 + 8, "absorbed", "indexed"),
    "CSA, chosen entries": Kept("csa", CSA, 0, "pooled", "pooled"),
    "HCA, all entries": Kept("hca", HCA, 0, "pooled", "pooled"),
    "KDA, one state": Kept("kda", KDA, 0, "recurrent", "delta"),
    "Block DSA, absorbed": Kept("block_dsa", BLOCKS, 0, "absorbed", "pooled_index"),
}
LAYERS = {
    GroupedConfig: GroupedQueryAttention,
    LatentConfig: MultiHeadLatentAttention,
    IndexedConfig: IndexedLatentAttention,
    PooledConfig: PooledAttention,
    DeltaConfig: DeltaAttention,
    PooledIndexConfig: PooledIndexAttention,
}
# seconds of each way, in the order of the table
TAKEN = [2.5, 0.5, 0.25, 0.125, 4e-3, 3e-6, 0.75, 5e-3, 7e-4, 0.375, 0.0625]
SPEEDS = {"slow": 2.0, "normal": 1.0, "fast": 0.4}  # seconds a step
OFF = [1e-7, 6e-7, 2e-7, 3e-7, 5e-7, 4e-7, 8e-8, 9e-8, 7e-8, 6e-8, 5e-8]  # distances


@dataclass(frozen=True)
class Shown:
    """The page at a step, what its buttons hand out, and what it timed and compared."""

    at: AppTest
    files: dict[str, object]
    stepped: list[tuple[str, str, int]]  # form, kind of cache, its length
    compared: list[tuple[np.ndarray, np.ndarray]]


@pytest.fixture(scope="module")
def shown() -> Iterator[Shown]:
    """A step of known times and distances."""
    st.cache_resource.clear()
    with pytest.MonkeyPatch.context() as patch:
        files, stepped, compared, timed = noted_downloads(patch), [], [], []
        prepare = run.timing.step

        def step(layer: AttentionLayer, h: torch.Tensor, cache: Cache, form: str) -> Callable:
            stepped.append((form, cache.kind, cache.length))
            return prepare(layer, h, cache, form)

        def seconds(call: Callable, _device: object) -> float:
            timed.append(call())
            return TAKEN[len(timed) - 1]

        def error(step: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
            compared.append((step.numpy().copy(), whole.numpy().copy()))
            return torch.tensor(OFF[len(compared) - 1], dtype=torch.float64)

        patch.setattr(run.timing, "step", step)
        patch.setattr(run.timing, "seconds", seconds)
        patch.setattr(run, "relative_error", error)
        at = open_page(PAGE, **LINK)
    yield Shown(at, files, stepped, compared)
    st.cache_resource.clear()


@pytest.fixture
def unrun(monkeypatch):
    """The page with all that it counts, where no step may be run."""
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", "0.00001")


@pytest.fixture
def outputs(monkeypatch) -> list[np.ndarray]:
    """The outputs [d] of the steps that are run, in turn."""
    found, error = [], run.relative_error

    def noting(step: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
        found.append(step[0, 0].numpy().copy())
        return error(step, whole)

    monkeypatch.setattr(run, "relative_error", noting)
    return found


def of_page(at: AppTest, kind: str) -> list[str]:
    return [element.value for element in own(at, kind)]


def test_the_title_sets_what_mha_holds_against_mla(shown):
    mha, mla = 19 * 4 * 108, 19 * 4 * 24
    assert says(
        statement(shown.at),
        "decode.line",
        model="Small sizes of our own, sizes changed",
        tokens="19",
        mla=tied_size(mla),
        mha=tied_size(mha),
        ratio=times(mha / mla),
    )


def test_with_an_indexer_the_title_tells_what_a_step_reads(seen):
    read, every = 4 * (CONTEXT * 8 + 4 * (20 + 4)), 4 * CONTEXT * (20 + 4)
    turn = next(n for n in range(1, 100) if n * 8 + min(n, 4) * (20 + 4) < n * (20 + 4))
    at = seen(PAGE, **LINK, variant="dsa").at
    assert lead(at)[0] == tied_size(read) == at.main.table[0].value.loc["DSA, absorbed", "Read"]
    said, amounts = statement(at), {"dsa": tied_size(read), "mla": tied_size(every)}
    assert says(said, "decode.line_indexed", tokens=CONTEXT, **amounts)
    assert says(said, "decode.reads_chosen", topk=4)
    assert says(said, "decode.reads_less", ratio=times(every / read), name="DSA", turn=turn)
    assert any(says(one, "decode.look_indexed") for one in prose(at))


@pytest.mark.parametrize(
    ("preset", "tokens", "layers", "tick"),
    [("deepseek-v3.2-exp", 163_840, 61, 2**22), ("glm-5", 202_752, 78, 2**23)],
)
def test_below_the_choice_a_step_reads_all_and_its_full_length_is_told(
    unrun, opened, preset, tokens, layers, tick
):
    at = opened(PAGE, preset=preset, dec_heads="1", dec_ways="all")
    context = 8 + 4 - 1
    turn = next(n for n in range(1, 10**4) if 128 * n + 576 * min(n, 2048) < 576 * n)
    said = statement(at)
    amounts = {"dsa": tied_size(4 * context * 704), "mla": tied_size(4 * context * 576)}
    assert says(said, "decode.line_indexed", tokens=context, **amounts)
    assert says(said, "decode.reads_all", topk="2,048")
    assert says(said, "decode.reads_more", name="DSA", turn=f"{turn:,}")
    read, every = (2 * layers * n for n in (128 * tokens + 576 * 2048, 576 * tokens))
    length = next(one for one in prose(at) if "At the full length" in one)
    assert f"({tokens:,} tokens, {layers} layers, bf16)" in length
    assert says(length, "decode.at_length", dsa=tied_size(read), topk="2,048", tokens=f"{tokens:,}")
    assert f"read **{tied_size(every)}**, {times(every / read)} as much" in length
    picture = component(at, "growing")
    assert picture["tick"] == {"at": tick, "text": tied_size(tick)}


def test_an_index_key_wider_than_the_latent_never_saves_reading(unrun, opened):
    at = opened(PAGE, **LINK | {"d_latent_kv": "2", "d_rope": "4"}, variant="dsa")
    assert says(statement(at), "decode.reads_never", name="DSA")


def test_it_opens_with_mha_to_mla_and_the_chosen_one(unrun, opened):
    link = {name: value for name, value in LINK.items() if name != "dec_ways"}
    first = ["MHA", "GQA, g = 3", "MQA", "MLA, absorbed"]
    for variant, chosen in {"mla_absorbed": [], "csa": ["CSA, chosen entries"]}.items():
        at = opened(PAGE, **link, variant=variant)
        rows = component(at, "growing")["rows"]
        assert [row["name"] for row in rows] == [*first, *chosen]
    control(at, "dec_ways").set_value("all").run()
    rows = component(at, "growing")["rows"]
    assert [row["name"] for row in rows] == list(WAYS)
    assert {row["name"] for row in rows if row["heads"]} == set(first)


def test_blocks_are_as_wide_as_the_bytes_of_their_tokens(shown):
    picture = component(shown.at, "growing")
    assert [row["name"] for row in picture["rows"]] == list(WAYS)
    sizes = {code: [way.held_bytes(16 + n) for n in range(1, 33)] for code, way in WAYS.items()}
    for row, (name, way) in zip(picture["rows"], WAYS.items(), strict=True):
        assert row.get("bytes", 0) == 4 * way.numbers
        assert row.get("sizes", sizes[name]) == sizes[name]
        assert ("sizes" in row) == (way.numbers == 0)
    held = [[tied_size(size) for size in every] for every in sizes.values()]
    assert [row["held"] for row in picture["rows"]] == held
    assert (picture["prompt"], picture["steps"]) == (16, 32)
    assert picture["widest"] == 48 * 4 * 6 * (8 + 4 + 10), "MLA with keys and values in full"
    assert picture["strip"] is None
    assert picture["titles"] == ["prompt", "earlier token", "newest token"]
    drawn = [row["colour"] for row in picture["rows"]]
    assert drawn == [look(way.code).colour for way in WAYS.values()]
    assert says(picture["axis"], "decode.axis_held")
    assert picture["tick"] == {"at": 2**14, "text": tied_size(2**14)}
    listed = "; ".join(f"{name}: {of[2]}" for name, of in zip(WAYS, held, strict=True))
    assert picture["told"][2] == f"Caches after 19 tokens. {listed}."
    assert says(picture["says"][2], "decode.says", step="3", tokens="19")
    assert picture["dials"] == [{"label": "Step (of 32)", "first": 1, "count": 32}]
    assert picture["at"] == [2]
    file = csv(shown.files["decode_growth.csv"])
    assert list(file["step"]) == list(range(1, 33))
    for way in WAYS.values():
        assert list(file[way.code]) == [way.held_bytes(16 + n) for n in range(1, 33)]


@pytest.mark.parametrize("variant", ["csa", "hca", "kda"])
def test_the_strip_says_which_tokens_a_cache_keeps_as_what(seen, variant):
    """Spans by hand: the last three tokens, full blocks, and the block that is not full."""
    way = next(one for one in WAYS.values() if one.code == variant)
    strip = component(seen(PAGE, **LINK, variant=variant).at, "growing")["strip"]
    lines = {line["kind"]: line for line in strip["lines"]}
    after, block = range(17, 49), {"csa": 2, "hca": 4}.get(variant, 0)
    if block:
        ahead = block if variant == "csa" else 0  # the last full block enters the next entry, too
        assert [tuple(s) for s in lines["window"]["spans"]] == [(n - 3, n) for n in after]
        full = [n // block * block for n in after]
        assert [tuple(s) for s in lines["entries"]["spans"]] == [(0, end) for end in full]
        waits = [(end - ahead, n) for end, n in zip(full, after, strict=True)]
        assert [tuple(s) for s in lines["waiting"]["spans"]] == waits
        assert (lines["entries"]["block"], lines["window"]["block"]) == (block, 0)
    else:
        assert [tuple(s) for s in lines["state"]["spans"]] == [(0, n) for n in after]
        assert [tuple(s) for s in lines["tails"]["spans"]] == [(n - 3, n) for n in after]
        assert set(lines["state"]["held"]) == {tied_size(4 * 6 * 8 * 10)}
    assert strip["most"] == 48
    for n in after:
        kept = costs.kept_parts(way.config, n, 4)
        assert sum(part.n_bytes for part in kept) == way.held_bytes(n)


def test_the_strip_of_blocks_has_latents_at_once_and_index_keys_block_by_block(seen):
    at = seen(PAGE, **LINK, variant="block_dsa").at
    picture = component(at, "growing")
    strip, latents, keys = picture["strip"], tied_size(4 * 19 * 20), tied_size(4 * 9 * 8)
    waiting = tied_size(4 * 2 * 8)
    parts = f"Of Block DSA: latents: {latents}; index keys: {keys}; waiting: {waiting}."
    assert picture["told"][2].endswith(parts)
    lines = {line["name"]: line for line in strip["lines"]}
    after = range(17, 49)
    assert [tuple(s) for s in lines["latents"]["spans"]] == [(0, n) for n in after]
    full = [n // 2 * 2 for n in after]
    assert [tuple(s) for s in lines["index keys"]["spans"]] == [(0, end) for end in full]
    waits = [(end, n) if n > end else (n, n) for end, n in zip(full, after, strict=True)]
    assert [tuple(s) for s in lines["waiting"]["spans"]] == waits
    assert [line["block"] for line in lines.values()] == [1, 2, 0]
    assert lines["latents"]["held"] == [tied_size(4 * n * 20) for n in after]
    assert lines["index keys"]["held"] == [tied_size(4 * (n // 2) * 8) for n in after]
    assert lines["waiting"]["held"] == [tied_size(4 * (n % 2) * 2 * 8) for n in after]
    each, of_mla = tied_size((20 + 8 / 2) * 4), tied_size(24 * 4)
    said = f"a token adds **{each}** on average, its latent and its share of a block's index key"
    more = f"MLA {of_mla}, {times(24 / (20 + 8 / 2))} as much."
    assert any(said in one and one.endswith(more) for one in prose(at))


@pytest.mark.parametrize(("step", "own"), [(3, 0), (4, 1)])
def test_over_blocks_the_title_tells_which_latents_a_step_reads(seen, step, own):
    """A step that does not fill its block reads the token before it there, too."""
    context = PROMPT + step - 1
    fills = (context + 1) % 2 == 0
    waiting = 2 * 8 * fills  # of the token whose block it fills
    read = 4 * (context // 2 * 8 + (4 + own * (not fills)) * 20 + waiting)
    at = seen(PAGE, **LINK | {"dec_step": str(step)}, variant="block_dsa").at
    table = at.main.table[0].value
    assert lead(at)[0] == tied_size(read) == table.loc["Block DSA, absorbed", "Read"]
    every = 4 * context * (20 + 4)
    assert statement(at).startswith(
        f"Small sizes of our own, sizes changed: after {context} tokens a step reads the latents "
        f"of 2 chosen blocks of 2 tokens and of its own, and an index key a block, "
        f"{tied_size(read)} per layer in float32, MLA {tied_size(every)}; "
        f"{times(every / read)} as much"
    )


def test_glm_5_3_flash_reads_less_only_from_where_its_choice_begins(unrun, opened):
    at = opened(PAGE, preset="glm-5.3-flash", dec_heads="1")
    context = 8 + 4 - 1

    def reads(before):
        own = before % 4 if (before + 1) % 4 else 0
        waits = 2 * (before % 4) * 128 * ((before + 1) % 4 == 0)
        return min(before, 2048 + own) * 512 + before // 4 * 128 + waits

    turn = 1 + next(n for n in range(2**13, 0, -1) if reads(n) >= 512 * n)
    said = statement(at)
    amounts = {"dsa": tied_size(4 * reads(context)), "mla": tied_size(4 * context * 512)}
    assert says(said, "decode.line_indexed", tokens=context, **amounts)
    assert says(said, "decode.reads_all_blocks", topk="2,048", pools=4)
    assert says(said, "decode.reads_more", name="Block DSA", turn=f"{turn:,}")
    tokens, layers = 1_048_576, 11
    read, every = (2 * layers * n for n in (reads(tokens), 512 * tokens))
    length = next(one for one in prose(at) if "At the full length" in one)
    assert says(length, "decode.at_length_blocks", tokens=f"{tokens:,}", layers=layers)
    assert says(length, "decode.at_length_blocks", dsa=tied_size(read), topk="2,048")
    assert f"read **{tied_size(every)}**, {times(every / read)} as much" in length


def test_the_lead_of_entries_and_of_a_state_is_what_their_caches_hold(seen):
    name, mla = "Small sizes of our own, sizes changed", tied_size(19 * 4 * 24)
    csa = tied_size(WAYS["CSA, chosen entries"].held_bytes(19))
    at = seen(PAGE, **LINK, variant="csa").at
    assert lead(at)[0] == csa == at.main.table[0].value.loc["CSA, chosen entries", "Held"]
    assert says(
        statement(at),
        "decode.line_pooled",
        model=name,
        tokens="19",
        name="CSA",
        held=csa,
        block="2",
        entries="9",
        window="3",
        mla=mla,
    )
    each, of_mla = tied_size((20 + 8) * 4 / 2), tied_size(24 * 4)
    said = f"a token adds **{each}** on average, with MLA {of_mla}, "
    said += f"{times(24 / 14)} as much."
    assert any(said in one for one in prose(at))
    at = seen(PAGE, **LINK, variant="kda").at
    state = 4 * 948
    turn = next(n for n in range(1, 1000) if n * 4 * 24 > state)
    assert says(
        statement(at),
        "decode.line_delta",
        model=name,
        tokens="19",
        name="KDA",
        held=tied_size(state),
        mla=mla,
        turn=turn,
    )
    assert any(f"to the fixed **{tied_size(state)}**" in said for said in prose(at))


def test_ways_whose_weights_take_too_long_are_counted_and_said_not_to_run(opened):
    at = opened(PAGE, preset="llama-3.1-405b", variant="csa", dec_heads="1")
    table = at.main.table[0].value
    assert table.loc["CSA, chosen entries", "Held"] == tied_size(
        4 * (12 * 512 + 3 * 640 + 2 * 4 * 640)  # 12 of the window, 3 entries, a block for the next
    )
    assert list(table.loc["CSA, chosen entries"][3:]) == ["—", "—"]
    assert list(table["Measured"]).count("—") == 4
    said = "long: CSA, chosen entries; HCA, all entries; KDA, one state; Block DSA, absorbed."
    assert any(said in one for one in of_page(at, "caption"))


def test_the_table_and_its_file_hold_what_is_counted_and_measured(shown):
    table = shown.at.main.table[0].value
    assert list(table.columns) == ["Held", "Read", "Multiply-adds", "Measured", "Distance"]
    assert list(table.index) == list(WAYS)
    file = csv(shown.files["decode_step.csv"])
    for row, (name, way) in enumerate(WAYS.items()):
        held = way.held_bytes(19)
        assert list(table.loc[name]) == [
            tied_size(held), tied_size(way.read_bytes), prefixed(way.multiply_adds),
            clock(TAKEN[row]), digits(OFF[row], 1),
        ]  # fmt: skip
        assert dict(file.iloc[row]) == {
            "way": way.code, "prompt_tokens": 16, "step": 3, "heads": 6, "held_bytes": held,
            "read_bytes": way.read_bytes, "multiply_adds": way.multiply_adds, "heads_run": 4,
            "measured_seconds": TAKEN[row],
            "difference_from_whole_sequence": OFF[row],
        }  # fmt: skip
    assert len(file) == len(WAYS)


def test_what_is_timed_and_compared_are_these_layers_in_their_forms(shown):
    words = tuple(str(n) for n in range(PROMPT + 32))
    h = torch.from_numpy(hidden_states(words, SEED, 48))[None, : CONTEXT + 1]
    assert len(shown.compared) == len(WAYS)
    assert shown.stepped == [(way.form, way.cache, CONTEXT) for way in WAYS.values()]
    for way, (step, whole) in zip(WAYS.values(), shown.compared, strict=True):
        kind = LAYERS[type(way.config)]
        with torch.inference_mode():
            u = kind(way.config, seed=SEED, heads=range(HEADS))(h).u[:, -1:].numpy()
        np.testing.assert_allclose(step, u, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(whole, u, rtol=1e-4, atol=1e-6)


def test_the_sentences_say_what_is_counted_and_that_all_forms_agree(shown):
    _noise, counted = of_page(shown.at, "caption")
    assert says(counted, "decode.counted", all="6")
    assert "with 4 of the heads on this machine's CPU (1 thread, float32)" in counted
    _look, step, agreement, expand, compared, *rest = prose(shown.at)
    assert says(step, "decode.of_step", step="3")
    assert says(agreement, "decode.agreement", worst="5e-07", others="6e-07")
    wins = costs.expanding_wins(LATENT, CONTEXT)
    assert says(expand, "decode.expand", queries=wins, tokens=CONTEXT)
    given = {"dtype_bytes": 4, "heads": range(HEADS)}
    for name in ("MLA, absorbed", "MHA"):
        way = WAYS[name]
        run = costs.decode(way.config, CONTEXT, way.form, cache=way.cache, **given)
        assert f"takes {prefixed(run.total_flops / 2)}" in compared
        assert f"moves {tied_size(run.total_bytes)}" in compared
    assert says(compared, "measure.compared", heads=f"{HEADS} heads", tokens=CONTEXT)
    assert not any(rest), "nothing of a real model or an assumed latent"


def test_the_page_opens_on_a_step_of_v2_lite_run_with_some_heads(opened):
    at = opened(PAGE, preset="deepseek-v2-lite")
    assert statement(at).startswith("DeepSeek-V2-Lite (16B): after 12 tokens MLA holds")
    cells = at.main.table[0].value
    assert all(cell.endswith("s") for cell in cells.iloc[:, 3])
    assert all(float(cell) < 1e-5 for cell in cells.iloc[:, 4])
    config = GroupedConfig(d_model=2048, n_heads=16, n_kv_heads=16, d_head=128)
    assert costs.parameters(config, range(4)) <= 5 * 2**20 < costs.parameters(config, range(8))
    assert says(of_page(at, "caption")[1], "decode.counted", all="16")
    assert says(of_page(at, "caption")[1], "decode.counted", heads="4")
    assert at.query_params == {"preset": "deepseek-v2-lite"}


# The controls


def test_a_clicker_moves_the_step_as_far_as_there_are_steps(unrun, opened):
    at = opened(PAGE, **SMALL, dec_step="31", dec_prompt="4")
    for place, step in (("31", 32), ("32", 32), ("30", 31)):
        wish(at, place)
        assert at.query_params["dec_step"] == str(step)
    assert "after 35 tokens" in statement(at)


@pytest.mark.parametrize(("speed", "seconds"), SPEEDS.items())
def test_the_speed_says_how_often_a_step_comes(unrun, opened, speed, seconds):
    at = opened(PAGE, **SMALL, dec_speed=speed)
    assert component(at, "growing")["seconds"] == seconds
    assert control(at, "dec_speed").options == list(SPEEDS)
    assert control(at, "dec_prompt").options == [f"{2**n:,}" for n in range(11)]
    assert control(at, "dec_heads").options == ["as many as run in a moment", "1", "2", "4"]


# Cancelled, refused, waiting


def test_a_cancelled_step_waits_for_the_reader(opened, monkeypatch):
    drawn, draw = {}, DeltaGenerator.button

    def noting(place: DeltaGenerator, label: str, *args: object, **options: object) -> bool:
        drawn[label] = options.get("args")
        return draw(place, label, *args, **options)

    monkeypatch.setattr(DeltaGenerator, "button", noting)
    at = opened(PAGE, **SMALL)
    (at.session_state.dec_cancelled,) = drawn["Cancel"]  # what a click does meanwhile
    at.run()
    assert set(at.main.table[0].value.iloc[:, 3:].to_numpy().ravel()) == {"…"}
    assert button(at, "dec_run").label == "Run this step"
    at.session_state.settings["dec_step"] = 5
    at.run()
    assert not has_button(at, "dec_run"), "another step runs"
    at.session_state.settings["dec_step"] = 4
    at.run()
    button(at, "dec_run").click().run()
    assert at.main.table[0].value.iloc[0, 3].endswith("s")


def test_a_run_beyond_the_budget_is_refused_and_the_rest_lives(unrun, opened):
    at = opened(PAGE, **SMALL, seed="9")
    assert says(at.error[0].value, "common.too_large")
    assert at.main.table[0].value.iloc[0, 3] == "…"
    assert component(at, "growing")["at"] == [3]


# The runner


@pytest.mark.parametrize(
    ("cache", "form"), [("kv", "expanded"), ("latent", "expanded"), ("latent", "absorbed")]
)
def test_a_runner_does_what_decoding_by_hand_does(outputs, cache, form):
    config = replace(LATENT, d_value=12)
    words = tuple(str(n) for n in range(70 + run.ROOM))
    runner = run.Runner(Way(config, form, cache), 6, 70, words, Drawn(3))
    assert runner.pieces_to(3) == 3  # 64 and 8 tokens before the step, and the step
    storage = runner.cache.storage
    for step in (3, 2, 5):  # on, back and on again
        while runner.pieces_to(step):
            runner.advance(step)
    assert runner.cache.storage is storage, "going back must not copy the cache"
    found = dict(zip((3, 2, 5), outputs, strict=True))
    h = torch.from_numpy(hidden_states(words, 3, 48))[None]
    mla = MultiHeadLatentAttention(config, seed=3)
    _, held = mla.decode(h[:, :71], LatentCache.empty(config))
    for step in (2, 3, 4, 5):
        trace, held = mla.decode(h[:, held.length : held.length + 1], held)
        if step not in found:
            continue
        by_hand = trace.u[0, 0].numpy()
        np.testing.assert_allclose(found[step], by_hand, rtol=1e-4, atol=1e-6)
        assert runner.steps[step].difference < 1e-5
    kept = 20 + 4 if cache == "latent" else 6 * (8 + 4 + 12)
    assert runner.cache.nbytes == 75 * kept * 4
    assert all(step.seconds > 0 for step in runner.steps.values())


@pytest.mark.parametrize(
    ("config", "cache", "form", "layer", "empty"),
    [
        (CSA, "pooled", "pooled", PooledAttention, PooledCache),
        (KDA, "delta", "recurrent", DeltaAttention, DeltaCache),
    ],
)
def test_a_cache_that_cannot_go_back_begins_at_the_first_token(
    outputs, config, cache, form, layer, empty
):
    words = tuple(str(n) for n in range(70 + run.ROOM))
    runner = run.Runner(Way(config, form, cache), 6, 70, words, Drawn(3))
    h = torch.from_numpy(hidden_states(words, 3, 48))[None]
    by_hand, held, expected = layer(config, seed=3), empty.empty(config), {}
    _, held = by_hand.decode(h[:, :70], held)
    for n in range(70, 75):
        trace, held = by_hand.decode(h[:, n : n + 1], held)
        expected[n] = trace.u[0, 0].detach().numpy()
    for step in (3, 2, 5, 3):
        pieces = runner.pieces_to(step)
        for _ in range(pieces):
            runner.advance(step)
        assert not runner.pieces_to(step)
    for step, found in zip((3, 2, 5), outputs, strict=True):
        np.testing.assert_allclose(found, expected[70 + step - 1], rtol=1e-4, atol=1e-6)
        assert runner.steps[step].difference < 1e-5


def test_a_step_that_is_kept_is_not_run_again(opened, monkeypatch):
    opened(PAGE, **SMALL, dec_step="6")
    monkeypatch.setattr(run.Runner, "advance", lambda self, step: pytest.fail("run again"))
    opened(PAGE, **SMALL, dec_step="6")


# Other models


def test_a_grouped_model_says_that_its_latent_is_assumed(unrun, opened):
    at = opened(PAGE, preset="llama-3-8b", dec_heads="1")
    assert says(prose(at), "ways.assumed", latent=512, rope=64)
    assert at.main.table[0].value.loc["GQA, g = 8"].iloc[0] == tied_size(12 * 2 * 8 * 128 * 4)
    assert PRESETS["llama-3-8b"].config.n_kv_heads == 8


def test_a_real_layer_is_named_with_what_its_weights_serve(real, demo):
    at = real("decode", dec_prompt="4", dec_step="2")
    named = f"{demo}, layer {CHECKPOINT} (random demonstration weights)"
    assert [html.unescape(m) for m in prose(at) if "With the weights" in m] == [
        f"With the weights of {named}: MLA, absorbed; MLA, expanded each step; MLA, full K and V. "
        "With seeded weights of the same sizes: MHA; GQA, g = 8; MQA; DSA, absorbed; "
        "CSA, chosen entries; HCA, all entries; KDA, one state; Block "
        "DSA, absorbed. All of them "
        "read the same real inputs of this layer, one token after another."
    ]
    tokens = len(checkpoints.hidden_states(checkpoints.open_checkpoint(demo), REAL_TEXT, 1).tokens)
    assert component(at, "growing")["dials"][0]["count"] == tokens - 4
    lengths = [2**n for n in range(11) if 2**n < tokens]
    assert control(at, "dec_prompt").options == [str(n) for n in lengths]
    assert "after 6 tokens" in statement(at)


def test_the_headline_of_a_real_grouped_layer_is_what_its_own_cache_holds(real, llama):
    """Beside the model's own cache in transformers after the same tokens."""
    at = real("decode", source=llama, dec_prompt="4", dec_step="2")
    cache = AutoModelForCausalLM.from_pretrained(llama)(torch.arange(6)[None]).past_key_values
    held = tied_size(cache.layers[CHECKPOINT].keys.nbytes + cache.layers[CHECKPOINT].values.nbytes)
    mla = tied_size(4 * 6 * (4 * 16 + 8))
    values = {"model": "llama", "name": "GQA", "tokens": 6, "heads": 2, "all": 8, "mla": mla}
    assert says(statement(at), "decode.line_in_full", **values)
    assert lead(at)[0] == held == at.main.table[0].value.loc["GQA, g = 2", "Held"]


def test_one_token_leaves_no_step(real, demo):
    file = Path(demo).parent / "one.safetensors"
    save_file({"h": torch.ones(1, 256)}, file, {"tokens": '["a"]'})
    at = real("decode", activations=str(file))
    assert statement(at) == ""
    assert says(at.error[0].value, "decode.too_short")
    assert not at.get("bidi_component") or "growing" not in {
        one.proto.component_name for one in at.get("bidi_component")
    }, "there is nothing to move"


HOSTILE = "<b>*x*_y_`$1$`|~[z](a)#&amp;"


def test_a_name_stays_text(real, demo):
    folder = Path(demo).parent / HOSTILE
    shutil.copytree(demo, folder, dirs_exist_ok=True)
    at = real("decode", source=str(folder), dec_prompt="4", dec_step="2")
    title = statement(at)
    assert says(html.unescape(title), "decode.line", model=HOSTILE, tokens="6")
    whose = next(m for m in prose(at) if "With the weights" in m)
    assert f"{HOSTILE}, layer 1" in html.unescape(whose)
    for text in (title, whose):
        assert not set("<*_`$|~[") & set(text)
    shutil.rmtree(folder)
