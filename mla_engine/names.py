"""The other names of a symbol: its equation in the paper, its name in DeepSeek's code.

Equations are those of DeepSeek-V2 (arXiv 2405.04434): section 2.1.1 sets out MHA in (1) to (8),
2.1.2 the compression in (9) to (13), 2.1.3 the decoupled rotation in (14) to (19); the norms of
the latents stand in the text of 3.1.2, absorption in that of 2.1.2. Names in code are those of
DeepSeek-V3's inference/model.py, which has no biases, and of DeepSeek-V3.2-Exp's; names in
transformers are `Symbol.alias`.
"""

MHA, COMPRESSION, ROTATION, NORMS = "2.1.1", "2.1.2", "2.1.3", "3.1.2"

_EQUATIONS = {
    (MHA, 1): ("h", "W_Q", "q_pre", "q"),
    (MHA, 2): ("W_K", "k_pre", "k"),
    (MHA, 3): ("W_V", "v"),
    (COMPRESSION, 9): ("W_DKV", "c_KV_pre"),
    (COMPRESSION, 10): ("W_UK", "k_C"),
    (COMPRESSION, 11): ("W_UV", "v_C"),
    (COMPRESSION, 12): ("W_DQ", "c_Q_pre"),
    (COMPRESSION, 13): ("W_UQ", "q_C"),
    (ROTATION, 14): ("W_QR", "q_R_pre", "q_R"),
    (ROTATION, 15): ("W_KR", "k_R_pre", "k_R"),
    (ROTATION, 18): ("scores_C", "scores_R", "scores", "attention", "o"),
    (ROTATION, 19): ("W_O", "u"),
    (NORMS, None): ("c_Q", "c_Q_norm", "c_KV", "c_KV_norm"),
    (COMPRESSION, None): ("W_QK", "W_VO", "q_C_absorbed", "o_latent"),
}
_OF_MHA = {"scores": 7, "attention": 7, "o": 7, "W_O": 8, "u": 8}
_OF_MLA = {code: place for place, codes in _EQUATIONS.items() for code in codes}
_OF_FORM = {
    "expanded": _OF_MLA,
    "absorbed": _OF_MLA,
    "indexed": _OF_MLA,
    "indexed_absorbed": _OF_MLA,
    "pooled_index": _OF_MLA,
    "pooled_index_absorbed": _OF_MLA,
    "grouped": _OF_MLA | {code: (MHA, equation) for code, equation in _OF_MHA.items()},
}

DEEPSEEK = {
    "h": "x",
    "mask": "mask",
    "W_O": "wo",
    "W_DQ": "wq_a",
    "c_Q_norm": "q_norm",
    "W_UQ": "wq_b[h, :k]",
    "W_QR": "wq_b[h, -r:]",
    "W_DKV": "wkv_a[:c]",
    "W_KR": "wkv_a[-r:]",
    "c_KV_norm": "kv_norm",
    "W_UK": "wkv_b[h, :k]",
    "W_UV": "wkv_b[h, -v:]",
    "c_Q_pre": "wq_a(x)",
    "c_Q": "q_norm(wq_a(x))",
    "q_C": "q_nope",
    "q_C_absorbed": "q_nope",
    "q_R_pre": "q_pe",
    "q_R": "q_pe",
    "c_KV_pre": "kv",
    "c_KV": "kv_cache",
    "k_C": "k_nope",
    "v_C": "v",
    "k_R_pre": "k_pe",
    "k_R": "pe_cache",
    "scores": "scores",
    "attention": "scores",
    "o_latent": "x",
    "o": "x",
    "u": "wo(x)",
    "W_IQ": "indexer.wq_b",
    "W_IK": "indexer.wk",
    "W_IW": "indexer.weights_proj",
    "k_I_norm": "indexer.k_norm.weight",
    "b_IK": "indexer.k_norm.bias",
    "q_I_pre": "q",
    "q_I": "q",
    "w_I": "weights",
    "k_I_pre": "wk(x)",
    "k_I_normed": "k",
    "k_I": "k_cache",
    "index": "index_score",
    "chosen": "topk_indices",
}
"""Code -> name in DeepSeek-V3's inference/model.py; one name may stand for several tensors.

Those of the indexer are from DeepSeek-V3.2-Exp's.
"""


def citation(code: str, form: str) -> tuple[str, int | None] | None:
    """Return section and equation of a symbol in DeepSeek-V2; None where it has no place.

    Args:
        code: of the symbol.
        form: "expanded", "absorbed" or "grouped"; MHA and MLA share some symbols. Those with
            an indexer have MLA's; the paper has no other.
    """
    return _OF_FORM.get(form, {}).get(code)
