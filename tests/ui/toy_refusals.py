"""Start the app of every tree that is named, each in its own process, and print what it says.

One process imports what takes long; those that start an app are forked from it.
"""

import importlib
import json
import multiprocessing
import os
import sys

import pandas  # noqa: F401 - what takes long
import plotly.graph_objects  # noqa: F401
import streamlit.testing.v1  # noqa: F401
import torch  # noqa: F401

import mla_engine.checkpoints
import mla_engine.claims
import mla_engine.figures
import mla_engine.quiz
import mla_engine.worked_example  # noqa: F401


def refused(tree: str) -> str:
    """Return why the module that every page imports first cannot be imported; empty if it can."""
    os.chdir(tree)
    sys.path.insert(0, tree)
    try:
        importlib.import_module("ui.frame")
    except Exception as error:
        return str(error)
    return ""


if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    with fork.Pool(1, maxtasksperchild=1) as pool:
        sys.stdout.write(json.dumps(pool.map(refused, sys.argv[1:], chunksize=1)))
