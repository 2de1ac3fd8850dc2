"""The settings of the planner, and the view that they choose: a model on GPUs, or one of two."""

import html
from dataclasses import dataclass, replace
from functools import cached_property

from kvcount import MODELS, Placing, Plan, UncountedError, storage
from kvcount.devices import GPUS, Device
from kvcount.drawn import drawn
from kvcount.models import named
from kvcount.planning.flops import latent_widths
from kvcount.planning.pipeline import parted, refuse_mtp
from kvcount.planning.planner import OVERHEAD
from kvcount.sources import Found, of_published
from ui.parts import given
from ui.settings.parsers import Setting, flag, number, one_of, power_of_two, type_of, words
from ui.settings.sizes import KV_TYPES, LENGTHS
from ui.settings.state import settings
from ui.words.text import safe, t

SIZED = tuple(key for key, one in MODELS.items() if one.parameters)
WEIGHTS = {"bf16": 2, "fp8": 1, "fp4": 0.5}  # bytes of a parameter
NONE, FIRST = "none", "deepseek-v3"
GIB, BILLION = 2**30, 10**9
MOST_BILLIONS, MOST_GIB = 1e5, 64.0
RANKS = tuple(2**n for n in range(7))
PASTED = "plan_config"


def _model(default: str, *keys: str) -> Setting:
    return Setting(default, one_of(*keys), "selectbox", write=_name)


def _name(key: str) -> str:
    return t("planner.no_other") if key == NONE else MODELS[key].name


def _ranks(default: int, label: str = "", *, recorded: bool | None = None) -> Setting:
    parse = power_of_two(RANKS[0], RANKS[-1])
    return Setting(default, parse, "select_slider", label, options=RANKS, recorded=recorded)


def _type(default: str, codes: tuple[str, ...]) -> Setting:
    said = {"write": lambda code: t(f"planner.type_{code}")}
    return Setting(default, type_of(*codes), "segmented_control", **said)


SETTINGS = {
    "plan_model": _model(FIRST, *MODELS),
    "plan_own": Setting("", words(200)),  # a model of the reader's own, by name
    "plan_beside": _model(NONE, NONE, *SIZED),
    "plan_gpu": Setting(
        "h200", one_of(*GPUS), "selectbox", write=lambda key: GPUS[key].name, recorded=True
    ),
    "plan_tensor": _ranks(8, recorded=True),
    "plan_data": _ranks(1),
    "plan_pipeline": _ranks(1, "dealing.pipeline"),
    "plan_dcp": _ranks(1, "dealing.dcp"),
    "plan_mtp": Setting(False, flag, "toggle", "dealing.mtp"),
    "plan_context": Setting(
        2**15, power_of_two(2**10, 2**20), "select_slider", options=LENGTHS, recorded=True
    ),
    "plan_kv": _type("fp8", KV_TYPES),
    "plan_weights": _type("fp8", tuple(WEIGHTS)),
    "plan_parameters": Setting(0.0, number(0.0, MOST_BILLIONS), "number_input"),  # 0: as published
    "plan_active": Setting(0.0, number(0.0, MOST_BILLIONS), "number_input"),  # likewise, in 10**9
    "plan_overhead": Setting(OVERHEAD / GIB, number(0.0, MOST_GIB), "number_input"),
}


@dataclass(frozen=True)
class Served:
    """A model and what is planned for it.

    Args:
        found: the model.
        key: of a published one, "" for one of the reader's own.
        own: how that was given: a name, or "config.json" for a text; else "".
        plan: on the chosen GPUs.
    """

    found: Found
    key: str
    own: str
    plan: Plan

    @property
    def label(self) -> str:
        """Its name for charts: a stranger's is no markup."""
        return _label(self.found.name)

    def batches(self, contexts: tuple[int, ...], data: int | None = None) -> list[int]:
        """The largest batch at each length, with other groups where they are given."""
        plan = self.grouped(data or self.plan.data)
        return [replace(plan, context=n).largest_batch for n in contexts]

    def grouped(self, data: int) -> Plan:
        """Return the plan with so many groups; tokens are dealt out where these are no smaller."""
        shares = self.plan.context_ranks if data <= self.plan.data else 1
        return replace(self.plan, data=data, context_ranks=shares)

    @property
    def shown_batch(self) -> int:
        """The batch whose cache is drawn: the largest, or one a group where none fits."""
        return self.plan.largest_batch or self.plan.data

    @property
    def cache_bytes(self) -> float:
        """The cache of that batch on the fullest GPU, each sequence grown to the context."""
        return float(self.plan.placing(self.shown_batch).most_bytes(self.plan.context))

    @property
    def free_bytes(self) -> float:
        """The memory that it leaves."""
        return max(0.0, float(self.plan.room_bytes) - self.cache_bytes)

    @property
    def widths(self) -> tuple[int, int] | None:
        """The widths c and k + v of its latents, where it has plain MLA."""
        return latent_widths(self.plan.model)


class UnsizedError(UncountedError):
    """Nobody says how many parameters a model has: its cache is all that can be counted."""

    def __init__(self, found: Found) -> None:
        super().__init__("no_parameters", name=found.name)
        self.found = found

    def __reduce__(self) -> tuple:
        """Pickled as it was made."""
        return UnsizedError, (self.found,)


@dataclass(frozen=True)
class Unsized:
    """The cache of a model whose weights are not known, of one sequence on the fullest stage."""

    name: str
    own: str  # as of `Served`
    placing: Placing
    gpu: Device
    context: int

    @property
    def label(self) -> str:
        """Its name for charts, as of `Served`."""
        return _label(self.name)

    @property
    def sequence_bytes(self) -> float:
        """The cache of a sequence on each GPU of its group."""
        return float(self.placing.most_bytes(self.context))


@dataclass(frozen=True)
class View:
    """The chosen model, the other one beside it if there is one, and the type of their caches."""

    served: Served
    other: Served | None
    kv: str

    @property
    def plan(self) -> Plan:
        """The plan of the chosen model."""
        return self.served.plan

    @property
    def gpu(self) -> Device:
        """One of the GPUs."""
        return self.plan.device

    @cached_property
    def all(self) -> list[Served]:
        """One model or two."""
        return [self.served, *([self.other] if self.other else [])]

    @property
    def layouts(self) -> list[int]:
        """Groups that are compared: one, the chosen ones, and one for each GPU of a stage."""
        return sorted({1, self.plan.data, self.plan.gpus // self.plan.pipeline})


def view() -> View:
    """Return what the present settings plan.

    Raises:
        UnsizedError: a model whose parameters nobody says.
        RefusedError: one that is not understood.
    """
    s = settings()
    own = given.counted(s["plan_own"], PASTED, weighed=True)
    found = own or of_published(MODELS[s["plan_model"]])
    total, active = (BILLION * s[f"plan_{name}"] for name in ("parameters", "active"))
    by = given.source(s["plan_own"], PASTED)
    served = Served(
        found, "" if own else s["plan_model"], by, _plan(found, total or None, active or None)
    )
    return View(served, _beside(found), s["plan_kv"])


def _beside(found: Found) -> Served | None:
    """Return the other model, None where none is chosen or it is the same."""
    s = settings()
    key = s["plan_beside"]
    if key == NONE or MODELS[key].name == found.name:
        return None
    other = of_published(MODELS[key])
    return Served(other, key, "", _plan(other, mtp=s["plan_mtp"] and bool(other.model.mtp)))


def _plan(
    found: Found,
    parameters: float | None = None,
    active: float | None = None,
    *,
    mtp: bool | None = None,
) -> Plan:
    """Return the plan of a model; `mtp` where the switch is not taken as it stands."""
    s = settings()
    drafting = s["plan_mtp"] if mtp is None else mtp
    if drafting:
        refuse_mtp(found.model, found.name)
    if not (parameters or found.parameters):
        _placings(found)  # what cannot be placed is refused before a number is asked for
        raise UnsizedError(found)
    return Plan(
        model=found.model,
        storage=storage(s["plan_kv"]),
        gpus=s["plan_tensor"] * s["plan_data"] * s["plan_pipeline"],
        data=s["plan_data"],
        pipeline=s["plan_pipeline"],
        context_ranks=s["plan_dcp"],
        mtp=drafting,
        **found.weights(parameters, active),
        gpu=s["plan_gpu"],
        context=s["plan_context"],
        **{"weight_bytes": WEIGHTS[s["plan_weights"]]} | found.stored_types(parameters),
        overhead_bytes=s["plan_overhead"] * GIB,
    )


def _placings(found: Found) -> list[Placing]:
    """Return the cache of one sequence on the GPUs of each stage.

    Raises:
        RefusedError: what cannot be placed so.
    """
    s = settings()
    parts = parted(found.model, s["plan_pipeline"])
    on = {"gpus": s["plan_tensor"] * s["plan_data"], "data": s["plan_data"]}
    on |= {"storage": storage(s["plan_kv"]), "context_ranks": s["plan_dcp"]}
    return [Placing(model=part.drafting if s["plan_mtp"] else part, **on) for part in parts]


def _label(name: str) -> str:
    return html.escape(drawn(name), quote=False)


def spoken(name: str, own: str) -> str:
    """Return a model's name for a sentence: one of the reader's own may hold anything."""
    return safe(name) if own and not named(own) else name


def unsized(error: ValueError | None) -> Unsized | None:
    """Return what can be shown of a model whose parameters nobody says, None of any other."""
    if not isinstance(error, UnsizedError):
        return None
    s, placings = settings(), _placings(error.found)
    placing = max(placings, key=lambda one: one.most_bytes(s["plan_context"]))
    own = given.source(s["plan_own"], PASTED)
    return Unsized(error.found.name, own, placing, GPUS[s["plan_gpu"]], s["plan_context"])
