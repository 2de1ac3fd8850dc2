"""What the page planner shows: a model on GPUs, alone or beside another."""

import html
from dataclasses import dataclass, replace
from functools import cached_property

from mla_engine.devices import GPUS, Device
from mla_engine.drawn import drawn
from mla_engine.model_caches import MODELS, Placing, Plan, UncountedError, storage
from mla_engine.model_caches.flops import latent_widths
from mla_engine.model_caches.models import named
from mla_engine.model_caches.sources import Found, of_published
from ui.pages.planner.settings import GIB, NONE, WEIGHTS
from ui.parts import counted_model
from ui.settings.state import settings
from ui.words.text import safe

PASTED = "plan_config"
BILLION = 10**9


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
        """Its name as charts write it: a stranger's is no markup."""
        return html.escape(drawn(self.found.name), quote=False)

    def batches(self, contexts: tuple[int, ...], data: int | None = None) -> list[int]:
        """The largest batch at each length, with other groups where they are given."""
        plan = replace(self.plan, data=data or self.plan.data)
        return [replace(plan, context=n).largest_batch for n in contexts]

    @property
    def shown_batch(self) -> int:
        """The batch whose cache is drawn: the largest, or one a group where none fits."""
        return self.plan.largest_batch or self.plan.data

    @property
    def cache_bytes(self) -> float:
        """Of that batch on the fullest GPU, once every sequence has grown to the context."""
        return float(self.plan.placing(self.shown_batch).most_bytes(self.plan.context))

    @property
    def free_bytes(self) -> float:
        """What it leaves."""
        return max(0.0, float(self.plan.room_bytes) - self.cache_bytes)

    @property
    def widths(self) -> tuple[int, int] | None:
        """Of its latents, where it has plain MLA."""
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
    """The cache of a model whose weights are not known, of one sequence on the chosen GPUs."""

    name: str
    placing: Placing
    gpu: Device
    context: int

    @property
    def sequence_bytes(self) -> float:
        """On each GPU of its group."""
        return float(self.placing.most_bytes(self.context))


@dataclass(frozen=True)
class View:
    """The chosen model, the other one beside it if there is one, and the type of their caches."""

    served: Served
    other: Served | None
    kv: str

    @property
    def plan(self) -> Plan:
        """Of the chosen model."""
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
        """Groups that are compared: one, the chosen ones, and one for each GPU."""
        return sorted({1, self.plan.data, self.plan.gpus})


def view() -> View:
    """What the present settings plan.

    Raises:
        UnsizedError: a model whose parameters nobody says.
        RefusedError: one that is not understood.
    """
    s = settings()
    own = counted_model.found(s["plan_own"], PASTED)
    found = own or of_published(MODELS[s["plan_model"]])
    total, active = (BILLION * s[f"plan_{name}"] for name in ("parameters", "active"))
    total = total or found.parameters
    active = active or (found.active_of(total) if total else None)
    by = counted_model.given(s["plan_own"], PASTED)
    served = Served(found, "" if own else s["plan_model"], by, _plan(found, total, active))
    return View(served, _beside(found), s["plan_kv"])


def _beside(found: Found) -> Served | None:
    """The other model, None where none is chosen or it is the same."""
    key = settings()["plan_beside"]
    if key == NONE or MODELS[key].name == found.name:
        return None
    other = of_published(MODELS[key])
    return Served(other, key, "", _plan(other, other.parameters, other.active))


def _plan(found: Found, parameters: float | None, active: float | None) -> Plan:
    s = settings()
    if not parameters:
        raise UnsizedError(found)
    return Plan(
        **_placed(found),
        parameters=parameters,
        active=active,
        gpu=s["plan_gpu"],
        context=s["plan_context"],
        weight_bytes=WEIGHTS[s["plan_weights"]],
        overhead_bytes=s["plan_overhead"] * GIB,
    )


def _placed(found: Found) -> dict[str, object]:
    """A model and its cache on the chosen GPUs, as a plan and a placing have them."""
    s = settings()
    gpus = {"gpus": s["plan_tensor"] * s["plan_data"], "data": s["plan_data"]}
    return {"model": found.model, "storage": storage(s["plan_kv"]), **gpus}


def unsized(error: ValueError | None) -> Unsized | None:
    """What can be shown of a model that was refused for want of its parameters."""
    if not isinstance(error, UnsizedError):
        return None
    s, placing = settings(), Placing(**_placed(error.found))
    own = counted_model.given(s["plan_own"], PASTED)
    name = safe(error.found.name) if own and not named(own) else error.found.name
    return Unsized(name, placing, GPUS[s["plan_gpu"]], s["plan_context"])
