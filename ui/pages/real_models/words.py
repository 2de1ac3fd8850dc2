"""What the page says of a layer and of its heads."""

import math

from mla_engine.checkpoints.families import FAMILIES
from ui.engine import real_layer
from ui.pages.real_models.view import View
from ui.words.numbers import count, heads, share
from ui.words.text import t


def lead(view: View) -> tuple[str, str]:
    """The page's statement with its numbers."""
    facts = {"layer": count(view.loaded.layer), "heads": count(view.config.n_heads)}
    facts["name"] = real_layer.title(view.loaded)
    if view.topk:
        topk = count(view.topk)
        return heads(view.config.n_heads), t("real_models.line_choosing", topk=topk, **facts)
    if not view.latent:
        groups = count(view.config.n_kv_heads)
        return heads(view.config.n_heads), t("real_models.line_grouped", groups=groups, **facts)
    if view.shares is None:
        return heads(view.config.n_heads), t("real_models.line_one", **facts)
    positional = int((view.balance > 0.5).sum())
    number = t("common.out_of", n=count(positional), all=facts["heads"])
    return number, t("real_models.line", positional=count(positional), **facts)


def look(view: View) -> str:
    """What to compare."""
    return t("real_models.look" if view.shares else "real_models.look_grouped")


def kind(view: View) -> str:
    """Whether the chosen head looks at words or at places, in words; "" where none has both."""
    if view.shares is None:
        return ""
    position, head = float(view.balance[view.maps.head]), count(view.maps.head)
    if math.isnan(position):
        return t("real_models.kind_flat", head=head)
    if position > 0.5:
        return t("real_models.kind_position", head=head, share=share(position))
    return t("real_models.kind_content", head=head, share=share(1 - position))


def missing(view: View) -> str:
    """Why latents and the split into content and position are not shown."""
    if view.topk:
        return t("real_models.choosing")
    return t("real_models.one_token" if view.latent else "real_models.no_latent")


def families() -> str:
    """The model_types that can be read, as they stand in config.json."""
    return t("real_models.families", families=", ".join(f"`{name}`" for name in FAMILIES))
