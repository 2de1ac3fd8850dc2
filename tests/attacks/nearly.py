"""Files that are nearly right: valid ones of which some parts are exchanged, left out or added.

A property holds if the code answers, or refuses in one sentence, and takes a bounded memory.
"""

import json
import tracemalloc
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from kvcount.refusals import RefusedError, sentence
from tests.sampling import ALL

LONGEST_SENTENCE = 4_000  # characters of what a visitor is told
MIB = 2**20


def fuzz(examples):
    """Try a property with so many examples, however slow they are."""
    return settings(max_examples=examples, suppress_health_check=list(HealthCheck))


def outcome(call, *given):
    """Return the result of `call`, or its refusal; any other error goes through and is a fault."""
    try:
        return call(*given)
    except RefusedError as error:
        refused = error
    for language in ("en", "zh"):
        assert 0 < len(sentence(refused, language)) < LONGEST_SENTENCE
    return refused


def outcome_within(mebibytes, call, *given):
    """The outcome, for which Python may allocate no more than this.

    In test-all the process may hold no more for it, either. Pages of its libraries, which the
    system had taken away, come back once; what a call really holds it holds each time.
    """
    tracemalloc.start()
    try:
        found = outcome(call, *given)
        _, allocated = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert allocated < mebibytes * MIB, f"{allocated / MIB:.0f} MiB allocated"
    if ALL:
        assert any(_held(call, *given) < mebibytes * MIB for _ in range(3))
    return found


def _held(call, *given):
    """Return the bytes that the process holds for a call beyond what it held before."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak
    before = _status("VmRSS")
    outcome(call, *given)
    return _status("VmHWM") - before


def _status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) * 1024


numbers = st.one_of(
    st.integers(-2, 70),
    st.sampled_from([2**31, 2**53 + 1, 2**63, -(2**63), 10**30, 10**400, 1 << 20, 4097]),
    st.floats(),
    st.sampled_from([1e-300, 1e308, 0.5, 1e-31, float("nan"), float("inf")]),
)
odd_texts = st.sampled_from(
    ["", "x" * 3000, "../../etc/passwd", "/dev/zero", "a\0b", "{0}", "\u202e", "F32", "yarn"]
)
leaves = st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=20), odd_texts)
junk = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
deep = st.sampled_from([50, 900, 100_000]).map(lambda n: "[" * n + "]" * n)


@st.composite
def mutated(draw, valid, most=4):
    """A copy of a JSON value of which up to `most` parts have changed."""
    value = json.loads(json.dumps(valid))
    for _ in range(draw(st.integers(1, most))):
        _change(draw, value)
    return value


def _change(draw, value):
    """Walk down to some part of a list or dict, and exchange it, leave it out or add one."""
    while isinstance(value, dict | list) and value:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = draw(st.sampled_from(keys))
        if isinstance(value[key], dict | list) and value[key] and draw(st.integers(0, 3)):
            value = value[key]
            continue
        match draw(st.sampled_from(["near", "junk", "gone", "swap", "more"])):
            case "near":
                value[key] = draw(near(value[key]))
            case "junk":
                value[key] = draw(junk)
            case "gone":
                del value[key]
            case "swap":
                value[key] = value[draw(st.sampled_from(keys))]
            case "more" if isinstance(value, dict):
                value[draw(st.text(max_size=8) | odd_texts)] = value[key]
            case "more":
                value.append(value[key])
        return


def near(value):
    """Values of another type or size that look like this one."""
    wrapped = [[value], {"a": value}, str(value), None, True]
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e290:
        return st.sampled_from([*wrapped, False, 0, 1])
    around = [-value, value + 1, value - 1, 0, value * 2, value * 10**9, value / 2, 1.0 * value]
    return st.sampled_from([*wrapped, *around])


def texts_of(values):
    """The values as JSON text, sometimes cut, nested beyond reason, or with a byte exchanged."""
    return st.builds(_as_text, values, st.integers(0, 9), st.floats(0, 1), st.binary(max_size=3))


def _as_text(value, kind, place, bytes_there):
    text = json.dumps(value).encode("utf-8", "surrogatepass")
    at = int(place * len(text))
    if kind == 0:
        return text[:at]
    if kind == 1:
        return text[:at] + bytes_there + text[at + 1 :]
    return text
