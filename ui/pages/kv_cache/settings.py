"""The settings of the page kv_cache."""

from mla_engine.costs import ATTENTION, GPUS
from ui.settings.parsers import Setting, flag, one_of, power_of_two, published, whole

SETTINGS = {
    "kv_left": Setting("deepseek-v3", published),
    "kv_right": Setting("llama-3.1-405b", published),
    "kv_groups": Setting(8, whole(1, 128)),
    "kv_layers": Setting(0, whole(0, 126)),  # 0 is all
    "kv_batch": Setting(1, power_of_two(1, 1024)),
    "kv_type": Setting("bf16", one_of("fp32", "bf16", "fp8", "int4")),
    "kv_context": Setting(2**17, power_of_two(2**10, 2**20)),
    "kv_log": Setting(True, flag),
    "kv_unit": Setting("GiB", one_of("GiB", "GB")),
    "kv_view": Setting("context", one_of("context", "memory", "layouts", "parallel", "formula")),
    "kv_gpu": Setting("h200", one_of(*GPUS)),
    "kv_ranks": Setting(8, power_of_two(1, 128)),  # GPUs that share the model
    "kv_attention": Setting("tensor", one_of(*ATTENTION)),
    "kv_weights": Setting("fp8", one_of("fp32", "bf16", "fp8", "int4")),
    "kv_sequences": Setting(64, power_of_two(1, 1024)),
}
