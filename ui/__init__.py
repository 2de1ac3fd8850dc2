"""The Streamlit side: what the pages draw, and the one seam to the engine."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
ASSETS = ROOT / "assets"
