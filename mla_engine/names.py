"""The place of a symbol in the paper: section and equation.

Equations are those of DeepSeek-V2 (arXiv 2405.04434): section 2.1.1 sets out MHA in (1) to (8),
2.1.2 the compression in (9) to (13), 2.1.3 the decoupled rotation in (14) to (19); the norms of
the latents stand in the text of 3.1.2, absorption in that of 2.1.2. Its names in code are
`Symbol.alias` and `Symbol.deepseek`.
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


def citation(code: str, form: str) -> tuple[str, int | None] | None:
    """Return section and equation of a symbol in DeepSeek-V2; None where it has no place.

    Args:
        code: of the symbol.
        form: "expanded", "absorbed" or "grouped"; MHA and MLA share some symbols. Those with
            an indexer have MLA's; the paper has no other.
    """
    return _OF_FORM.get(form, {}).get(code)
