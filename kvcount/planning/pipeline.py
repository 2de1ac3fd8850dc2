"""Pipeline parallelism: the layers of a model dealt out over stages, each on GPUs of its own.

Every stage has as many layers as the others, and where that leaves some over, one more from the
last but one stage backwards: vLLM's `get_pp_indices` (`distributed/utils.py`). The embedding lies
on the first stage and the head on the last, also where both are one matrix; MTP layers on the last.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from kvcount import checks
from kvcount.parts import Model
from kvcount.reading.keys import UncountedError


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Some layers of a model, one after another.

    Args:
        model: these layers alone.
        parameters: that it keeps, in the mean of what is not told of each layer.
        active: of them, those that one token is multiplied with.
        routed: of them, those of experts that layers choose among.
        certain: of the active ones, those that are told to be in these layers: attention, experts
            and the head.
    """

    model: Model
    parameters: Fraction
    active: Fraction
    routed: Fraction
    certain: Fraction


def dealt(n_layers: int, stages: int) -> list[int]:
    """Return how many layers each stage has."""
    each, over = divmod(n_layers, stages)
    return [each + (1 <= stages - 1 - stage <= over) for stage in range(stages)]


def refuse_mtp(model: Model, name: str) -> None:
    """Refuse a model that has no layers that predict further tokens, or of no known kind.

    Raises:
        UncountedError: by `name`.
    """
    if not model.mtp:
        raise UncountedError("no_mtp" if model.mtp == () else "unknown_mtp", name=name)


def parted(model: Model, stages: int) -> list[Model]:
    """Return the layers of each stage as a model; MTP layers go with the last.

    Raises:
        RefusedError: more stages than layers, or layers that read the cache of other stages.
    """
    checks.whole("pipeline", stages, most=2**12)
    if stages == 1:
        return [model]
    n_layers = len(model.layers) // model.caches_each
    if stages > n_layers:
        raise UncountedError("more_stages", pipeline=stages, layers=n_layers)
    if any(not part.stored for layer in model.groups for part in layer.parts):
        raise UncountedError("shared_stages", pipeline=stages)
    found, first = [], 0
    for n in dealt(n_layers, stages):
        last = first + n * model.caches_each
        own = {"layers": model.layers[first:last], "attention": model.attention[first:last]}
        chosen = tuple(layer - first for layer in model.expert_layers if first <= layer < last)
        mtp = model.mtp if last == len(model.layers) else ()
        found.append(replace(model, **own, expert_layers=chosen, mtp=mtp))
        first = last
    return found


def stages(
    model: Model, n: int, parameters: Fraction, active: Fraction, routed: Fraction
) -> list[Stage]:
    """Return each stage with its share of the parameters.

    A layer has its attention, its share of the experts if it chooses among them, and an even share
    of what is left. Idle are rows of the embedding, and of the experts those that are not chosen.

    Args:
        model: whole.
        n: stages.
        parameters: of the model.
        active: of them, those that a token is multiplied with.
        routed: of them, those of experts that layers choose among.

    Raises:
        RefusedError: as `parted`.
    """
    parts = parted(model, n)
    if n == 1:
        return [
            Stage(model=model, parameters=parameters, active=active, routed=routed, certain=active)
        ]
    ends = min(Fraction(model.table * (1 if model.tied else 2)), parameters)
    table = ends if model.tied else ends / 2
    unused = Fraction(0) if model.tied else min(parameters - active, table)
    idle, inner = parameters - active - unused, parameters - ends
    even = max(inner - model.attention_parameters - routed, Fraction(0)) / len(model.layers)
    experts = routed / (len(model.expert_layers) or 1)
    shares = [_share(part, experts, even) for part in parts]
    found = []
    for place, part in enumerate(parts):
        own = inner * shares[place] / sum(shares)
        chosen = experts * len(part.expert_layers)
        certain = part.attention_parameters + chosen * Fraction(*(model.experts or (0, 1)))
        touched = own - idle * (chosen / routed if routed else shares[place] / sum(shares))
        if place == 0:
            own += table
            touched += Fraction(0) if model.tied else table - unused
        if place == n - 1:
            own, touched, certain = own + table, touched + table, certain + table
        touched = max(touched, Fraction(0))
        share = {"parameters": own, "active": touched, "certain": min(certain, touched)}
        found.append(Stage(model=part, **share, routed=chosen))
    return found


def _share(part: Model, experts: Fraction, even: Fraction) -> Fraction:
    """Parameters of some layers as far as they are told; one a layer where nothing is."""
    told = part.attention_parameters + experts * len(part.expert_layers)
    return told + even * len(part.layers) or Fraction(len(part.layers))
