"""A whole real model beside transformers' own run of the same folder, side by side in one run.

    python benchmarks/real_model.py [FOLDER] [--threads 1] [--rounds 4]

Every round times each side once, in turns, after a first round that is not counted: wall clock and
processor time. Goals: what a page needs of a new sentence within 1.5 s, and the run alone at most
1.2 of the time of transformers' forward that gives as much (all maps, hidden states, logits);
another layer within 0.4 s. Where the clock times of transformers' forward lie further apart than
a quarter of their median, no ratio of the clock is given, and that of processor time decides. Also:
its plain forward beside ours without a trace, words of generation, the scores of all heads on fresh
texts, and the memory held and at the peak. Written to benchmarks/results/real_model.json.
"""

import argparse
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from math import inf
from pathlib import Path

import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from mla_engine.language_model import generate  # noqa: E402 - found by the path
from mla_engine.language_model.reading import layer_of, read  # noqa: E402
from mla_engine.language_model.real import RealModel, load_real  # noqa: E402
from mla_engine.language_model.text_heads import repeat_scores, sentence_scores  # noqa: E402

FOLDER = ROOT / "models" / "smollm2-135m-instruct"
RESULTS = ROOT / "benchmarks" / "results" / "real_model.json"
SENTENCES = (  # a new one each time
    "Alice went to the market and bought a red apple. Then Alice went to the market and bought a",
    "The old captain looked at the sea for an hour, and then he told the young sailor that the sea",
    "When Anna had read the letter twice she gave it to her brother, who read the letter aloud to",
)
MOST_SECONDS, MOST_RATIO, MOST_LAYER_SECONDS, WORDS = 1.5, 1.2, 0.4, 8
MOST_SPREAD = 0.25  # between quartiles, of the median
Sides = dict[str, Callable[[int], object]]
Times = dict[str, dict[str, list[float]]]


def in_turns(sides: Sides, rounds: int) -> Times:
    """Return each side's seconds of wall clock and of the processor, in every round."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, run in sides.items():
            before = time.perf_counter(), time.process_time()
            run(number)
            after = time.perf_counter(), time.process_time()
            taken[name].append((after[0] - before[0], after[1] - before[1]))
    clocks = "wall", "processor"
    return {
        name: dict(zip(clocks, map(list, zip(*times[1:], strict=True)), strict=True))
        for name, times in taken.items()
    }


def ratio(mine: list[float], beside: list[float]) -> float | None:
    """Return that of their medians; None where those of the other side lie too far apart."""
    first, middle, last = statistics.quantiles(beside, method="inclusive")
    if last - first > MOST_SPREAD * middle:
        return None
    return statistics.median(mine) / middle


def ours(model: RealModel, ids: Callable[[int], torch.Tensor]) -> Sides:
    """Our sides; `sentence` is all that a page asks for when a reader types."""

    def sentence(number: int) -> None:
        found = read(model, ids(number))
        found.probabilities()
        sentence_scores(found)
        layer_of(model, found, number % model.config.n_layers)

    held = read(model, ids(0))
    return {
        "a new sentence": sentence,
        "read": lambda number: read(model, ids(number)),
        "another layer": lambda number: layer_of(model, held, number % model.config.n_layers),
        "logits alone": lambda number: model.logits(ids(number)),
        f"{WORDS} words": lambda number: [*generate(model, ids(number), WORDS)],
        "scores on fresh texts": lambda number: repeat_scores(model, seed=number),
    }


def theirs(folder: Path, ids: Callable[[int], torch.Tensor]) -> Sides:
    """Their sides, by eager attention, which alone gives maps, and by their default."""
    from transformers import AutoModelForCausalLM, logging  # after our memory was measured

    logging.disable_progress_bar()
    eager, default = (
        AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **options).eval()
        for options in ({"attn_implementation": "eager"}, {})
    )
    everything = {"output_attentions": True, "output_hidden_states": True}
    written = {"min_new_tokens": WORDS, "max_new_tokens": WORDS, "do_sample": False}
    return {
        "their forward with maps": lambda number: eager(ids(number), **everything),
        "their forward": lambda number: default(ids(number)),
        f"their {WORDS} words": lambda number: default.generate(
            ids(number), attention_mask=torch.ones_like(ids(number)), pad_token_id=0, **written
        ),
    }


def resident() -> dict[str, int]:
    """Return the mebibytes held now and at the peak so far."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"now": pages * os.sysconf("SC_PAGE_SIZE") // 2**20, "peak": peak}


def main() -> int:
    """Print the table; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=4)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    with torch.inference_mode():
        memory, start = {"before": resident()}, time.perf_counter()
        model = load_real(asked.folder)
        memory |= {"loaded": resident(), "load_seconds": time.perf_counter() - start}

        def ids(number: int) -> torch.Tensor:
            return torch.tensor([model.config.tokens(SENTENCES[number % len(SENTENCES)])])

        sides = ours(model, ids)
        memory["read"] = resident()
        seconds = in_turns(sides | theirs(asked.folder, ids), asked.rounds)
    times = {
        name: {clock: statistics.median(each) for clock, each in taken.items()}
        for name, taken in seconds.items()
    }
    alone, full = seconds["read"], seconds["their forward with maps"]
    ratios = {clock: ratio(alone[clock], full[clock]) for clock in full}
    for name, taken in times.items():
        print(f"{name:24} {taken['wall']:7.3f} s, processor {taken['processor']:7.3f} s")
    said = (f"{k} {v:.2f}" if v else f"{k}: times too far apart" for k, v in ratios.items())
    print("read over their forward with maps:", ", ".join(said))
    print(f"MiB: {memory}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    about = {"threads": asked.threads, "load": os.getloadavg()[0], "cores": os.cpu_count()}
    about |= {name: version(name) for name in ("torch", "transformers")}
    found = about | {"seconds": times, "ratios": ratios, "memory_mib": memory}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    new, layer = times["a new sentence"]["wall"], times["another layer"]["wall"]
    late = new > MOST_SECONDS or layer > MOST_LAYER_SECONDS
    return int(late or (ratios["wall"] or ratios["processor"] or inf) > MOST_RATIO)


if __name__ == "__main__":
    sys.exit(main())
