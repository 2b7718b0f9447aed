"""SDK drift: what the official SDKs declare, against what the adapters have classified.

`engine/declared/<protocol>.json` pins what was declared when everything was last mapped, kept or refused (the laws of
completeness saw to that). An SDK that declares more, less or otherwise is reported, difference by difference, with the
file of the adapter that should be changed: the one that contains its neighbors. Another environment's SDK is read in a
process of its own, so that two versions can be compared.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ..engine.registry import adapter, protocols
from ..engine.sdk_declarations import Declared, pinned
from ..foundation.usage_errors import MissingExtra
from .surface import of_schema, of_types, release

__all__ = [
    "Difference",
    "declared",
    "declared_by_schema",
    "differences",
    "drifted",
    "everything",
    "words",
]


class Difference(NamedTuple):
    """One thing that is declared otherwise than it is pinned.

    `what` is new or gone (a node, a key, a word) or changed (the type of a key); `place` is `node`, `node.key` or
    `node.key="word"`; `mentioned` is whether the adapter contains the word anywhere; `file` is where it belongs.
    """

    protocol: str
    what: str
    place: str
    detail: str = ""
    mentioned: bool = False
    file: str = ""

    def __str__(self) -> str:
        told = f" ({self.detail})" if self.detail else ""
        where = f", for {self.file}" if self.file else ""
        known = ", a word the adapter has" if self.mentioned and self.what == "new" else ""
        return f"{self.what}: {self.place}{told}{where}{known}"


def declared(protocol: str, path: Path | None = None) -> Declared:
    """What the installed SDK declares of a protocol, or the one in the folder `path` (as of `pip install --target`).

    Raises `ImportError` when it is not installed, naming the extra.
    """
    roots, _ = _roots(protocol)
    if not roots:
        raise ImportError(f"{protocol} declares no SDK")
    if path is None:
        try:
            return Declared(protocol, release(roots), of_types(roots))
        except ModuleNotFoundError as error:
            extra = adapter(protocol).sdk_extra
            raise MissingExtra(f"the SDK of {protocol}", extra) from error
    if not path.is_dir():
        raise ImportError(f"{path} is not a folder")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), *filter(None, sys.path)])}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", f"{__package__}.surface", json.dumps({protocol: roots})],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ImportError(f"{path}: {done.stderr.strip().rpartition(chr(10))[2]}")
    found = json.loads(done.stdout)[protocol]
    if "missing" in found:
        raise ImportError(found["missing"])
    return Declared(protocol, found["sdk"], found["nodes"])


def declared_by_schema(protocol: str) -> Declared | None:
    """What an open specification declares of a protocol, where a package that ships it is installed."""
    _, schemas = _roots(protocol)
    for name, where in schemas.items():
        package, _, file = where.partition(":")
        folder = import_module(package).__file__
        assert folder is not None
        document = json.loads(Path(folder).with_name(file.split("/")[0]).joinpath(*file.split("/")[1:]).read_text())
        version = document.get("info", {}).get("version", "")
        return Declared(f"{protocol}.{name}", f"{name} {version}".strip(), of_schema(document))
    return None


def _roots(protocol: str) -> tuple[dict[str, str], dict[str, str]]:
    """The declared roots of an adapter: types of an SDK, and schemas in a package."""
    told = adapter(protocol).declared
    schemas = {name: where for name, where in told.items() if where.endswith(".json")}
    return {name: where for name, where in told.items() if name not in schemas}, schemas


# ---- comparing ------------------------------------------------------------------------------------------------------


def everything(names: Iterable[str] | None = None, path: Path | None = None) -> list[Declared]:
    """What is declared of these protocols, or of every one whose SDK is installed (in the folder `path`, if given).

    Raises `ImportError` for a protocol that was named and is not declared by anything.
    """
    out: list[Declared] = []
    for protocol in protocols() if names is None else names:
        try:
            out.append(declared(protocol, path))
        except ImportError:
            if names is not None:
                raise
        if path is None:
            try:
                schema = declared_by_schema(protocol)
            except ImportError:
                schema = None
            out += [schema] if schema is not None else []
    return out


def drifted(
    names: Iterable[str] | None = None, path: Path | None = None, since: Path | None = None
) -> list[tuple[Declared, list[Difference]]]:
    """What is declared otherwise than it is pinned, or than by the SDK in the folder `since`, by protocol."""
    out = []
    for found in everything(names, path):
        known = pinned(found.protocol) if since is None else None
        if since is not None and "." not in found.protocol:
            known = declared(found.protocol, since)
        if known is not None:
            out.append((found, differences(known, found)))
    return out


def differences(before: Declared, after: Declared) -> list[Difference]:
    """What is new, gone or of another type in `after`, in the order of the nodes."""
    protocol = after.protocol.partition(".")[0]
    out: list[Difference] = []
    for node in sorted({*before.nodes, *after.nodes}):
        old, new = before.nodes.get(node), after.nodes.get(node)
        if old is None or new is None:
            keys = ", ".join(new if new is not None else old or ())
            out.append(_difference(protocol, "gone" if new is None else "new", node, node, {*(new or old or ())}, keys))
            continue
        for key in sorted({*old, *new}):
            one, other = old.get(key), new.get(key)
            place = f"{node}.{key}"
            if one is None or other is None:
                kinds = ", ".join(other or one or ())
                out.append(_difference(protocol, "gone" if other is None else "new", place, key, {node, *old}, kinds))
                continue
            for word in sorted(_words(other) - _words(one)):
                out.append(_difference(protocol, "new", f'{place}="{word}"', word, {node, key, *old}))
            for word in sorted(_words(one) - _words(other)):
                out.append(_difference(protocol, "gone", f'{place}="{word}"', word, {node, key, *old}))
            was, now = _kinds(one), _kinds(other)
            fresh = {kind for kind in was ^ now if kind.rstrip("[]{}") not in {*before.nodes} ^ {*after.nodes}}
            if fresh:
                signs = sorted(f"{'+' if kind in now else '-'}{kind}" for kind in fresh)
                out.append(_difference(protocol, "changed", place, key, {node, *old}, ", ".join(signs)))
    return out


def _words(kinds: Iterable[str]) -> set[str]:
    return {kind[1:].partition('"')[0] for kind in kinds if kind.startswith('"')}


def _kinds(kinds: Iterable[str]) -> set[str]:
    return {kind for kind in kinds if not kind.startswith('"')}


def _difference(protocol: str, what: str, place: str, word: str, near: set[str], detail: str = "") -> Difference:
    vocabulary = words(protocol)
    parts = {part for name in near for part in name.split(".")}
    best = _reader(protocol, place.partition(".")[0])
    if best not in vocabulary:
        best = max(vocabulary, key=lambda file: (len(parts & vocabulary[file]), file), default="")
    mentioned = any(word.rpartition(".")[2] in each for each in vocabulary.values())
    return Difference(protocol, what, place, detail, mentioned, best)


def _reader(protocol: str, tag: str) -> str:
    """The file of the function that reads nodes of this type, if there is one."""
    for mapping in adapter(protocol).mappings:
        if tag in mapping.reads:
            return f"{mapping.reads[tag].__module__.replace('.', '/')}.py"
    return ""


@cache
def words(protocol: str) -> Mapping[str, frozenset[str]]:
    """Every word in the strings of an adapter's files, by file: the names it may handle."""
    package = _package(protocol)
    folder = Path(str(package.__file__)).parent
    return {
        f"{package.__name__.replace('.', '/')}/{path.relative_to(folder).as_posix()}": frozenset(_strings(path))
        for path in sorted(folder.rglob("*.py"))
    }


def _package(protocol: str) -> Any:
    """The package of an adapter: the one that declares it, or that of its reader of requests."""
    known = adapter(protocol)
    home = name = known.kinds["request"].read.__module__.rpartition(".")[0]
    while name and not any(each is known for each in vars(import_module(name)).values()):
        name = name.rpartition(".")[0]
    return import_module(name or home)


def _strings(path: Path) -> Iterable[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for word in node.value.split():
                yield word
                yield from word.split(".")
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg
