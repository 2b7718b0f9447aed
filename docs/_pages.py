"""How generated pages are kept current: what every generator in this folder ends with.

`python docs/_NAME.py` writes the pages that are not current, `--check` only names them and ends with the code 1.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"<!-- ([\w ]+) -->\n.*?<!-- end -->", re.DOTALL)


def filled(page: Path, blocks: Mapping[str, str]) -> str:
    """The text of a page with new blocks between `<!-- name -->` and `<!-- end -->`; everything else stays."""
    return _BLOCK.sub(
        lambda found: f"<!-- {found[1]} -->\n\n{blocks[found[1]]}\n\n<!-- end -->", page.read_text("utf-8")
    )


def renew(pages: Mapping[Path, str]) -> int:
    """Write the pages whose text is another one, or only name them (`--check`); the exit code of the program."""
    check = "--check" in sys.argv
    stale = [page for page, text in pages.items() if not page.exists() or page.read_text("utf-8") != text]
    for page in stale:
        print(f"{'stale' if check else 'renewed'}: {page.relative_to(ROOT).as_posix()}")
        if not check:
            page.write_text(pages[page], "utf-8")
    if stale and check:
        print(f"run: python docs/{Path(sys.argv[0]).name}")
    return int(bool(stale) and check)
