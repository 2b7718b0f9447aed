"""Where servers with OpenAI's protocols differ: one data file a vendor, read on first use.

A file `<vendor>.toml` beside this one holds a table `[chat]`, a table `[responses]`, or both; the keys are declared in
`schema.py`, and a key takes effect where that piece is written or read, never by the name of a vendor.
An unknown key is an error. Nothing here is parsed until a dialect is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

__all__ = ["FOLDER", "Dialects", "load"]

FOLDER = Path(__file__).parent
_files: dict[str, Mapping[str, Any]] = {}


def load(vendor: str) -> Mapping[str, Any] | None:
    """The file of a vendor, checked; None when there is none. Raises `ValueError` for a key or value it may not have.

    >>> load("deepseek")["chat"]["reasoning_field"]
    'reasoning_content'
    """
    found = _files.get(vendor)
    if found is None and vendor.replace("-", "").isalnum():
        path = FOLDER / f"{vendor}.toml"
        if path.is_file():
            import tomllib

            from .schema import checked

            found = _files[vendor] = checked(vendor, tomllib.loads(path.read_text("utf-8")))
    return found


class Dialects(Mapping[str, Mapping[str, Any]]):
    """The dialects of one protocol (`"chat"` or `"responses"`) by vendor, each loaded when it is looked up.

    >>> "deepseek" in Dialects("chat"), "nobody" in Dialects("chat"), Dialects("responses")["vllm"]["name"]
    (True, False, 'vllm')
    """

    def __init__(self, protocol: str) -> None:
        self.protocol = protocol
        self._known: dict[str, Mapping[str, Any]] = {}

    def __getitem__(self, vendor: str) -> Mapping[str, Any]:
        found = self._known.get(vendor)
        if found is None:
            file = load(vendor)
            if file is None or self.protocol not in file:
                raise KeyError(vendor)
            table = {"name": vendor, "provider": vendor, **file[self.protocol]}
            if table["provider"] is False:
                table["provider"] = None
            found = self._known[vendor] = MappingProxyType(table)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(path.stem for path in FOLDER.glob("*.toml") if self.protocol in (load(path.stem) or ())))

    def __len__(self) -> int:
        return sum(1 for _ in self)
