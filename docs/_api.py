"""docs/api.md: every public function and class that is not of the canonical model, written from the code.

`python docs/_api.py` renews the page, `--check` only compares. Descriptions and examples are the docstrings.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import unified_llm as ul
from _pages import renew

PAGE = Path(__file__).parent / "api.md"
INTRO = """# API

The functions and classes of `import unified_llm as ul`, with their parameters. The classes of the canonical model have
a page of their own ([reference](reference.md)), and so have the [errors](errors.md) and what an
[adapter](adapters-reference.md) declares. The examples begin with

```python
>>> import unified_llm as ul
>>> from unified_llm import *
>>> from unified_llm.drift import *
>>> from unified_llm.models import *
>>> from unified_llm.suite import *

```

This page is written by `docs/_api.py`.
"""
SECTIONS: dict[str, str] = {
    "Convert documents": "convert Converted read write preview to_sdk Trace",
    "Convert streams": "convert_stream aconvert_stream ConvertedStream translate_sse atranslate_sse read_stream "
    "write_stream collect decompose",
    "Losses": "Losses Loss LossGroup",
    "Conversations over several providers": "Exchange Vault MemoryVault",
    "Canonical objects": "validate dump cap",
    "Call models": "Client AsyncClient Upstream Retry Result EventStream AsyncEventStream ParsedStream "
    "AsyncParsedStream Background AsyncBackground TokenCount ModelInfo Store MemoryStore file image "
    "http_client async_http_client",
    "Tools": "tool Tool ToolContext ToolOutput ToolError ToolServer AsyncToolServer RunResult RunStream "
    "AsyncRunStream Step TurnDone",
    "Hooks": "Hooks RequestInfo ResponseInfo RetryInfo",
    "Protocols": "protocols register",
}
MODULES = {"ul.models": ul.models, "ul.drift": ul.drift, "ul.suite": ul.suite}
ELSEWHERE = {"client", "drift", "jsonarray", "models", "sse", "suite", "types", "__version__"}
_EXAMPLE = re.compile(r"(?m)(?:^>>> .*\n(?:(?!>>> |\n).*\n?)*)+")
_ARGUMENTS = re.compile(r"(?m)^Args:\n((?:    .*\n)+)")
_LONGEST = 110  # of a line with a signature
_MOST = 6  # parameters of a method that a row has


def page() -> str:
    """The whole page."""
    parts = [INTRO]
    for heading, names in SECTIONS.items():
        parts.append(f"## {heading}\n")
        parts += [entry(f"ul.{name}", getattr(ul, name)) for name in names.split()]
    for heading, module in MODULES.items():
        parts.append(f"## `{heading}`\n\n{described(module)}")
        parts += [entry(f"{heading}.{name}", value) for name, value in functions_of(module)]
    return "\n".join(parts).rstrip() + "\n"


def left_out() -> set[str]:
    """The public names that are neither on this page nor on those it names."""
    shown = {name for names in SECTIONS.values() for name in names.split()}
    errors = {name for name in ul.__all__ if _is_error(getattr(ul, name))}
    return {*ul.__all__} - shown - errors - {*ul.types.__all__} - ELSEWHERE - _words()


def _is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def _words() -> set[str]:
    """The types of a parameter that are a choice between words or classes: the signatures name them."""
    return {name for name in ul.__all__ if not callable(getattr(ul, name)) or hasattr(getattr(ul, name), "__args__")}


def functions_of(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isfunction(value):
            yield name, value


def entry(name: str, value: Any) -> str:
    """One function, or one class with its methods."""
    if not isinstance(value, type):
        return f"### `{name}`\n\n{signature(name, value)}\n{described(value)}"
    head = "" if _is_made_by_us(value) else signature(name, value) + "\n"
    methods = [method(each, found) for each, found in methods_of(value)]
    rows = "| | |\n| --- | --- |\n" + "\n".join(methods) + "\n" if methods else ""
    return f"### `{name}`\n\n{head}{described(value)}\n{rows}"


def _is_made_by_us(cls: type) -> bool:
    """Whether callers get objects of a class and never make one."""
    return not inspect.isfunction(cls.__init__) or getattr(cls, "_is_protocol", False) or issubclass(cls, ul.Model)


def methods_of(cls: type) -> Iterator[tuple[str, Any]]:
    for each in dir(cls):
        found = inspect.getattr_static(cls, each)
        function = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
        if not each.startswith("_") and inspect.isfunction(function) and function.__doc__:
            if function.__module__.startswith("unified_llm"):
                yield each, found


def method(name: str, found: Any) -> str:
    """A row: the call, and the first sentence about it."""
    function = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
    first = re.split(r"(?<=\.)\s|\n\n|:\n", inspect.getdoc(function) or "", maxsplit=1)[0]
    names = list(_names(function))
    shown = names if len(names) <= _MOST else [*names[:_MOST], "..."]
    call = name if isinstance(found, property) else f"{name}({', '.join(shown)})"
    return f"| `{call}` | {' '.join(first.split()).replace('|', chr(92) + '|')} |"


def _names(function: Any) -> Iterator[str]:
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in ("self", "cls"):
            yield {
                inspect.Parameter.KEYWORD_ONLY: f"{parameter.name}=",
                inspect.Parameter.VAR_KEYWORD: "**options",
            }.get(parameter.kind, parameter.name)


def signature(name: str, value: Any) -> str:
    """The call with types and defaults, on one line or one for each parameter."""
    found = inspect.signature(value)
    shown, starred = [], False
    for each in found.parameters.values():
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            starred = True
            shown.append("*")
        if each.kind is inspect.Parameter.VAR_POSITIONAL:
            starred = True
        shown.append(_parameter(each))
    result = (
        "" if found.return_annotation in (inspect.Signature.empty, None) else f" -> {_type(found.return_annotation)}"
    )
    if isinstance(value, type):
        result = ""
    line = f"{name}({', '.join(shown)}){result}"
    if len(line) > _LONGEST:
        line = f"{name}(\n" + "".join(f"    {each},\n" for each in shown) + f"){result}"
    return f"```text\n{line}\n```\n"


def _type(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _parameter(parameter: inspect.Parameter) -> str:
    """A parameter with its type and default. A default that is an object of ours stands for "not given"."""
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    text = marks.get(parameter.kind, "") + parameter.name
    if parameter.annotation is not inspect.Parameter.empty:
        text += f": {_type(parameter.annotation)}"
    if parameter.default is not inspect.Parameter.empty:
        default = repr(parameter.default)
        text += f" = {'...' if default.startswith('<') else default}"
    return text


def described(value: Any) -> str:
    """The docstring, its examples as code."""
    text = (inspect.getdoc(value) or "").strip() + "\n"
    text = re.sub(r"docs/([\w-]+\.md)", r"[\1](\1)", text)
    text = _ARGUMENTS.sub(lambda found: re.sub(r"(?m)^    ([\w, ]+): ", r"* `\1`: ", found[1]), text)
    return _EXAMPLE.sub(lambda found: f"```python\n{found[0].rstrip()}\n\n```\n", text)


def main() -> int:
    if left_out():
        sys.exit(f"in no section: {', '.join(sorted(left_out()))}")
    return renew({PAGE: page()})


if __name__ == "__main__":
    sys.exit(main())
