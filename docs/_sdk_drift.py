"""docs/sdk-drift.md: the changes in updates of the official SDKs, as `unified-llm drift sdk` lists them.

`python docs/_sdk_drift.py FOLDER` renews it. FOLDER holds older versions, each put there by
`pip install --target FOLDER/<name>-<version> <name>==<version>`; the newest is the one that is installed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from unified_llm.drift.sdk import Difference, declared, differences
from unified_llm.engine.registry import adapter, protocols
from unified_llm.engine.sdk_declarations import Declared, pinned

PAGE = Path(__file__).parent / "sdk-drift.md"
INTRO = """# Changes in SDK updates

`unified-llm drift sdk` compares what the installed official SDKs (and the Open Responses schema, where a package ships
it) declare with what the adapters have classified, and names the file to change for each difference. A test of this
repository does the same, so an update that declares more fails the build until it is classified and
`unified-llm drift sdk --update` pins it. Names of models and beta headers are left out.

Does it find real changes? The tables below list what it reports for past updates, each from one version to the next,
by the file that was adapted. An object is named by its `type`, any other by its key; `key="word"` is a value.
`python docs/_sdk_drift.py FOLDER` repeats it with any versions.
"""


def versions(folder: Path, sdk: str) -> list[Path]:
    """The older versions of an SDK, oldest first."""
    found = [path for path in folder.glob(f"{sdk}-[0-9]*") if path.is_dir()]
    return sorted(found, key=lambda path: [int(part) for part in re.findall(r"\d+", path.name)])


def page(folder: Path) -> str:
    parts = [INTRO]
    for protocol in protocols():
        newest = pinned(protocol)
        if newest is None:
            continue
        older = versions(folder, name := newest.sdk.split()[0])
        if not older:
            sys.exit(
                f"{folder}: no older version of {name}; pip install --target {folder}/{name}-VERSION {name}==VERSION"
            )
        steps: list[Declared] = [*(declared(protocol, path) for path in older), newest]
        parts.append(f"## {adapter(protocol).title}\n")
        for before, after in pairwise(steps):
            found = differences(before, after)
            what = {word: sum(each.what == word for each in found) for word in ("new", "gone", "changed")}
            counts = ", ".join(f"{count} {word}" for word, count in what.items() if count)
            parts.append(f"### From {before.sdk} to {after.sdk}: {counts or 'nothing'}\n")
            if found:
                parts += [*_by_file(found), ""]
    return "\n".join(parts).rstrip("\n") + "\n"


def _by_file(found: list[Difference]) -> Iterator[str]:
    yield "| file | differences |"
    yield "| --- | --- |"
    for file in sorted({each.file for each in found}):
        told = []
        for word in ("new", "gone", "changed"):
            mine = [each for each in found if each.file == file and each.what == word]
            named = [f"`{each.place}`" + (f" ({each.detail})" if word == "changed" else "") for each in mine]
            told += [f"{word}: {', '.join(named)}"] if named else []
        yield f"| `{file}` | {'; '.join(told)} |"


if __name__ == "__main__":
    PAGE.write_text(page(Path(sys.argv[1])), "utf-8")
