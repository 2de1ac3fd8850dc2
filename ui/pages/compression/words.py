"""What the compression page says and asks, in words and tables."""

from collections.abc import Mapping

from mla_engine import PRESETS
from mla_engine.late import Late
from mla_engine.studies.training import QueryMemory
from ui.pages.compression import answers, run
from ui.pages.compression.run import ERRORS
from ui.pages.compression.view import QUERIES_OF, View
from ui.parts import weights as weights_of
from ui.parts.questions import Question, evenly
from ui.words.numbers import TIED, count, error_percent, millions, size, tenths
from ui.words.text import t

pd = Late("pandas")

BF16_BYTES = 2


def lead(view: View) -> tuple[str, str]:
    """The statement on top: what the chosen latent saves and loses."""
    if view.answers:
        return answered(view)
    lost = view.lost("joint")
    errors = {"k": error_percent(lost.k), "u": error_percent(lost.u)}
    sizes = {"rank": count(view.rank), "full": count(view.source.full)}
    number = t("common.out_of", n=sizes["rank"], all=sizes["full"])
    return number, t("compression.line", **sizes, **errors)


def answered(view: View) -> tuple[str, str]:
    """The statement on top of a trained model: what it still answers, and what one trained so."""
    small = answers.cached(answers.MLA)
    facts = {
        "rank": count(view.rank),
        "full": count(view.source.full),
        "cached": count(small),
        "whole": percent(answers.mean(answers.cut(answers.WHOLE, view.source.full))),
        "trained": percent(answers.mean(answers.cut(answers.MLA, small))),
    }
    return percent(answers.mean(view.cut(answers.WEIGHTS))), t("compression.answered", **facts)


def percent(part: float) -> str:
    """A share of 1 in whole per cent: of so few texts no more is known."""
    return f"{count(100 * part)}{TIED}%"


def asked(view: View) -> str:
    """What was asked and cut, and from where on nothing is lost."""
    return t("compression.asked", texts=count(answers.texts()), most=count(view.sizes[-1]))


def section_inside(view: View) -> str:
    """The title over what is lost in one layer."""
    return t("compression.section_inside", layer=count(view.model.trained))


def way(code: str) -> str:
    """A way to a smaller cache, as the pictures name it."""
    return t(f"compression.way_{code}")


def compared(view: View) -> dict[str, answers.Cut]:
    """The models whose answers are compared by task, under their names with what they cache."""
    small = answers.cached(answers.MLA)
    shown = {
        answers.WHOLE: answers.cut(answers.WHOLE, view.source.full),
        answers.WEIGHTS: view.cut(answers.WEIGHTS),
        answers.MLA: view.cut(answers.MLA) or answers.cut(answers.MLA, small),
    }
    return {t(f"compression.bar_{code}", size=count(one.size)): one for code, one in shown.items()}


def alt_answers(view: View) -> str:
    """The first picture of a trained model in words."""
    small = answers.cached(answers.MLA)
    facts = {
        code: percent(answers.mean(view.cut(code))) for code in (answers.WEIGHTS, answers.TEXTS)
    }
    whole = percent(answers.mean(answers.cut(answers.MLA, small)))
    sizes = {"rank": count(view.rank), "cached": count(small)}
    return t("compression.alt_answers", **sizes, **facts, trained=whole)


def alt_tasks(found: Mapping[str, Mapping[str, float]]) -> str:
    """Right answers by task in words; model -> task -> share."""
    tasks = {task: t(f"compression.task_{task}") for task in next(iter(found.values()))}
    each = (
        f"{name}: " + ", ".join(f"{tasks[task]} {percent(share)}" for task, share in shares.items())
        for name, shares in found.items()
    )
    return t("compression.alt_tasks", each="; ".join(each))


def errors(view: View) -> dict[str, str]:
    """The four errors at the chosen size, by their codes."""
    lost = vars(view.lost("joint"))
    return {name: error_percent(lost[name]) for name in ERRORS}


def caches(view: View) -> dict[str, str]:
    """The bytes a token in bf16, with the latent and without."""
    held, whole = (size(BF16_BYTES * n) for n in (view.rank, view.source.full))
    return {"held": held, "whole": whole}


def saved(view: View) -> str:
    """What is cached in place of keys and values."""
    numbers = {"rank": count(view.rank), "full": count(view.source.full)}
    return t("compression.saved", **numbers, **caches(view)) + _drawn(view)


def _drawn(view: View) -> str:
    """That the weights are random, where they are."""
    return weights_of.mark(view.source.origin, view.weights) if not view.trained else ""


def weights(view: View) -> str:
    """What the weights are, and what that means for a latent."""
    if view.latent:
        return t("compression.words_latent", latent=count(view.latent))
    if view.answers:
        return _trained_weights(view)
    if view.trained:
        config = view.source.grouped
        facts = {"heads": count(config.n_heads), "groups": count(config.n_kv_heads)}
        return t("compression.words_grouped", **facts)
    return t(f"compression.words_{'spectrum' if view.weights == 'spectrum' else 'random'}")


def _trained_weights(view: View) -> str:
    falling = run.spectra(view.source)["both"]
    facts = {
        "layer": count(view.model.trained),
        "last": percent(float(falling[-1] / falling[0])),
        "texts": count(answers.MEASURED),
    }
    return t("compression.words_trained", **facts)


def ways(view: View) -> dict[str, str]:
    """Joint and separate compression at the chosen size, for the sentences about them."""
    joint, separate = (vars(view.lost(way))[view.error] for way in run.WAYS)
    keys, values = run.split(view.source, view.rank)
    numbers = {"rank": view.rank, "keys": keys, "values": values}
    facts = {"joint": error_percent(joint), "separate": error_percent(separate)}
    return facts | {name: count(number) for name, number in numbers.items()}


def separately(view: View) -> str:
    """The two ways beside each other, in one sentence."""
    name = t(f"compression.error_{view.error}")
    return t("compression.separate_words", name=name, **ways(view))


def queries(view: View, found: list[QueryMemory]) -> str:
    """What training keeps of the queries without a latent, and with one at best."""
    key = "query_look" if view.query_config.d_latent_q else "query_look_assumed"
    key = "query_look_published" if view.model.trained is not None else key
    plain, best = found[0].kept_elements, found[-1].kept_elements
    numbers = {"latent": view.query_width, "queries": plain, "recomputed": best}
    facts = {name: count(number) for name, number in numbers.items()}
    return t(f"compression.{key}", **facts, model=PRESETS[QUERIES_OF].name)


def way_name(way: QueryMemory) -> str:
    """A way to train in the reader's language."""
    latent = "latent" if way.compressed else "plain"
    return t(f"compression.way_{latent}_{'again' if way.recomputed else 'kept'}")


def query_table(found: list[QueryMemory]) -> "pd.DataFrame":
    """The numbers kept, the work done again and the weights of each way."""
    rows = {
        way_name(way): (
            count(way.kept_elements),
            millions(way.recomputed_multiply_adds),
            millions(way.weights),
        )
        for way in found
    }
    columns = [t(f"compression.column_{name}") for name in ("kept", "again", "weights")]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def question(view: View) -> Question:
    """Ask for the error of the keys at the chosen size, or for a trained model's right answers."""
    if view.answers:
        return _right(view)
    error = view.lost("joint").k
    return evenly(
        "compression",
        t("compression.guess", rank=count(view.rank), full=count(view.source.full)),
        100 * error,
        100,
        say=lambda n: f"{tenths(n)}{TIED}%",
        why=t(f"compression.guess_{'trained' if view.trained else view.weights}"),
        hides=("lead", "compression:errors", "compression_numbers"),
    )


def _right(view: View) -> Question:
    return evenly(
        "compression_answers",
        t("compression.guess_answers", size=count(view.rank), full=count(view.source.full)),
        100 * answers.mean(view.cut(answers.WEIGHTS)),
        100,
        say=lambda n: f"{count(n)}{TIED}%",
        why=t("compression.guess_answers_why"),
        hides=("lead", "compression:answers", "compression:tasks"),
    )
