"""`docs/dialects.md`, written from the files of dialects: the vendors, the keys, and the content of each file.

`python docs/_dialects.py` writes the page; `--check` only checks that it is current (a test does the same).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from _pages import renew
from unified_llm_openai.dialects import FOLDER, load
from unified_llm_openai.dialects.schema import KEYS

PAGE = Path(__file__).parent / "dialects.md"
TITLES = {"chat": "openai-chat", "responses": "openai-responses"}

INTRO = """# Dialects

Many servers use OpenAI's protocols, each with differences. Add the dialect to the protocol, on either side:

```python
>>> import unified_llm as ul
>>> body = {"model": "m", "seed": 7, "reasoning_effort": "none",
...         "messages": [{"role": "developer", "content": "Be terse."}, {"role": "user", "content": "Hi"}]}
>>> done = ul.convert(body, source="openai-chat", target="openai-chat:deepseek")
>>> done.value["thinking"], done.value["messages"][0]["role"]
({'type': 'disabled'}, 'system')
>>> [(loss.path, loss.fate) for loss in done.losses]
[('/messages/0/role', 'approximated'), ('/reasoning_effort', 'approximated'), ('/seed', 'lost')]

```

* **As a target** a dialect is sent what it accepts, in its own spelling. Everything else is reported, never dropped
  without a report. A document of the very same dialect stays unchanged.
* **As a source** a dialect determines how fields are read where its meaning differs (its token counts, error codes,
  tags around reasoning). Without a dialect all common spellings are read; pass the dialect where you know it.
* Facts that differ by model and not by server are data of [models](architecture.md).

A dialect is a file `<vendor>.toml` in `adapters/unified_llm_openai/dialects/`. To add a vendor, add one; a key that
is not in the tables below is an error. No code contains a vendor's name, and a test removes every entry of every file
and expects something to change. This page is written by `docs/_dialects.py` from the files.
"""


def vendors() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def keys() -> Iterator[str]:
    """The keys that a file may contain."""
    for protocol, declared in KEYS.items():
        yield f"### `[{protocol}]`\n"
        yield "| key | meaning |\n| --- | --- |"
        for name, key in declared.items():
            words = f" One of {_codes(key.words)}." if key.words and key.shape == "word" else ""
            yield f"| `{name}` | {key.says}{words} |"
        yield ""


def overview(files: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield "| vendor | name | protocols | reasoning is in | and goes back | controls of reasoning |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for vendor, file in files.items():
        chat = file.get("chat", {})
        tags = f"content, between {_codes(chat['reasoning_tags'])}" if "reasoning_tags" in chat else ""
        field = chat.get("reasoning_field")
        where = tags or (f"`{field}`" if field else "" if "chat" not in file else "any known field")
        back = {"calls": "with calls", "never": "never"}.get(chat.get("reasoning_replay", ""), "always")
        controls = [path.removeprefix("!") for path in chat.get("control", {}).values()]
        if "chat" in file and "effort" not in chat.get("control", {}):
            if "reasoning_effort" not in (*chat.get("refuses", ()), *chat.get("ignores", ())):
                controls.insert(0, "reasoning_effort")
        names = ", ".join(f"`{TITLES[name]}`" for name in KEYS if name in file)
        yield (
            f"| [{file['title']}](#{_anchor(file['title'])}) | `{vendor}` | {names} | {where} "
            f"| {back if field else 'never' if 'chat' in file else ''} | {_codes(controls)} |"
        )


def section(vendor: str, file: Mapping[str, Any]) -> Iterator[str]:
    """The content of the file of one vendor."""
    sources = " · ".join(f"<{source}>" for source in file["sources"])
    yield f"### {file['title']}\n\n`{vendor}`. As of {file['as_of']}, from {sources}\n"
    for protocol in KEYS:
        if protocol not in file:
            continue
        if not file[protocol]:
            yield f"`{TITLES[protocol]}` as OpenAI has it.\n"
            continue
        yield f"| `{TITLES[protocol]}` | |\n| --- | --- |"
        for key, value in file[protocol].items():
            yield f"| `{key}` | {_told(value)} |"
        yield ""


def _told(value: Any) -> str:
    if type(value) is bool:
        return "yes" if value else "no"
    if type(value) is list:
        return _codes(value)
    if type(value) is dict:
        return "; ".join(f"`{key}`: {_told(inner)}" for key, inner in value.items())
    return f"`{value}`"


def _codes(values: Any) -> str:
    return ", ".join(f"`{str(value).lower() if type(value) is bool else value}`" for value in values)


def _anchor(title: str) -> str:
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -")
    return kept.replace(" ", "-")


def page() -> str:
    files = {vendor: load(vendor) or {} for vendor in vendors()}
    lines = [INTRO, "## Vendors\n", *overview(files), "", "## Keys\n", *keys(), "## Content of each file\n"]
    for vendor, file in files.items():
        lines += section(vendor, file)
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    return renew({PAGE: page()})


if __name__ == "__main__":
    sys.exit(main())
