"""The descriptions of a function and its parameters in a docstring, in the three common styles.

Google (`Args:`), NumPy (`Parameters` underlined) and reST (`:param x:`) are detected section by section.
Nothing is refused: what is in no known form belongs to the description.
"""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

__all__ = ["Docstring", "parse"]


class Docstring(NamedTuple):
    """`text` describes the function; `parameters` maps names to descriptions."""

    text: str
    parameters: dict[str, str]


_PARAMETERS = frozenset(("args", "arguments", "parameters", "params", "other parameters", "keyword args"))
# Sections for readers of the code, not for callers of the tool.
_OTHERS = frozenset(
    ("returns", "return", "yields", "yield", "raises", "raise", "examples", "example", "notes", "note", "references")
    + ("see also", "warns", "attributes", "todo")
)
_HEADING = re.compile(r"^([A-Za-z ]+):\s*$")
_ARGS = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY = re.compile(r"^\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$")
_REST = re.compile(r"^:(?:param|parameter|arg|argument)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)$")
_FIELD = re.compile(r"^:(\w+)(?:\s[^:]*)?:")


def parse(doc: str | None) -> Docstring:
    """The parts of a docstring.

    >>> parse('''Look up the weather.
    ...
    ...     Args:
    ...         city: where, by name
    ...             or by code
    ... ''')
    Docstring(text='Look up the weather.', parameters={'city': 'where, by name or by code'})
    """
    lines = inspect.cleandoc(doc or "").splitlines()
    text: list[str] = []
    found: dict[str, list[str]] = {}
    at = 0
    while at < len(lines):
        heading = _heading(lines, at)
        if heading is not None:
            name, numpy = heading
            at += 2 if numpy else 1
            end = _section_end(lines, at, numpy)
            if name in _PARAMETERS:
                _entries(lines[at:end], numpy, found)
            at = end
        elif _FIELD.match(lines[at].strip()):
            at = _field(lines, at, found)
        else:
            text.append(lines[at])
            at += 1
    parameters = {name: " ".join(" ".join(each).split()) for name, each in found.items()}
    return Docstring("\n".join(text).strip(), {name: said for name, said in parameters.items() if said})


def _heading(lines: list[str], at: int) -> tuple[str, bool] | None:
    """The name of a section that starts here, and whether it is underlined; None where none does."""
    line = lines[at]
    if line != line.lstrip():
        return None
    below = lines[at + 1].strip() if at + 1 < len(lines) else ""
    if line.strip() and re.fullmatch(r"-{3,}|={3,}", below):
        name = line.strip().lower()
        return (name, True) if name in _PARAMETERS | _OTHERS else None
    match = _HEADING.match(line)
    if match is None or match[1].strip().lower() not in _PARAMETERS | _OTHERS:
        return None
    # A heading has something under it, further in; a sentence that ends in a colon has not.
    return (match[1].strip().lower(), False) if below == "" or lines[at + 1].startswith((" ", "\t")) else None


def _section_end(lines: list[str], at: int, numpy: bool) -> int:
    while at < len(lines):
        outside = not numpy and not lines[at].startswith((" ", "\t"))
        if lines[at].strip() and (outside or _heading(lines, at) is not None):
            return at
        at += 1
    return at


def _entries(lines: list[str], numpy: bool, found: dict[str, list[str]]) -> None:
    filled = [line for line in lines if line.strip()]
    if not filled:
        return
    indent = min(len(line) - len(line.lstrip()) for line in filled)
    names: list[str] = []
    for line in filled:
        inside = len(line) - len(line.lstrip()) > indent
        if not inside:
            match = (_NUMPY if numpy else _ARGS).match(line.strip())
            if match is not None:
                names = [name.strip() for name in match[1].split(",")]
                for name in names:
                    found[name] = [] if numpy else [match[2]]
                continue
        for name in names:
            found[name].append(line.strip())


def _field(lines: list[str], at: int, found: dict[str, list[str]]) -> int:
    """One field of reST with its continuation; gives the line behind it."""
    match = _REST.match(lines[at].strip())
    said = [match[2]] if match is not None else []
    at += 1
    while at < len(lines) and lines[at].strip() and lines[at].startswith((" ", "\t")):
        said.append(lines[at].strip())
        at += 1
    if match is not None:
        found[match[1]] = said
    return at
