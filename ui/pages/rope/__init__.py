"""RoPE: what turns, why nothing merges across it, and what a wrong convention does to a map."""

from ui.pages.rope import code, snippet
from ui.pages.rope.settings import SETTINGS
from ui.pages.rope.view import mend
from ui.settings.page import LATENT_LAYER, Page, every

PAGE = Page(
    name="rope",
    group="understand",
    order=3,
    settings=SETTINGS,
    mechanisms=every("pooled", "pooled_index", "delta"),
    real_layers=LATENT_LAYER,
    lecture=("rope_topic", "rope_pair", "rope_distance"),
    mend=mend,
    code=code.ran,
    snippet=snippet.recipe,
)
