"""What the page says of a map whose words are chosen block by block."""

from ui.parts.maps.block_words import facts
from ui.parts.maps.view import Maps
from ui.words.text import sentences, t


def lead(maps: Maps) -> tuple[str, str]:
    """How many words the chosen word reads in place of all up to it.

    Of a text too short for it to read fewer, how many it reads of any.
    """
    said, config = facts(maps), maps.run.config
    fewer = maps.mask[maps.query].sum() <= maps.query
    of_own = "" if (maps.query + 1) % config.pooling else "_full"
    number = t(f"attention_maps.{'reads_words' if fewer else 'short_blocks'}", **said)
    return number, t(f"attention_maps.line_blocks{of_own}", **said)


def look(maps: Maps) -> str:
    """What the patterns of hidden cells mean."""
    if not maps.run.blocks:
        return t("attention_maps.look_no_block", **facts(maps))
    said = t("attention_maps.look_blocks", **facts(maps))
    drawn = isinstance(maps.run.origin, int)
    return sentences((said, t("attention_maps.noise_blocks"))) if drawn else said
