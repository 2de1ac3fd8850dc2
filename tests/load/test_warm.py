"""A server that is to be warm has run every page before it says that it is well."""

from benchmarks.load.same_picture import COMPUTED, COUNTED
from tests.attacks.client import Session
from tests.attacks.server import copied, running
from ui.frame.pages import PAGES


def test_the_first_visitor_of_a_warm_server_computes_nothing(tmp_path):
    begins = "    with waits.drawing_turn(page), _observed(page):"
    noted = f'    print("opens", page.name, flush=True)\n{begins}'
    root = copied(tmp_path, COUNTED | {"ui/frame/page.py": (begins, noted)})
    with running({"MLA_WARM": "1"}, root=root, folder=root) as app:
        before = app.log
        assert [line[6:] for line in before.splitlines() if line.startswith("opens ")] == [
            *PAGES,
            "overview",  # as the server is proved
        ]
        assert COMPUTED in before
        with Session(app.url) as visitor:
            assert visitor.open("attention_maps").charts
        assert app.log.count(COMPUTED) == before.count(COMPUTED)
        assert "Traceback" not in app.log
