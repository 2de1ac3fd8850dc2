"""Every chart of every page: a variant looks the same on all, and nothing else looks like it.

What is expected is written down here once more, and read from what is sent to the browser.
"""

import re
from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.screen import charts

LOOKS = {  # what a series is called -> colour, dash, mark
    r"MHA( ★|, these heads|, cut by weights| \d+)?": ("#776600", "dash", "square"),
    r"GQA, g = \d+( ★)?( by seq\.)?": ("#339999", "dashdot", "diamond"),
    r"MQA": ("#BB8866", "dot", "triangle-up"),
    r"MLA, full K and V|MLA in full": ("#AA4466", "longdash", "cross"),
    r"MLA, expanded( each step)?|naive, against float64": ("#AA77FF", "longdashdot", "x"),
    r"MLA( ★| \d+)?( by seq\.)?|MLA, (assumed|absorbed|its latent cut|trained with \d+)"
    r"|absorbed, against float64|absorbed attention alone": ("#8844BB", "solid", "circle"),
}
VARIANTS = {colour for colour, *_ in LOOKS.values()}
PAGES = {
    "overview": {},
    "worked_example": {},
    "rope": {},
    "rope yarn": {"rope_topic": "yarn"},
    "absorption": {},
    "attention_maps": {},
    "compression": {},
    "real_models": {},
    "kv_cache": {},
    "kv_cache memory": {"kv_view": "memory"},
    "kv_cache layouts": {"kv_view": "layouts"},
    "kv_cache parallel": {"kv_view": "parallel"},
    "kv_cache formula": {"kv_view": "formula"},
    "kv_cache own": {"kv_left": "llama-3-8b", "kv_groups": "2"},
    "decode": {},
    "compute": {},
    "compute prefill": {"cost_phase": "prefill"},
    "compare": {"vs_view": "costs"},
    "quiz": {"quiz_answers": "0"},
    "notation": {},
    "claims": {},
}
HOLD_VARIANTS = {"kv_cache": 4, "kv_cache parallel": 4, "compute": 6, "absorption": 2}


def coloured(trace: dict) -> Iterator[str]:
    """The colours of a series, lines and marks."""
    for part in ("line", "marker"):
        colour = trace.get(part, {}).get("color")
        yield from [colour] if isinstance(colour, str) else colour or []


def expected(name: str) -> tuple[str, str, str] | None:
    """How the series of this name is to look, if it is a variant's."""
    plain = name.removesuffix(", measured")
    return next((look for pattern, look in LOOKS.items() if re.fullmatch(pattern, plain)), None)


@pytest.mark.parametrize("state", PAGES)
def test_variants_alone_have_their_looks(opened: Callable[..., AppTest], state: str) -> None:
    found = set()
    at = opened(f"pages/{state.split()[0]}.py" if state != "overview" else "app.py", **PAGES[state])
    for chart in charts(at):
        for trace in chart.traces:
            name, look = trace.get("name", ""), expected(trace.get("name", ""))
            if state == "compare" and name in ("A", "B"):  # named by side
                look = {"A": expected("MLA, absorbed"), "B": expected("MHA")}[name]
            if look is None:
                assert not VARIANTS & set(coloured(trace)), name
                continue
            colour, dash, mark = look
            assert set(coloured(trace)) == {colour}, name
            if "lines" in trace.get("mode", ""):
                assert trace["line"]["dash"] == dash, name
            if "markers" in trace.get("mode", ""):
                assert trace["marker"]["symbol"].removesuffix("-open") == mark, name
            found.add(look)
    assert len(found) >= HOLD_VARIANTS.get(state, 0)
