"""The example's equations in LaTeX, by the key of their step."""

_WIDTH = r"\sqrt{d_h + d_h^R}"
ONE_TOKEN = {
    "c_KV": r"\mathbf{c}^{KV}_t = \mathbf{W}^{DKV}\,\mathbf{h}_t",
    "c_Q": r"\mathbf{c}^{Q}_t = \mathbf{W}^{DQ}\,\mathbf{h}_t",
    "k_R_pre": r"\mathbf{k}^{R,\mathrm{pre}}_t = \mathbf{W}^{KR}\,\mathbf{h}_t",
    "k_R": r"\mathbf{k}^{R}_t = \mathrm{RoPE}_t\left(\mathbf{k}^{R,\mathrm{pre}}_t\right)",
    "k_C": r"\mathbf{k}^{C}_t = \mathbf{W}^{UK}\,\mathbf{c}^{KV}_t",
    "v_C": r"\mathbf{v}^{C}_t = \mathbf{W}^{UV}\,\mathbf{c}^{KV}_t",
    "q_C": r"\mathbf{q}^{C}_t = \mathbf{W}^{UQ}\,\mathbf{c}^{Q}_t",
    "q_R_pre": r"\mathbf{q}^{R,\mathrm{pre}}_t = \mathbf{W}^{QR}\,\mathbf{c}^{Q}_t",
    "q_R": r"\mathbf{q}^{R}_t = \mathrm{RoPE}_t\left(\mathbf{W}^{QR}\,\mathbf{c}^{Q}_t\right)",
    "k_C_heads": r"\mathbf{k}^{C}_t \rightarrow [\mathbf{k}^{C}_{t,1};\ \mathbf{k}^{C}_{t,2}]",
    "v_C_heads": r"\mathbf{v}^{C}_t \rightarrow [\mathbf{v}^{C}_{t,1};\ \mathbf{v}^{C}_{t,2}]",
    "q_C_heads": r"\mathbf{q}^{C}_t \rightarrow [\mathbf{q}^{C}_{t,1};\ \mathbf{q}^{C}_{t,2}]",
    "q": r"\mathbf{q}_{t,i} = [\mathbf{q}^{C}_{t,i};\ \mathbf{q}^{R}_{t,i}]",
    "k": r"\mathbf{k}_{t,i} = [\mathbf{k}^{C}_{t,i};\ \mathbf{k}^{R}_{t}]",
    "scores_C": r"s^{C}_{i} = \mathbf{q}^{C\top}_{t,i}\,\mathbf{k}^{C}_{t,i} \,/\, " + _WIDTH,
    "scores": r"s_{i} = \mathbf{q}_{t,i}^{\top}\,\mathbf{k}_{t,i} \,/\, " + _WIDTH,
    "attention": r"\alpha_{i} = \mathrm{softmax}(s_{i}) = e^{s_i} / e^{s_i}",
    "o": r"\mathbf{o}_{t,i} = \alpha_{i}\,\mathbf{v}^{C}_{t,i}",
    "u": r"\mathbf{u}_t = \mathbf{W}^{O}\,[\mathbf{o}_{t,1};\ \mathbf{o}_{t,2}]",
    "cache_mha": r"2\, n_h\, d_h\, L",
    "cache_mla": r"(d_c + d_h^R)\, L",
    "cache_ratio": r"\frac{2\, n_h\, d_h}{d_c + d_h^R}",
}
ONE_TOKEN_MHA = ONE_TOKEN | {
    "q": r"\mathbf{q}_t = \mathbf{W}^{Q}\,\mathbf{h}_t",
    "k": r"\mathbf{k}_t = \mathbf{W}^{K}\,\mathbf{h}_t",
    "v": r"\mathbf{v}_t = \mathbf{W}^{V}\,\mathbf{h}_t",
    "q_heads": r"\mathbf{q}_t \rightarrow [\mathbf{q}_{t,1};\ \mathbf{q}_{t,2}]",
    "k_heads": r"\mathbf{k}_t \rightarrow [\mathbf{k}_{t,1};\ \mathbf{k}_{t,2}]",
    "v_heads": r"\mathbf{v}_t \rightarrow [\mathbf{v}_{t,1};\ \mathbf{v}_{t,2}]",
    "scores": r"s_{i} = \mathbf{q}_{t,i}^{\top}\,\mathbf{k}_{t,i} \,/\, \sqrt{d_h}",
    "o": r"\mathbf{o}_{t,i} = \alpha_{i}\,\mathbf{v}_{t,i}",
}
TWO_TOKENS = ONE_TOKEN | {
    "q_R": r"\mathbf{q}^{R}_{t,i} = \mathrm{RoPE}_t\left(\mathbf{q}^{R,\mathrm{pre}}_{t,i}\right)",
    "scores_C": r"s^{C}_{i,t,s} = \mathbf{q}^{C\top}_{t,i}\,\mathbf{k}^{C}_{s,i} \,/\, " + _WIDTH,
    "scores_R": r"s^{R}_{i,t,s} = \mathbf{q}^{R\top}_{t,i}\,\mathbf{k}^{R}_{s} \,/\, " + _WIDTH,
    "scores": r"s_{i,t,s} = s^{C}_{i,t,s} + s^{R}_{i,t,s}\quad (s \le t)",
    "attention": r"\alpha_{i,t,s} = e^{s_{i,t,s}} \,/\, \textstyle\sum_{j \le t} e^{s_{i,t,j}}",
    "o": r"\mathbf{o}_{t,i} = \textstyle\sum_{s \le t} \alpha_{i,t,s}\,\mathbf{v}^{C}_{s,i}",
}
TWO_TOKENS_MHA = TWO_TOKENS | {
    "q": ONE_TOKEN_MHA["q"],
    "k": ONE_TOKEN_MHA["k"],
    "v": ONE_TOKEN_MHA["v"],
    "scores_unmasked": r"s_{i,t,s} = \mathbf{q}_{t,i}^{\top}\,\mathbf{k}_{s,i} \,/\, \sqrt{d_h}",
    "scores": r"s_{i,t,s} = -\infty \quad (s > t)",
    "o": r"\mathbf{o}_{t,i} = \textstyle\sum_{s \le t} \alpha_{i,t,s}\,\mathbf{v}_{s,i}",
}
