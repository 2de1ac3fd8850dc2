"""The numbers that training keeps of the queries, with a latent of their own and without."""

from functools import partial

import pandas as pd
import streamlit as st

from mla_engine import PRESETS, LatentConfig, figures
from mla_engine.studies.training import QueryMemory, query_memory
from ui.pages.compression.view import View
from ui.parts import charts, prose
from ui.sources.model import Model
from ui.words.numbers import count, millions
from ui.words.text import named, parted, t

PUBLISHED = PRESETS["deepseek-v3"]  # in the place of a model too small for a query latent
ASSUMED_LATENT = 12  # heads' widths: DeepSeek-V2 and V3 have d_c' = 1,536 = 12 d_h
HEIGHT = 300
ROOM = 1.8  # times the longest bar: beside the sidebar as much as its number takes


def draw(view: View) -> None:
    """Draw them as bars, and say what each way of training costs."""
    st.subheader(t("compression.section_queries"), anchor=False)
    config = _config(view.model)
    width = config.d_latent_q or ASSUMED_LATENT * config.d_head
    found = query_memory(config, width)
    prose.say(_look(view.model, config, width, found))
    picture, said = st.columns(2, gap="large")
    with picture:
        _picture(found)
    with said:
        st.table(_table(found))
        prose.say(t("compression.query_words"))


def _config(model: Model) -> LatentConfig:
    """Return the MLA of these sizes, or a published one where they are those of a small model.

    Raises:
        ValueError: sizes that no layer can have, in the engine's words.
    """
    return model.config("mla") if not model.is_trained else PUBLISHED.config


def _look(model: Model, config: LatentConfig, width: int, found: list[QueryMemory]) -> str:
    """Return what training keeps of the queries without a latent, and with one at best."""
    key = "query_look" if config.d_latent_q else "query_look_assumed"
    key = "query_look_published" if model.is_trained else key
    plain, best = found[0].kept_elements, found[-1].kept_elements
    numbers = {"latent": width, "queries": plain, "recomputed": best}
    facts = {name: count(number) for name, number in numbers.items()}
    return t(f"compression.{key}", **facts, model=PUBLISHED.name)


def _name(way: QueryMemory) -> str:
    latent = "latent" if way.compressed else "plain"
    return t(f"compression.way_{latent}_{'again' if way.recomputed else 'kept'}")


def _picture(found: list[QueryMemory]) -> None:
    names = [_name(way) for way in found]
    kept = [way.kept_elements for way in found]
    totals = [count(n) for n in kept]
    figure = partial(
        figures.bars,
        names,
        {t("compression.kept_numbers"): kept},
        axis=t("compression.axis_kept"),
        roles=("query",),
        totals=totals,
        limits=(0, ROOM * max(kept)),
        height=HEIGHT,
    )
    each = parted(map(named, names, totals))
    charts.show(
        figure,
        "compression:queries",
        alt=t("compression.alt_queries", each=each),
        data=partial(pd.DataFrame, [vars(way) for way in found]),
        file="mla_query_memory.csv",
    )


def _table(found: list[QueryMemory]) -> pd.DataFrame:
    """Return the numbers kept, the work done again and the weights of each way."""
    rows = {
        _name(way): (
            count(way.kept_elements),
            millions(way.recomputed_multiply_adds),
            millions(way.weights),
        )
        for way in found
    }
    columns = [t(f"compression.column_{name}") for name in ("kept", "again", "weights")]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)
