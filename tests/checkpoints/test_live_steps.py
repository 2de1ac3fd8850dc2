"""Steps of a live model: what each attention does with a cache, and while the model generates."""

from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from inspect import signature

import pytest
import torch
from torch import nn
from transformers import DynamicCache, Glm5NextTextConfig, StaticCache
from transformers.models.glm5_next.modeling_glm5_next import Glm5NextTextModel

from mla_engine.checkpoints import CheckpointError, follow_module, trace_module
from mla_engine.checkpoints.live_model import CACHE
from tests.checkpoints import pooled_model
from tests.checkpoints.models import GLM_5_3, MODELS, built, filled
from tests.engine.samples import relative
from tests.refusals import refusing
from tests.sampling import some

STEPS = (13, 1, 1, 6, 1)  # tokens; blocks of 4 and 10 and windows of 3 and 6 end within them
TOKENS = torch.randint(64, (2, sum(STEPS)), generator=torch.manual_seed(5))
OWN = {"deepseek_v4": pooled_model.built}


@cache
def glm_5_3():
    torch.manual_seed(3)
    return filled(Glm5NextTextModel(Glm5NextTextConfig(**GLM_5_3)), "self_attn")


OWN["glm5_next_text"] = glm_5_3


def attentions(name):
    """The model, and its attentions by their number."""
    if name in OWN:
        model = OWN[name]()
        return model, dict(
            enumerate(one.self_attn for one in getattr(model, "model", model).layers)
        )
    model = built(name)
    return model, {i: MODELS[name].attention(model, i) for i in MODELS[name].layers}


@contextmanager
def recorded(modules):
    """Output and attention of each call of the modules, of which each has a list."""
    found = {module: [] for module in modules}

    def keep(module, _args, result):
        found[module].append(result[:2] if isinstance(result, tuple) else (result, None))

    hooks = [module.register_forward_hook(keep) for module in modules]
    with torch.no_grad():
        yield found
    for hook in hooks:
        hook.remove()


def check(trace, own):
    u, attention = own
    assert relative(trace.u, u) < 1e-5
    if attention is not None and hasattr(trace, "attention"):
        keys = trace.attention.shape[-1]  # DeepSeek-V4's entries stand behind them
        assert relative(trace.attention, attention[..., :keys]) < 1e-5
        assert trace.attention.shape[:-1] == attention.shape[:-1]


@pytest.mark.parametrize("name", [*some(MODELS, 12), *OWN])
def test_a_step_with_a_cache_is_the_models(name):
    model, modules = attentions(name)
    with recorded(modules.values()) as own:
        held = None
        for step in TOKENS.split(STEPS, dim=1):
            given = {"input_ids": step, "past_key_values": held}
            traces = {layer: trace_module(model, layer, given) for layer in modules}
            held = model(**given, use_cache=True).past_key_values
            for layer, module in modules.items():
                check(traces[layer], own[module][-1])


@pytest.mark.parametrize("name", [*some(MODELS, 6, seed=1), "deepseek_v4"])
def test_generation_is_followed_token_by_token(name):
    model, modules = attentions(name)
    for layer, module in modules.items():
        traces = []
        with recorded([module]) as own, follow_module(model, layer, traces.append):
            model.generate(
                TOKENS[:, :7], max_new_tokens=5, min_new_tokens=5, do_sample=False, pad_token_id=0
            )
        assert [trace.h.shape[1] for trace in traces] == [7, 1, 1, 1, 1]
        for trace, one in zip(traces, own[module], strict=True):
            check(trace, one)
        assert not module._forward_pre_hooks


@pytest.mark.parametrize("name", ["mistral", "deepseek_v32"])
def test_a_model_that_keeps_no_attention_is_followed_as_well(name):
    """By sdpa, as transformers loads a model; its masks are bool, or none."""
    model = deepcopy(built(name))
    model.set_attn_implementation("sdpa")
    module, traces = MODELS[name].attention(model, 1), []
    with recorded([module]) as own, follow_module(model, 1, traces.append):
        model.generate(TOKENS[:, :7], max_new_tokens=3, do_sample=False, pad_token_id=0)
    for trace, (u, attention) in zip(traces, own[module], strict=True):
        assert attention is None
        assert relative(trace.u, u) < 1e-5


def test_a_step_goes_on_where_its_positions_say_and_leaves_the_cache():
    model, modules = attentions("llama")
    held = model(TOKENS[:, :5]).past_key_values
    given = {"input_ids": TOKENS[:, 5:7], "past_key_values": held}
    given |= {"position_ids": torch.tensor([[9, 10]]), "attention_mask": torch.ones(2, 7)}
    trace = trace_module(model, 1, given)
    assert held.get_seq_length() == 5
    with recorded(modules.values()) as own:
        model(**given)
    check(trace, own[modules[1]][-1])


def test_names_what_it_does_not_follow():
    model, _ = attentions("llama")
    held = model(TOKENS[:, :5]).past_key_values
    step = {"input_ids": TOKENS[:, 5:6]}
    fixed = StaticCache(config=model.config, max_cache_len=8)
    model(TOKENS[:, :5], past_key_values=fixed)
    padded = torch.tensor([[0, 1, 1, 1, 1, 1], [1] * 6])
    for more, said in (
        (
            {"token_type_ids": step["input_ids"]},
            "inputs hold token_type_ids, .* give only input_ids",
        ),
        ({"pixel_values": torch.ones(1), "labels": step}, "inputs hold pixel_values, labels"),
        ({"past_key_values": ((1, 2),)}, "past_key_values is a tuple"),
        ({"past_key_values": fixed}, "cache has a StaticLayer"),
        ({"past_key_values": held, "attention_mask": padded}, "padded"),
        ({"past_key_values": held, "attention_mask": padded[:, 5:]}, "leaves out tokens"),
    ):
        with pytest.raises(CheckpointError, match=said):
            trace_module(model, 0, step | more)
    with refusing("other_cache", name="batch", held=2):
        trace_module(model, 0, {"input_ids": step["input_ids"][:1], "past_key_values": held})
    moved = {"input_ids": TOKENS, "position_ids": torch.arange(20, 42)[None]}
    with refusing("positions_of_blocks", first="[20]", held=0):
        trace_module(pooled_model.built(), 1, moved)  # the model sees entries of later tokens


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"cache_implementation": "static"}, "cache has a StaticLayer"),
        ({"attention_mask": torch.tensor([[0, 1, 1, 1, 1], [1] * 5])}, "padded"),
    ],
)
def test_ends_a_generation_that_it_cannot_follow(more, said):
    model, modules = attentions("llama")
    with pytest.raises(CheckpointError, match=said), follow_module(model, 1, print):
        model.generate(TOKENS[:, :5], max_new_tokens=2, pad_token_id=0, **more)
    assert not modules[1]._forward_pre_hooks


def theirs(attention):
    """Return the name that this transformers has for the cache of an attention."""
    return next(name for name in CACHE if name in signature(attention.forward).parameters)


class Renamed(nn.Module):
    """An attention that calls its cache by another name, as a later transformers does."""

    def __init__(self, own, name):
        super().__init__()
        self.own, self.name, self.layer_idx = own, name, own.layer_idx

    def named_parameters(self, *args, **more):
        return self.own.named_parameters(*args, **more)

    def forward(self, hidden_states, position_embeddings=None, attention_mask=None, **more):
        more[theirs(self.own)] = more.pop(self.name)
        return self.own(hidden_states, position_embeddings, attention_mask, **more)


@contextmanager
def renamed(name):
    """A tiny Llama of which every layer hands its cache over as `name`, and its attentions."""
    model = deepcopy(built("llama"))
    for layer in model.model.layers:
        layer.self_attn = Renamed(layer.self_attn, name)

    def hand(module, args, named):
        return args, named | {name: named.pop(theirs(module.own))}

    hooks = [
        layer.self_attn.register_forward_pre_hook(hand, with_kwargs=True)
        for layer in model.model.layers
    ]
    yield model, [layer.self_attn for layer in model.model.layers]
    for hook in hooks:
        hook.remove()


@pytest.mark.parametrize("given", ["past_key_values", "cache"])
@pytest.mark.parametrize("name", ["past_key_values", "cache", "cache_params", "layer_past"])
def test_a_cache_is_read_by_all_of_its_names(name, given):
    with renamed(name) as (model, modules), recorded(modules) as own:
        held = model(TOKENS[:, :5], use_cache=True).past_key_values
        step = {"input_ids": TOKENS[:, 5:7], given: held}
        trace = trace_module(model, 1, step)
        assert trace.attention.shape[-2:] == (2, 7)
        model(TOKENS[:, 5:7], past_key_values=held)
        check(trace, own[modules[1]][-1])
        traces = []
        with follow_module(model, 1, traces.append):
            model.generate(TOKENS[:, :5], max_new_tokens=2, do_sample=False, pad_token_id=0)
    assert [trace.attention.shape[-1] for trace in traces] == [5, 6]


def test_a_cache_by_a_name_that_is_not_known_is_refused_by_that_name():
    said = "gets its cache as kept_states, a name that is not known"
    with renamed("kept_states") as (model, _):
        held = model(TOKENS[:, :5], use_cache=True).past_key_values
        with pytest.raises(CheckpointError, match=said):
            trace_module(model, 1, {"input_ids": TOKENS[:, 5:6], "past_key_values": held})
        with pytest.raises(CheckpointError, match=said), follow_module(model, 1, print):
            model(TOKENS[:, 5:6], past_key_values=held)


def test_a_cache_that_the_model_loses_on_the_way_is_missed():
    model, _ = attentions("llama")
    held = model(TOKENS[:, :5], use_cache=True).past_key_values
    step = {"input_ids": TOKENS[:, 5:6], "past_key_values": held}
    forgetful = deepcopy(model)
    own = forgetful.forward
    forgetful.forward = lambda input_ids, use_cache, **_: own(input_ids, use_cache=False)
    with pytest.raises(CheckpointError, match="did not reach LlamaAttention"):
        trace_module(forgetful, 1, step)
    with refusing("two_caches"):
        trace_module(model, 1, step | {"cache": held})


def test_a_model_that_calls_its_own_cache_otherwise_gets_it_by_that_name():
    model, modules = attentions("llama")
    later = deepcopy(model)
    own = later.forward

    def forward(input_ids=None, cache=None, use_cache=None):  # of transformers 5.24
        return own(input_ids, **{theirs(model): cache}, use_cache=use_cache)

    later.forward = forward
    held = model(TOKENS[:, :5], use_cache=True).past_key_values
    for name in ("past_key_values", "cache"):
        trace = trace_module(later, 1, {"input_ids": TOKENS[:, 5:6], name: held})
        assert trace.attention.shape[-1] == 6
    with recorded(modules.values()) as found:
        model(TOKENS[:, 5:6], past_key_values=held)
    check(trace, found[modules[1]][-1])
    empty = {"input_ids": TOKENS[:, :5], "cache": DynamicCache()}
    assert trace_module(later, 1, empty).attention.shape[-1] == 5
