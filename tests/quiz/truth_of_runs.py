"""The quiz's answers on runs and maps, by the oracle's loops and from the maps themselves."""

import itertools
import math
from dataclasses import replace
from functools import cache

import numpy as np

from mla_engine.claims.layers import MLA, NORMED, hidden, layer
from mla_engine.quiz.maps import SIZES
from tests import reference
from tests.quiz.truth import Truth

ROUNDING = (0, 1e-12)


def _weights(config):
    return {name: p.detach().numpy() for name, p in layer(config).named_parameters()}


def _off(got, wanted):
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


@cache
def _oracle(config, tokens=6, start=0):
    h = hidden(config, tokens).numpy()
    return reference.latent(config, _weights(config), h, np.arange(start, start + tokens))


def shifted(q):
    here, there = _oracle(MLA), _oracle(MLA, start=q.fact("shift"))
    off = {n: _off(there[n], here[n]) for n in ("q_R", "k_R", "scores_R", "u")}
    turned, scored = off["q_R"] > 0.01 < off["k_R"], off["scores_R"] > 1e-9
    return Truth(
        (off["q_R"], off["k_R"], ROUNDING, ROUNDING),
        {
            "nothing": not turned,
            "the rotary query and key, but no score": turned and not scored and off["u"] < 1e-9,
            "the scores, too, but not the output": scored and off["u"] < 1e-9,
            "everything, the output included": off["u"] > 1e-9,
        },
        {"the distance alone|只取决于距离": not scored},
    )


def stacked_heads(q):
    config = replace(MLA, n_heads=q.fact("n_heads"))
    w, run = _weights(config), _oracle(config)
    stacked = np.concatenate(w["W_UQ"]).T @ np.concatenate(w["W_UK"])
    given = run["c_Q"][0] @ stacked @ run["c_KV"][0].T
    each = np.einsum("thk,shk->hts", run["q_C"][0], run["k_C"][0])
    nearest = min(_off(given, one) for one in each)
    mean, most = _off(given, each.mean(0)), _off(given, each.max(0))
    is_sum = _off(given, each.sum(0)) < 1e-12
    return Truth(
        (ROUNDING, mean, nearest),
        {
            "the scores of one of the heads": nearest < 1e-12,
            "the mean of the heads' scores": mean < 1e-12,
            "the sum of the heads' scores": is_sum,
            "the largest of the heads' scores": most < 1e-12,
        },
        {"nearest head|最接近的头": True, "sums over the heads|对各头求和": is_sum},
    )


def norm_between(q):
    normed = q.fact("norm") == "with_norm"
    found = []
    for n_heads in (2, 4):
        config = replace(NORMED, n_heads=n_heads, latent_norm=normed)
        w = _weights(config)
        straight = np.einsum("td,hkc,cd->thk", hidden(config)[0].numpy(), w["W_UK"], w["W_DKV"])
        found.append(_off(straight, _oracle(config)["k_C"][0]))
    same = max(found) < 1e-12
    return Truth(
        ((min(found), max(found)) if normed else ROUNDING,),
        {"yes, but for rounding": same, "no, they come out different": not same},
        {
            "The norm divides|归一化要除以": normed,
            "a different one for every token|每个词元的长度都不同": normed,
            "the same two products in another order|同样的两个乘积": not normed,
            r"differ by \S+, which is rounding|只是舍入误差": same,
            r"keys differ by \S+\. The": not same,
        },
    )


def head_of_group(q):
    size = q.fact("n_heads") // q.fact("groups")
    first = q.fact("head") // size * size
    sharing = [*range(first, first + size)]
    heads = range(q.fact("n_heads"))
    listed = {
        ", ".join(map(str, some)): [*some] == sharing
        for length in range(1, len(heads) + 1)
        for some in itertools.combinations(heads, length)
    }
    return Truth((*sharing, size), listed)


def kept(q):
    run = _oracle(NORMED, q.fact("tokens"))
    pairs = [f"{a}, {b}" for a in ("c_KV_pre", "c_KV") for b in ("k_R_pre", "k_R")]
    return Truth(
        (_off(run["c_KV_pre"], run["c_KV"]), _off(run["k_R_pre"], run["k_R"])),
        {pair: pair == "c_KV, k_R" for pair in pairs},
        {"They differ from|它们与之前的相差": True},
    )


def forms_agree(q):
    return Truth(
        ((1e-18, 1e-12),),
        {
            "not at all: equal bit for bit": False,
            "by rounding alone, below 10⁻¹²": True,
            "visibly, above 10⁻¹²": False,
        },
        {"the same in another order|乘积相同，只是次序不同": True, "largest value|最大值": True},
    )


def example_ratio(q):
    tokens = q.fact("tokens")
    mha, mla = tokens * 2 * 2 * 2, tokens * (2 + 1)
    return Truth(
        (mha, mla, mha / mla, 4),
        {
            "latent and shared rotary key": mha / mla,
            "leaves out the rotary part": mha / (2 * tokens),
            "counts keys alone": mha / 2 / mla,
            "as many": 1,
        },
    )


def _map(q, because):
    return next(m for c, m in zip(q.choices, q.maps, strict=True) if c.because == because)


def _letter(q, holds):
    places = [n for n, shares in enumerate(q.maps) if holds(shares)]
    assert len(places) == 1, f"{len(places)} of the maps fit"
    return "ABCD"[places[0]]


def unrotated(q):
    def uneven(shares):
        """The largest difference among the shares of equal words: the, cat, saw, the, ..."""
        return max(float(np.ptp(shares[-1, word::3])) for word in range(3))

    turned = [uneven(_map(q, name)) for name in ("rotated", "half_pairing")]
    right = _letter(q, lambda shares: uneven(shares) < 1e-6)
    others = "ABC".replace(right, "")
    return Truth(
        (right, (0, 1e-6), *turned),
        {
            "not rotated": right,
            "rotated, neighbours paired": others,
            "rotated, halves paired": others,
        },
        {
            "last query gives equal words equal shares|最后一个查询给相同的词相同的份额": True,
            "they differ by up to|最多相差": min(turned) > 1e-3,
        },
    )


def window(q):
    width = q.fact("width")
    narrow, wider, whole = (
        _letter(q, lambda shares, n=n: (shares[-1] > 0).sum() == n)
        for n in (width, width + 1, len(q.tokens))
    )
    return Truth(
        (narrow, width, width + 1, len(q.tokens)),
        {
            "the window asked for": narrow,
            "a window one token wider": wider,
            "all tokens before": whole,
        },
        {"its last query|最后一个查询": True},
    )


def wrong_scale(q):
    def spread(shares):
        """Logits of the last query are the scale times what is the same in every map."""
        return float(np.std(np.log(shares[-1].astype(float))))

    small, right, large = sorted(q.maps, key=spread)
    letters = [_letter(q, lambda shares, m=m: shares is m) for m in (small, right, large)]
    times = [spread(shares) / spread(right) for shares in (small, large)]
    absorbed = math.sqrt((SIZES.d_head + SIZES.d_rope) / (SIZES.d_latent_kv + SIZES.d_rope))
    most = [float(shares[-1].max()) for shares in (small, right, large)]
    return Truth(
        (letters[0], *most),
        dict(
            zip(
                ("a sixth of the scale", "the right scale", "six times the scale"),
                letters,
                strict=True,
            )
        ),
        {
            "a sixth of the (right )?scale|六分之一": math.isclose(times[0], 1 / 6, rel_tol=1e-3),
            "six times as much|六倍": math.isclose(times[1], 6, rel_tol=1e-3),
            "absorbed|吸收": math.isclose(times[0], absorbed, rel_tol=1e-3),
            "last query's largest share|最后一个查询的最大份额": True,
            "evens the shares out|份额越平均": most == sorted(most),
        },
    )


def not_causal(q):
    ahead = [float(np.triu(shares, 1).sum()) for shares in q.maps]
    wrong = int(np.argmax(ahead))
    right = _letter(q, lambda shares: np.triu(shares, 1).any())
    turned = _letter(q, lambda shares: np.array_equal(shares, q.maps[wrong].T))
    return Truth(
        (right, ahead[wrong], min(ahead), turned),
        {
            "rows and columns exchanged": right,
            "a head of the layer": turned,
            "another head of the layer": "ABC".replace(right, "").replace(turned, ""),
        },
        {
            "the first map": turned == "A",
            "another map|另一张图": True,
            "other maps it is|另外两张为": sorted(ahead)[1] == 0,
        },
    )


KINDS = (
    shifted, stacked_heads, norm_between, head_of_group, kept, forms_agree, example_ratio,
    unrotated, window, wrong_scale, not_causal,
)  # fmt: skip
