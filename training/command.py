"""Trains every run that the study has no row of yet, some at once, each in a process of its own.

Then the model of MLA gets its indexers, in this process.
"""

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import torch
from tqdm import tqdm  # comes with transformers

from mla_engine.language_model import load_model
from training import indexer
from training.plan import DENSE, INDEXED, Run, runs
from training.report import Folders, keep, keep_indexed, keep_plan, line
from training.run import STEPS, Progress, train


def main(arguments: Sequence[str] | None = None) -> None:
    """Train every run that has no row in the study yet, two at once."""
    chosen = _options().parse_args(arguments)
    folders = Folders(chosen.folder, chosen.assets)
    keep_plan(folders)
    wanted = [run for run in runs() if not chosen.only or run.name in chosen.only]
    left = [run for run in wanted if not folders.row(run).exists()]
    print(f"{len(wanted) - len(left)} of {len(wanted)} runs are done")
    until = time.time() + 60 * chosen.minutes
    options = {"initializer": torch.set_num_threads, "initargs": (1,)}
    with ProcessPoolExecutor(chosen.workers, get_context("spawn"), **options) as pool:
        going = [pool.submit(one, run, folders, chosen.steps, until) for run in left]
        for done in as_completed(going):
            print(done.result())
    if not chosen.only or INDEXED in chosen.only:
        print(indexed(folders))


def indexed(folders: Folders, steps: int = indexer.STEPS) -> str:
    """Give the trained MLA model its indexers unless it has them; what came of it in a line."""
    if folders.weights(INDEXED).exists():
        return f"{INDEXED} is done"
    if not folders.weights(DENSE).exists():
        return f"{INDEXED}: not begun, {DENSE} comes first"
    begun, bar = time.time(), tqdm(total=steps, desc=f"{INDEXED:14}", leave=False)
    dense, _ = load_model(folders.weights(DENSE))

    def tell(step: int, loss: float) -> None:
        bar.update(step - bar.n)
        bar.set_postfix_str(f"loss {loss:.3f}")

    model = indexer.warmed_up(dense, steps, tell)
    keep_indexed(model, steps, folders, time.time() - begun)
    bar.close()
    return f"{INDEXED}: {steps} steps"


def one(run: Run, folders: Folders, steps: int, until: float) -> str:
    """Train one run unless the time is up, with a bar; what came of it in a line."""
    if time.time() > until:
        return f"{run.name}: not begun, the time is up"
    begun, bar = time.time(), tqdm(total=steps, desc=f"{run.name:14}", leave=False)

    def tell(progress: Progress) -> None:
        bar.update(progress.step - bar.n)
        bar.set_postfix_str(line(progress))

    folder = folders.progress / run.name
    model, progress = train(run, folder, steps, tell)
    keep(run, model, progress, folders, time.time() - begun)
    bar.close()
    return f"{run.name}: {progress.step} steps, {line(progress)}"


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make train", description=__doc__)
    parser.add_argument("--only", nargs="*", help="names of runs, as mla-0, or dsa; all by default")
    parser.add_argument("--steps", type=int, default=STEPS, help="at most")
    parser.add_argument("--minutes", type=float, default=90, help="after which none is begun")
    parser.add_argument("--workers", type=int, default=2, help="processes of one thread each")
    parser.add_argument("--folder", type=Path, default=Folders.progress, help="of the progress")
    parser.add_argument("--assets", type=Path, default=Folders.assets, help="of what is finished")
    return parser
