"""A whole real model beside transformers' own run of the same folder, side by side in one run.

    python benchmarks/real_model.py [FOLDER] [--threads 2] [--rounds 12]

Every round times each side once, in turns, after a first round that is not counted: wall clock and
processor time. Goals: what a page needs of a new sentence within 1.5 s and at most 1.2 of the time
of transformers' forward that gives as much (all maps, hidden states, logits); another layer within
0.4 s. Also: its plain forward beside ours without a trace, words of generation, the scores of all
heads on fresh texts and as an atlas, and the memory held and at the peak. Written to
benchmarks/results/real_model.json.
"""

import argparse
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from mla_engine.language_model import generate  # noqa: E402 - found by the path
from mla_engine.language_model.reading import layer_of, read  # noqa: E402
from mla_engine.language_model.real import RealModel, load_real  # noqa: E402
from mla_engine.language_model.text_heads import atlas, repeat_scores, sentence_scores  # noqa: E402

FOLDER = ROOT / "models" / "smollm2-135m-instruct"
RESULTS = ROOT / "benchmarks" / "results" / "real_model.json"
SENTENCES = (  # a new one each time
    "Alice went to the market and bought a red apple. Then Alice went to the market and bought a",
    "The old captain looked at the sea for an hour, and then he told the young sailor that the sea",
    "When Anna had read the letter twice she gave it to her brother, who read the letter aloud to",
)
MOST_SECONDS, MOST_RATIO, MOST_LAYER_SECONDS, WORDS = 1.5, 1.2, 0.4, 8
Sides = dict[str, Callable[[int], object]]


def in_turns(sides: Sides, rounds: int) -> dict[str, dict[str, float]]:
    """Return each side's median seconds of wall clock and of the processor."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, run in sides.items():
            before = time.perf_counter(), time.process_time()
            run(number)
            after = time.perf_counter(), time.process_time()
            taken[name].append((after[0] - before[0], after[1] - before[1]))
    return {
        name: dict(
            zip(("wall", "processor"), map(statistics.median, zip(*times[1:], strict=True)),
                strict=True)
        )
        for name, times in taken.items()
    }  # fmt: skip


def ours(model: RealModel) -> Sides:
    """Our sides; `sentence` is all that a page asks for when a reader types."""

    def ids(number: int) -> torch.Tensor:
        return torch.tensor([model.config.tokens(SENTENCES[number % len(SENTENCES)])])

    def sentence(number: int) -> None:
        found = read(model, ids(number))
        found.probabilities()
        sentence_scores(found)
        layer_of(model, found, number % model.config.n_layers)

    held, fresh = read(model, ids(0)), repeat_scores(model)
    return {
        "a new sentence": sentence,
        "read": lambda number: read(model, ids(number)),
        "another layer": lambda number: layer_of(model, held, number % model.config.n_layers),
        "logits alone": lambda number: model.logits(ids(number)),
        f"{WORDS} words": lambda number: [*generate(model, ids(number), WORDS)],
        "scores on fresh texts": lambda number: repeat_scores(model, seed=number),
        "atlas": lambda _number: atlas(fresh, sentence_scores(held)),
    }


def theirs(folder: Path, model: RealModel) -> Sides:
    """Their sides, by eager attention, which alone gives maps, and by their default."""
    from transformers import AutoModelForCausalLM, logging  # after our memory was measured

    logging.disable_progress_bar()
    eager, default = (
        AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **options).eval()
        for options in ({"attn_implementation": "eager"}, {})
    )

    def ids(number: int) -> torch.Tensor:
        return torch.tensor([model.config.tokens(SENTENCES[number % len(SENTENCES)])])

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
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=12)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    with torch.inference_mode():
        memory, start = {"before": resident()}, time.perf_counter()
        model = load_real(asked.folder)
        memory |= {"loaded": resident(), "load_seconds": time.perf_counter() - start}
        sides = ours(model)
        memory["read"] = resident()
        times = in_turns(sides | theirs(asked.folder, model), asked.rounds)
    new, full = times["a new sentence"], times["their forward with maps"]
    ratios = {clock: times["read"][clock] / full[clock] for clock in full}
    for name, taken in times.items():
        print(f"{name:24} {taken['wall']:7.3f} s, processor {taken['processor']:7.3f} s")
    print(
        "read over their forward with maps:", ", ".join(f"{k} {v:.2f}" for k, v in ratios.items())
    )
    print(f"MiB: {memory}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    about = {"threads": asked.threads, "load": os.getloadavg()[0], "torch": torch.__version__}
    found = about | {"seconds": times, "ratios": ratios, "memory_mib": memory}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    late = new["wall"] > MOST_SECONDS or times["another layer"]["wall"] > MOST_LAYER_SECONDS
    return int(late or ratios["wall"] > MOST_RATIO)


if __name__ == "__main__":
    sys.exit(main())
