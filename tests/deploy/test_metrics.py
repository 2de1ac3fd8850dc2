"""Metrics count rightly, are read by Prometheus' own parser, and name nobody."""

from collections import Counter
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.attacks.client import Session
from tests.attacks.server import ROOT, resident_bytes, wait_until

KINDS = {"page", "ended", "le"}


def samples(app):
    """Name and labels -> value."""
    status, headers, body = app.get("/metrics")
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain; version=")
    families = text_string_to_metric_families(body.decode())
    return {
        (one.name, *sorted(one.labels.items())): one.value
        for family in families
        for one in family.samples
    }


def runs(app, page):
    """Return how many runs of a page have ended well."""
    key = ("mla_rerun_seconds_count", ("ended", "done"), ("page", page))
    return samples(app).get(key, 0)


def test_visitors_and_runs_are_counted(two):
    app = two.app(two.ports[0])
    before = runs(app, "rope"), runs(app, "overview")
    visitors = samples(app)["mla_visitors",]
    with Session(app.url) as one, Session(app.url) as other:
        seen = one.open("rope", "rope_head=3")
        one.touch(seen.widget("number_input", "Head,"), double_value=4)
        other.open("")
        now = samples(app)
        assert now["mla_visitors",] == visitors + 2
        assert (runs(app, "rope"), runs(app, "overview")) == (before[0] + 2, before[1] + 1)
        le = {dict(key[1:]).get("le"): value for key, value in now.items()
              if key[0] == "mla_rerun_seconds_bucket" and ("page", "rope") in key
              and ("ended", "done") in key}  # fmt: skip
        assert le["+Inf"] == runs(app, "rope")
        assert sorted(le.values()) == [le[k] for k in sorted(le, key=float)]
    wait_until(lambda: samples(app)["mla_visitors",] == visitors, "both have left")


def test_the_cache_counts_what_it_finds_and_what_it_makes(two):
    app = two.app(two.ports[1])
    with Session(app.url) as first, Session(app.url) as second:
        before = samples(app)
        first.open("attention_maps", "seed=20261123&n_heads=4")
        made = samples(app)
        second.open("attention_maps", "seed=20261123&n_heads=4")
        found = samples(app)
    hits, misses = ("mla_cache_hits_total",), ("mla_cache_misses_total",)
    assert made[misses] > before[misses]
    assert found[misses] == made[misses]
    assert found[hits] > made[hits]
    assert 0 < found["mla_cache_bytes",] <= found["mla_cache_limit_bytes",]


def test_the_budget_of_the_cache_and_the_places_are_those_of_the_machine(two):
    limits = [samples(two.app(port))["mla_cache_limit_bytes",] for port in two.ports]
    assert limits == [2**29] * 2  # of the one GiB that is stated


def test_memory_and_descriptors_are_those_that_the_system_tells(two):
    port = two.ports[0]
    pid, said = two.pid(port), samples(two.app(port))
    resident = said["process_resident_memory_bytes",]
    assert abs(resident - resident_bytes(pid)) < resident / 4  # both grow and shrink meanwhile
    limits = Path(f"/proc/{pid}/limits").read_text()
    soft = next(line for line in limits.splitlines() if line.startswith("Max open files")).split()[
        3
    ]
    assert said["process_max_fds",] == int(soft)


def test_labels_are_pages_and_no_more_than_there_are(two):
    app = two.app(two.ports[0])
    with Session(app.url) as visitor:
        visitor.open("no-such-page", "secret=1")
    said = samples(app)
    labels = Counter(name for key in said for name, _ in key[1:])
    assert set(labels) <= KINDS
    pages = {dict(key[1:]).get("page") for key in said} - {None}
    assert pages <= {path.stem for path in (ROOT / "pages").glob("*.py")} | {"overview"}
    assert "secret" not in str(said)
