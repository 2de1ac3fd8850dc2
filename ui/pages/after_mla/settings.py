"""The settings of the page after_mla."""

from mla_engine.model_caches import MODELS
from ui.settings.parsers import Setting, one_of, power_of_two, words

TYPES = ("bf16", "fp8", "mxfp4")
STORY = {  # what came after GQA, in the order in which it came -> the model that it is told of
    "gqa": "llama-3.1-405b",
    "mla": "deepseek-v3",
    "dsa": "deepseek-v3.2-exp",
    "index_share": "glm-5.2",
    "kda": "kimi-k3",
    "pooled": "deepseek-v4-flash",
    "csa2": "deepseek-v4.1-flash",
}
PASTED = "am_config"  # the key in the session of a pasted config.json

SETTINGS = {
    "am_model": Setting(
        STORY["pooled"], one_of(*MODELS), "selectbox", write=lambda key: MODELS[key].name
    ),
    "am_own": Setting("", words(200)),  # a model of the reader's own, by name
    "am_kv": Setting("bf16", one_of(*TYPES), "segmented_control"),
    "am_context": Setting(2**17, power_of_two(2**10, 2**20), "select_slider"),
}
