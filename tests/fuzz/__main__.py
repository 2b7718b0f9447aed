from __future__ import annotations

import sys

from fuzz.running import main

if __name__ == "__main__":
    sys.exit(main())
