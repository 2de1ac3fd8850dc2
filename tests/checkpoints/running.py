"""Runs the attention modules of transformers, with angles made in float64."""

import torch

from tests import reference_rope
from tests.checkpoints.models import MODELS, built


def angles(model, positions, rope):
    """cos and sin as the family takes them, made pair by pair in float64 and cast."""
    length, width = int(positions.max()) + 1, model.rotated
    turns = [reference_rope.frequency(rope, width, i, length) for i in range(width // 2)]
    phase = positions[None, :, None] * torch.tensor(turns, dtype=torch.float64)
    stretch = reference_rope.stretch(rope)
    if model.model_type == "deepseek_v2":
        return (torch.polar(torch.ones_like(phase), phase) * stretch).to(torch.complex64)
    if model.model_type != "gpt_oss":
        phase = torch.cat((phase, phase), dim=-1)
    return (phase.cos() * stretch).float(), (phase.sin() * stretch).float()


def run(name, layer, h, positions, **more):
    """Output and attention of their module, with angles made in float64."""
    model, tokens, window = MODELS[name], len(positions), MODELS[name].windows[layer]
    seen = torch.ones(tokens, tokens, dtype=torch.bool).tril()
    seen = seen if window is None else seen.triu(1 - window)
    mask = torch.zeros(1, 1, tokens, tokens).masked_fill(~seen, -torch.inf)
    given = {"hidden_states": h, "attention_mask": mask, "position_ids": positions[None]}
    module = model.attention(built(name), layer)
    if "Delta" in type(module).__name__:  # which has no attention
        return module(h, **more), None
    if model.rope is not None:
        given["position_embeddings"] = angles(model, positions, model.rope_of(layer))
    if model.model_type == "falcon":
        given |= {"alibi": None, "output_attentions": True}
    return module(**given, **more)[:2]
