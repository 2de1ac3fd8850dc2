"""The merged matrices of MLA's absorbed form, against the trace of the expanded one."""

import pytest
import torch

from mla_engine import LatentConfig, MultiHeadLatentAttention
from tests.engine.samples import hidden

pytestmark = pytest.mark.usefixtures("unmeasured")


@pytest.mark.parametrize("d_latent_q", [5, None])
def test_absorbed_matrices_reproduce_the_content_scores_and_the_output(d_latent_q):
    config = LatentConfig(
        d_model=6, n_heads=3, d_head=2, d_value=3, d_latent_kv=4, d_rope=4, d_latent_q=d_latent_q,
        q_latent_scale=2.0, kv_latent_scale=3.0,
    )  # fmt: skip
    mla, chosen = MultiHeadLatentAttention(config, dtype=torch.float64), [2, 0]
    trace, merged = mla(hidden(1, 4, 6), heads=chosen), mla.absorbed_matrices(heads=chosen)
    source = 2.0 * (trace.c_Q if d_latent_q else trace.h)  # c_KV is scaled, the matrices are not
    u = torch.zeros_like(trace.u)
    for i in range(len(chosen)):
        scores = source[0] @ merged.W_QK[i] @ trace.c_KV[0].T * config.scale
        torch.testing.assert_close(scores, trace.scores_C[0, i], rtol=1e-12, atol=1e-12)
        u[0] += trace.attention[0, i] @ trace.c_KV[0] @ merged.W_VO[i].T
        assert torch.linalg.matrix_rank(merged.W_QK[i]) == 2
    torch.testing.assert_close(u, trace.u, rtol=1e-12, atol=1e-12)
