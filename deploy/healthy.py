"""Ends with 0 where every process of the app on this machine has shown a page, else with 1."""

import sys
from urllib.request import ProxyHandler, build_opener

from start import ports

if __name__ == "__main__":
    ask = build_opener(ProxyHandler({})).open
    try:
        for port in ports():
            ask(f"http://127.0.0.1:{port}/healthz", timeout=5).close()
    except OSError as error:
        sys.exit(f"port {port}: {error}")
