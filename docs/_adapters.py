"""docs/adapters-reference.md: what an adapter declares and calls, written from the code.

`python docs/_adapters.py` renews the page, `--check` only compares. Descriptions are the docstrings, and for fields the
comments above them.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from _api import entry
from _pages import renew

PAGE = Path(__file__).parent / "adapters-reference.md"
INTRO = """# What an adapter declares and calls

For authors of [adapters](adapters.md): the fields of a declaration, the methods of readers and writers, the demands on
a history, and functions that several adapters share. Anything else in the core may change without notice.

This page is written by `docs/_adapters.py`.
"""
CLASSES: dict[str, dict[str, str]] = {
    "Declaration": {"unified_llm.engine.adapter": "Adapter Kind Streams Framing Route Paging"},
    "Pairs and tables": {
        "unified_llm.engine.pairs.mapping": "Mapping Bimap Fated IllTyped take take_all take_whole fill remainder",
        "unified_llm.engine.pairs.table": "Table Field",
    },
    "Reading and writing": {
        "unified_llm.engine.pairs.reading": "Reader",
        "unified_llm.engine.pairs.writing": "Writer",
    },
    "Demands on a history": {"unified_llm.passes.repair": "Rules"},
    "Schemas and names": {"unified_llm.passes.schemas": "SchemaProfile NameRule"},
}
WITH_DOC = {"unified_llm.passes.repair": "unified_llm.passes.repair.rules"}
"""Packages whose classes are described by a module: it stands in front of them."""
SHARED = {
    "unified_llm.foundation.json_codec": "dump_text load_text",
    "unified_llm.foundation.generated_ids": "made_id is_made seed_of",
    "unified_llm.provenance.opaque": "opaque_piece split_opaque seal restore is_envelope",
    "unified_llm.engine.shared.answer_ends": "reason_of has_failed write_failure error_in failure_in consume_status "
    "settle_call waits refuses answered_by_tools is_run_by_provider is_input",
    "unified_llm.engine.shared.error_headers": "read_http write_hints settle_status sent_status stop_retries",
    "unified_llm.engine.shared.error_messages": "class_of class_by_message wait_by_message",
    "unified_llm.engine.shared.emulation": "as_function",
    "unified_llm.engine.shared.file_types": "type_of_file image_type",
    "unified_llm.engine.shared.text_fallbacks": "part_as_text transcript_as_text without_media",
    "unified_llm.engine.shared.nearest_values": "nearest fit_lifetime raise_output_limit",
    "unified_llm.streams.block_writer": "BlockWriter",
}
ATTRIBUTES = {
    "Reader": {
        "doc": "the wire document; in a stream, the event that is read",
        "adapter": "the declaration of the protocol that is read",
        "protocol": "id of the protocol that is read",
        "dialect": "the mapping of its dialect, empty without one",
        "facing": "who reads the result: `provider` or `client`",
        "http": "`method`, `path`, `query`, `headers` and `status` that came beside the document; None without any",
        "seed": "what made ids are made of; set it once from what stays the same while the conversation grows",
        "trace": "what was noted of nodes so far; a mark in it is for `del r.trace[mark:]`",
    },
    "Writer": {
        "doc": "the canonical document that is written: the original, not the copy that a pair consumes",
        "adapter": "the declaration of the protocol that is written",
        "protocol": "id of the protocol that is written",
        "source": "id of the protocol that the document came from; None after `ul.read`, or if a caller made it",
        "same": "whether source and target agree, dialect included: nothing is made to fit",
        "dialect": "the mapping of the target's dialect, empty without one",
        "facing": "who reads the result: `provider` or `client`",
        "model": "the target's model, None if it is not known",
        "http": "`method`, `path`, `query`, `headers` and `status` of the result; `w.http.update(...)`",
        "exchange": "the record of the request whose response is written; None without one",
        "secret": "the key for envelopes, None without one",
        "vault": "the caller's vault, None without one",
        "raw": "the entries of the report so far; a mark in it is for `del w.raw[mark:]`",
    },
}
"""What authors use of objects that they never make; the methods come from the code."""
_EXAMPLE = re.compile(r"(?ms)\n?^```python\n>>> .*?^```\n")


def page() -> str:
    """The whole page."""
    parts = [INTRO]
    for heading, modules in CLASSES.items():
        parts.append(f"## {heading}\n")
        for name, names in modules.items():
            module = importlib.import_module(name)
            parts += [_described(name, module, each) for each in names.split()]
    parts.append("## Shared functions\n")
    for name, names in SHARED.items():
        module = importlib.import_module(name)
        first = (module.__doc__ or "").strip().partition("\n\n")[0]
        parts.append(f"### `{name}`\n\n{' '.join(first.split())}\n\n| | |\n| --- | --- |")
        parts.append("\n".join(_row(each, getattr(module, each)) for each in names.split()) + "\n")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def _described(name: str, module: ModuleType, each: str) -> str:
    value = getattr(module, each)
    text = _EXAMPLE.sub("", entry(each, value)).replace(f"### `{each}`\n", f"### `{each}`\n\n`{name}`\n", 1)
    fields = list(fields_of(value)) if isinstance(value, type) else []
    if each in ATTRIBUTES:
        missing = {*ATTRIBUTES[each]} - {name for cls in value.__mro__ for name in getattr(cls, "__slots__", ())}
        assert not missing, missing
        text = re.sub(r"(?ms)^```text\n.*?^```\n\n?", "", text, count=1)
        rows = [f"| `{name}` | {told} |" for name, told in ATTRIBUTES[each].items()]
        text += "\n| attribute | value |\n| --- | --- |\n" + "\n".join(rows) + "\n"
    elif fields and not any(comment for *_, comment in fields):
        given = [name if default == "required" else f"{name}={default.strip('`')}" for name, _, default, _ in fields]
        text = text.replace("\n\n", f"\n\n`{each}({', '.join(given)})`, of ", 1)
    elif fields:
        text = re.sub(r"(?ms)^```text\n.*?^```\n\n?", "", text, count=1)
        rows = [f"| `{field}` | `{kind}` | {default} | {comment} |" for field, kind, default, comment in fields]
        text += "\n| field | type | default | description |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"
    if name in WITH_DOC:
        text += "\n" + (importlib.import_module(WITH_DOC[name]).__doc__ or "").partition("\n\n")[2]
    return text


def fields_of(cls: type) -> Iterator[tuple[str, str, str, str]]:
    """The fields of a class in the order of its source: name, type, default, and the comment above."""
    try:
        source = inspect.getsource(cls)
    except (OSError, TypeError):
        return
    lines = source.splitlines()
    comment = ""
    for node in ast.parse(inspect.cleandoc("\n" + source)).body[0].body:  # type: ignore[attr-defined]
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        above = node.lineno - 2
        told: list[str] = []
        while lines[above].strip().startswith("#"):
            told.insert(0, lines[above].strip().removeprefix("#").strip())
            above -= 1
        comment = " ".join(told)
        default = "required" if node.value is None else _default(node.value)
        yield node.target.id, _escaped(ast.unparse(node.annotation)), default, _escaped(comment)


def _default(value: ast.expr) -> str:
    text = ast.unparse(value)
    if text.startswith("field(default_factory="):
        text = {"dict": "{}"}.get(text.removeprefix("field(default_factory=").removesuffix(")"), "...")
    return f"`{text.replace('MappingProxyType({})', '{}')}`"


def _row(name: str, value: Any) -> str:
    first = re.split(r"(?<=\.)\s|\n\n|:\n", inspect.getdoc(value) or "", maxsplit=1)[0]
    call = name
    if inspect.isfunction(value):
        call = f"{name}({', '.join(inspect.signature(value).parameters)})"
    return f"| `{call}` | {_escaped(' '.join(first.split()))} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("MappingABC", "dict")


def main() -> int:
    return renew({PAGE: page()})


if __name__ == "__main__":
    sys.exit(main())
