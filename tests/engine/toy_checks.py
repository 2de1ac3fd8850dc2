"""Run where mla_engine has the toy mechanism as a package: writes what is found, as JSON."""

import json
import sys
from math import prod

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.flop_counter import FlopCounterMode

from mla_engine import PRESETS, costs, mechanisms, timing

preset = PRESETS["toy-tied"]
config, mechanism = preset.config, mechanisms.of(preset.config)
layer = mechanism.layer(config, dtype=torch.float64)
form, own = mechanism.forms[0], mechanism.caches[0]
h = torch.randn(2, 7, config.d_model, dtype=torch.float64, generator=torch.manual_seed(0))
way = mechanisms.ways()["tied"]


def flops(run):
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


def decoded():
    """Tokens one by one, then the rest at once."""
    cache, parts = layer.empty_cache(mechanism.cache(way.cache), batch=2, capacity=7), []
    for rows in (slice(0, 1), slice(1, 2), slice(2, 7)):
        trace, cache = layer.decode(h[:, rows], cache)
        parts.append(trace.u)
    return torch.cat(parts, dim=1), cache


trace = form.forward(layer, h)
heads_first = [x.transpose(1, 2) for x in (trace.q, trace.kv, trace.kv)]
torchs_own = scaled_dot_product_attention(*heads_first, is_causal=True).transpose(1, 2)
u, cache = decoded()
past = layer.decode(h[:, :4], layer.empty_cache(own, batch=2))[1]
of_mla = PRESETS["deepseek-v2-lite"].config
refused = {}
for name, call in {
    "absorbed": lambda: costs.decode(config, 8, "absorbed"),
    "latent cache": lambda: costs.cache_elements(config, "latent"),
    "latents": lambda: costs.prefill(config, 8, latents=True),
    "layouts": lambda: costs.layouts(config),
    "tied of MLA": lambda: costs.cache_elements(of_mla, "tied"),
}.items():
    try:
        call()
    except ValueError as error:
        refused[name] = str(error)

sys.stdout.write(
    json.dumps(
        {
            "keys": [one.key for one in mechanisms.all()],
            "variants": list(mechanisms.variants()),
            "ways": list(mechanisms.ways()),
            "kind": preset.kind,
            "from torch": float((trace.o - torchs_own).abs().max()),
            "decoded": float((u - trace.u).abs().max()),
            "held": [cache.length, cache.nbytes, cache.reserved_nbytes],
            "elements": costs.cache_elements(config),
            "of a rank of 4": costs.rank_cache_elements(config, 4),
            "parameters": [costs.parameters(config), sum(p.numel() for p in layer.parameters())],
            "prefill": [costs.prefill(config, 7, batch=2).total_flops, flops(lambda: layer(h))],
            "decode": [
                costs.decode(config, 4, batch=2, new_tokens=3).total_flops,
                flops(lambda: layer.decode(h[:, 4:], past)),
            ],
            "attention": costs.prefill(config, 7, batch=2).attention_flops,
            "attention by hand": 2 * prod((2, 2, config.n_heads, 7, 7, config.d_head)),
            "off": [formula.off(config) for formula in costs.formulas(config)],
            "logits": float(
                (form.unmasked(layer, trace) - trace.scores)[:, :, trace.mask].abs().max()
            ),
            "timed": bool(
                torch.equal(
                    timing.step(layer, h[:, 4:], past, "tied")()[0].u,
                    layer.decode(h[:, 4:], past)[0].u,
                )
            ),
            "zeros": timing.cache_of_zeros(layer, 5, 2, "tied").reserved_nbytes,
            "refused": refused,
        }
    )
)
