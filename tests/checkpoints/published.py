"""config.json in the form in which repositories publish it."""


def as_published(config, left_out):
    """rope_scaling with type, rope_theta beside it, and without the entries named."""
    if "text_config" in config:
        return config | {"text_config": as_published(config["text_config"], left_out)}
    table = dict(config.pop("rope_parameters", None) or {})
    if "linear_num_heads" in config and config["model_type"] == "kimi_linear":
        config = with_linear_table(config) | {"rope_theta": 10000.0, "mla_use_nope": True}
    if sliding := table.pop("sliding_attention", None):
        config["rope_local_base_freq"], table = sliding["rope_theta"], table["full_attention"]
    if "partial_rotary_factor" in table:
        config["partial_rotary_factor"] = table.pop("partial_rotary_factor")
    kind, theta = table.pop("rope_type", "default"), table.pop("rope_theta", None)
    if table or theta:
        config |= {"rope_theta": theta, "rope_scaling": None}
    if kind != "default" or table:
        config["rope_scaling"] = table | {"type": kind}
    return {key: value for key, value in config.items() if key not in left_out}


def with_linear_table(config):
    """Return what Kimi-Linear's file has in a table, which counts its layers from 1."""
    numbers = {"kda_layers": "linear_attention", "full_attn_layers": "full_attention"}
    table = {
        key: [i + 1 for i, kind in enumerate(config["layer_types"]) if kind == name]
        for key, name in numbers.items()
    }
    names = {"num_heads": "linear_num_heads", "head_dim": "linear_head_dim"}
    names["short_conv_kernel_size"] = "linear_conv_kernel_dim"
    table |= {key: config[name] for key, name in names.items()}
    rest = {key: value for key, value in config.items() if key not in names.values()}
    return rest | {"linear_attn_config": table}
