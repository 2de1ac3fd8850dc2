"""Where in the app a statement can be seen: a page and the state it opens with."""

from collections.abc import Mapping

from mla_engine import worked_example
from ui.engine import model
from ui.settings import state
from ui.settings.parsers import SMALL
from ui.settings.rooms import PAGES
from ui.words.text import t

Place = tuple[str, Mapping[str, object]]  # page, its settings


def sizes(preset: str, variant: str = "mla") -> dict[str, object]:
    """The shared settings that stand for a preset."""
    return {"preset": preset, "variant": variant} | model.sizes_of(preset)


def example(variant: str, key: str, *, completed: bool = False) -> Place:
    """A step of the worked example, by its name."""
    steps = worked_example.steps(f"{variant}_completed" if completed else variant)
    number = 1 + [step.key for step in steps].index(key)
    values = {"we_variant": variant, "we_completed": completed, "we_step": number}
    return "worked_example", values


# of each statement the places that show it, the best first: a page may not be there, and
# nothing shows a statement on quality or on other bases
PLACES: Mapping[str, tuple[Place, ...]] = {
    "N1": (example("mha", "q"),),
    "N2": (("overview", sizes("deepseek-v2-lite")),),
    "N3": (
        ("rope", {"rope_topic": "merged"}),
        ("attention_maps", sizes(SMALL) | {"map_tensor": "q_R"}),
    ),
    "N4": (("decode", {}), ("overview", sizes("deepseek-v3"))),
    "N5": (("absorption", {}), ("overview", sizes("deepseek-v2-lite", "mla_absorbed"))),
    "N6": (
        ("absorption", {"ab_side": "output"}),
        ("overview", sizes("deepseek-v2-lite", "mla_absorbed")),
    ),
    "T1": (("overview", sizes("deepseek-v3")),),
    "T2": (("overview", sizes("deepseek-v3", "mla_absorbed")),),
    "T3": (("overview", sizes("deepseek-v3", "mla_absorbed")),),
    "T4": (("kv_cache", {"kv_left": "deepseek-v2-lite", "kv_right": "deepseek-v3"}),),
    "T5": (("compute", sizes("deepseek-v3")),),
    "T6": (),
    "T7": (
        ("rope", {"rope_topic": "turning"}),
        ("attention_maps", sizes(SMALL) | {"map_tensor": "k_R"}),
    ),
    "T8": (),
    "T9": (("absorption", {}), ("overview", sizes("deepseek-v2-lite", "mla_absorbed"))),
    "S1": (("attention_maps", sizes(SMALL, "mha")),),
    "S2": (("kv_cache", {"kv_left": "llama-3-8b"}),),
    "S3": (("attention_maps", sizes(SMALL, "gqa")),),
    "S4": (example("mha", "v"),),
    "S5": (("absorption", {}),),
    "S6": (("rope", {"rope_topic": "turning"}),),
    "S7": (("overview", sizes("deepseek-v3")),),
    "S8": (("kv_cache", {"kv_left": "deepseek-v2-lite", "kv_right": "deepseek-v2"}),),
    "S9": (("overview", sizes("deepseek-v3", "mla_absorbed")),),
    "P1": (("kv_cache", {}),),
    "P2": (("kv_cache", {}),),
    "P3": (
        ("rope", {"rope_topic": "scale"}),
        ("attention_maps", sizes(SMALL) | {"map_tensor": "scores_C"}),
    ),
    "P4": (("absorption", {}),),
    "P5": (("absorption", {"ab_side": "output"}),),
    "P6": (("overview", sizes("deepseek-v3")),),
    "P7": (("absorption", sizes("deepseek-v3")),),
    "C1": (("kv_cache", {"kv_left": "deepseek-v2"}),),
    "C2": (("absorption", {}),),
    "C3": (("compute", sizes("deepseek-v3") | {"cost_phase": "prefill"}),),
    "C4": (("overview", sizes("deepseek-v3")),),
    "C5": (("compression", sizes("deepseek-v3")),),
    "C6": (("absorption", {}),),
    "C7": (("kv_cache", {"kv_left": "deepseek-v2"}),),
    "C8": (("compression", sizes("deepseek-v3")),),
    "C9": (("overview", sizes("deepseek-v3")),),
    "C10": (example("mla", "k_R"),),
    "C11": (example("mla", "c_KV"),),
    "C12": (example("mha", "q"),),
    "C13": (example("mla", "cache_ratio"),),
    "C14": (example("mla", "attention", completed=True),),
    "C15": (example("mla", "u"),),
}


def place(claim: str) -> Place | None:
    """The best place of a statement whose page is there."""
    return next((found for found in PLACES[claim] if found[0] in PAGES), None)


def name(target: Place) -> str:
    """The name of a place's page, as the navigation has it."""
    return t(f"{target[0]}.link")


def follow(target: Place) -> None:
    """Open a place, for callbacks of buttons; the language stays."""
    where, values = target
    state.go(where, lang=state.settings()["lang"], **values)
