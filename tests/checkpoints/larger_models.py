"""Models of pictures and sounds around a small language model, as transformers builds them."""

import transformers

SEES = {"depth": 1, "hidden_size": 16, "num_heads": 2, "intermediate_size": 16}
SEES |= {"out_hidden_size": 48, "patch_size": 4}
HEARS = {"d_model": 16, "encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 16}
HEARS |= {"num_mel_bins": 8, "downsample_hidden_size": 8, "output_dim": 48}
SIGLIP = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
SIGLIP |= {"num_attention_heads": 2, "image_size": 8, "patch_size": 4}
LARGER = {  # model_type -> the class, and its other parts
    "gemma3": (
        "Gemma3ForConditionalGeneration",
        {"vision_config": SIGLIP, "mm_tokens_per_image": 4},
    ),
    "glm4v_moe": ("Glm4vMoeForConditionalGeneration", {"vision_config": SEES | {"image_size": 8}}),
    "qwen3_omni_moe_thinker": (
        "Qwen3OmniMoeThinkerForConditionalGeneration",
        {
            "vision_config": SEES | {"num_position_embeddings": 4, "deepstack_visual_indexes": [0]},
            "audio_config": HEARS,
            "vision_start_token_id": 30,  # as published; asked for when it generates
        },
    ),
}


def larger(model_type, text):
    """The model of this type around the language model that `text` describes."""
    kind, parts = LARGER[model_type]
    config = transformers.CONFIG_MAPPING[model_type](text_config=text, **parts)
    return getattr(transformers, kind)._from_config(config, attn_implementation="eager")
