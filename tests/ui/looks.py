"""Check the colour, dash and mark of a variant on every chart of every page.

What is expected is written down here once more, and read from what is sent to the browser.
"""

import re
from collections.abc import Iterator

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


def coloured(trace: dict) -> Iterator[str]:
    """Return the colours of a series, lines and marks."""
    for part in ("line", "marker"):
        colour = trace.get(part, {}).get("color")
        yield from [colour] if isinstance(colour, str) else colour or []


def expected(name: str) -> tuple[str, str, str] | None:
    """Return the expected look of a series of this name, or None if it is no variant's."""
    plain = name.removesuffix(", measured")
    return next((look for pattern, look in LOOKS.items() if re.fullmatch(pattern, plain)), None)


def variants_that_look_so(at: AppTest, sides: tuple[str, str]) -> int:
    """Return how many variants the charts show, each with its own look that nothing else has.

    `sides` are those that a comparison calls A and B.
    """
    found = set()
    for chart in charts(at):
        for trace in chart.traces:
            name = trace.get("name", "")
            look = expected(dict(zip("AB", sides, strict=True)).get(name, name))
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
    return len(found)
