"""How the source is laid out, and which package may import which; read with `ast`, so no rule hangs on an import."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import os
import re
import socket
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from source_tree import ADAPTERS, CORE, ROOT, SOURCES, name_of, tree_of

LOOSE = {"__init__.py", "__main__.py", "cli.py", "py.typed"}
"""What may lie beside the packages: the front door and the command line."""

FLOORS = [["foundation"], ["types"], ["losses"], ["engine"], ["passes", "provenance", "streams"], ["models"],
          ["client"], ["drift", "gateway", "suite"]]  # fmt: skip
"""The packages, in the order in which they may be imported: each imports those before it, and those beside it."""

MOST = 12
"""Modules in a folder, beside its `__init__.py`."""

# Where the house is not yet as these laws have it; each list may only become shorter.
UPWARDS = {
    "unified_llm.engine.pairs.reading -> provenance",
}
CIRCLING: set[str] = set()
CROWDED = {"client/tools", "foundation", "types"}

# What a conversion runs through. It declares nothing in pydantic and opens no connection, so it imports neither.
HOT_PACKAGES = "engine foundation losses passes provenance streams".split()
HOT = [CORE / "__init__.py", *(p for name in HOT_PACKAGES for p in (CORE / name).rglob("*.py"))]
HOT += [p for p in SOURCES if not p.is_relative_to(CORE)]
HEAVY = {"anthropic", "google", "httpx", "httpx2", "openai", "pydantic", "rich", "sqlalchemy", "starlette", "typer"}

VENDORS = re.compile(
    r"openai|anthropic|google|gemini|claude|vertex|bedrock|azure|mistral|deepseek|openrouter|litellm|ollama|perplexity"
    r"|fireworks|cohere|qwen|dashscope|moonshot|minimax|cerebras|(?<![a-z])(gpt|groq|grok|xai|vllm|llama)(?![a-z])",
    re.IGNORECASE,
)


IMPORTERS = ("import_module", "importlib.import_module", "__import__")


def imported(nodes: Iterator[ast.AST], path: Path) -> set[str]:
    """Absolute dotted names of everything these nodes import, relative imports resolved."""
    found: set[str] = set()
    package = name_of(path) if path.name == "__init__.py" else name_of(path).rpartition(".")[0]
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and dotted(node.func) in IMPORTERS:
            found |= {str(arg.value) for arg in node.args[:1] if isinstance(arg, ast.Constant)}
    return found


def dotted(node: ast.expr) -> str:
    """A name, or an attribute of one; "" for any other expression."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def at_import(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes that run when the module is imported: not the bodies of functions, not `if TYPE_CHECKING`."""
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield node
            todo += ast.iter_child_nodes(node)


def when_run(tree: ast.Module) -> Iterator[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING`: an import within a function is an import."""
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            todo += node.orelse
        else:
            yield node
            todo += ast.iter_child_nodes(node)


def run(code: str, tmp_path: Path) -> str:
    path = os.pathsep.join([str(ROOT), str(ROOT / "adapters")])
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path},
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_folders_are_where_the_design_has_them() -> None:
    assert CORE.is_dir() and ADAPTERS
    assert all(re.fullmatch("unified_llm_[a-z0-9]+", p.name) for p in ADAPTERS), ADAPTERS


@pytest.mark.parametrize("folder", ["adapters", "tests", "benchmarks"])
def test_source_roots_are_no_packages(folder: str) -> None:
    # As namespace packages they lose against an installed package of that name, instead of hiding it.
    assert not (ROOT / folder / "__init__.py").exists()


@pytest.mark.parametrize("package", [CORE, *ADAPTERS], ids=lambda p: p.name)
def test_every_package_is_typed(package: Path) -> None:
    assert (package / "py.typed").is_file()
    folders = {package, *(p.parent for p in package.rglob("*.py"))}
    bare = sorted(str(p.relative_to(ROOT)) for p in folders if not (p / "__init__.py").is_file())
    assert not bare, f"packages without __init__.py: {bare}"


# One test a rule, and not one a file and rule: a file takes less time than a test.


def test_imports_point_one_way() -> None:
    found = []
    for path in SOURCES:
        own = name_of(path).partition(".")[0]
        roots = {name.partition(".")[0] for name in imported(ast.walk(tree_of(path)), path)}
        foreign = (roots & {p.name for p in ADAPTERS}) - {own}
        found += [f"{name_of(path)} imports {each}" for each in sorted(foreign)]
    assert found == []


def test_the_hot_path_imports_nothing_heavy() -> None:
    found = []
    for path in HOT:
        roots = {name.partition(".")[0] for name in imported(at_import(tree_of(path)), path)}
        found += [f"{name_of(path)} imports {each} when it is imported" for each in sorted(roots & HEAVY)]
    assert found == []


def test_nothing_lies_beside_the_packages_but_the_front_door() -> None:
    assert {p.name for p in CORE.iterdir() if p.is_file()} == LOOSE
    packages = {p.relative_to(CORE).parts[0] for p in SOURCES if p.is_relative_to(CORE) and p.parent != CORE}
    assert packages == set(chain(*FLOORS))


def test_the_packages_import_downwards() -> None:
    floor = {package: level for level, packages in enumerate(FLOORS) for package in packages}
    found = set()
    for path in SOURCES:
        own = room(name_of(path))
        for name in imported(when_run(tree_of(path)), path):
            if own in floor and floor.get(room(name), -1) > floor[own]:
                found.add(f"{name_of(path)} -> {room(name)}")
    assert found == UPWARDS


def test_no_imports_go_round_in_a_circle() -> None:
    modules = {name_of(path): path for path in SOURCES if path.is_relative_to(CORE)}
    left = {name: imported(when_run(tree_of(path)), path) - {name} for name, path in modules.items()}
    while True:
        wanted = set(chain.from_iterable(left.values()))
        # Who imports nothing that is left, or is imported by nothing that is left, is in no circle.
        inside = {name: names & left.keys() for name, names in left.items() if names & left.keys() and name in wanted}
        if inside == left:
            break
        left = inside
    assert {room(name) for name in left} == CIRCLING, left


def room(name: str) -> str:
    """The package of the house that a module is in."""
    return f"{name}.".split(".")[1] if name.startswith("unified_llm.") else ""


def test_a_folder_holds_about_a_dozen_modules() -> None:
    tops = {path.parent: CORE if path.is_relative_to(CORE) else ROOT / "adapters" for path in SOURCES}
    sizes = {
        folder.relative_to(top).as_posix(): sum(path.name != "__init__.py" for path in folder.glob("*.py"))
        for folder, top in tops.items()
    }
    assert {name for name, size in sizes.items() if size > MOST} == CROWDED


def test_a_conversion_loads_nothing_heavy(tmp_path: Path) -> None:
    adapters = [f"{p.name}.{q.name}" for p in ADAPTERS for q in p.iterdir() if (q / "__init__.py").is_file()]
    hot = [name_of(p) for p in HOT if p.is_relative_to(CORE)]
    loaded = run(
        "import sys, importlib\n"
        "before = set(sys.modules)\n"
        "import unified_llm\n"
        f"for name in {hot + adapters!r}: importlib.import_module(name)\n"
        f"for name in {adapters!r}:\n"
        "    if hasattr(sys.modules[name], 'adapter'): unified_llm.register(sys.modules[name].adapter)\n"
        "body = {'model': 'm', 'messages': [{'role': 'user', 'content': 'hi'}]}\n"
        "done = unified_llm.convert(body, source='openai-chat', target='openai-responses')\n"
        "assert done.value['input'], done.value\n"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))\n",
        tmp_path,
    )
    assert "unified_llm" in loaded.split()
    assert not set(loaded.split()) & HEAVY


def test_the_core_names_no_vendor() -> None:
    found = [each for path in SOURCES if path.is_relative_to(CORE) for each in vendors_in(path)]
    assert not found, "vendor facts live in data files or in adapters:\n" + "\n".join(found)


def vendors_in(path: Path) -> list[str]:
    docs: set[int] = set()
    named: list[str] = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Expr):
            docs.add(id(node.value))  # a string that is a statement is documentation, wherever it stands
        elif not isinstance(node, ast.Constant):
            values = [value for field in node._fields if field in NAMING and (value := getattr(node, field))]
            words = [w for v in values for w in (v if isinstance(v, list) else [v]) if isinstance(w, str)]
            line = getattr(node, "lineno", 0)
            named += [f"{name_of(path)}:{line}: {word!r}" for word in words if names_vendor(word)]
        elif isinstance(node.value, (str, bytes)) and id(node) not in docs:
            word = node.value if isinstance(node.value, str) else node.value.decode(errors="replace")
            named += [f"{name_of(path)}:{node.lineno}: {word!r}"] if names_vendor(word) else []
    return named


NAMING = {"id", "attr", "name", "asname", "arg", "module", "names"}


@functools.cache
def names_vendor(word: str) -> bool:
    return VENDORS.search(word) is not None


def test_canonical_classes_load_on_first_use(tmp_path: Path) -> None:
    loaded = run(
        "import unified_llm, sys\n"
        "assert 'pydantic' not in sys.modules\n"
        "assert not hasattr(unified_llm, 'no_such_name')\n"
        "print(unified_llm.Request.__module__, 'pydantic' in sys.modules)\n",
        tmp_path,
    )
    assert re.fullmatch(r"unified_llm\.types\S* True\n", loaded)


def test_one_version_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert importlib.import_module("unified_llm").__version__ == project["version"]


def test_every_entry_point_leads_to_its_adapter() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    points = project["entry-points"]["unified_llm.adapters"]
    assert {"openai-chat", "openai-responses"} <= set(points)
    for protocol, target in points.items():
        module, _, attribute = target.partition(":")
        assert getattr(importlib.import_module(module), attribute).protocol == protocol


def test_the_wheel_built_through_the_sdist_holds_the_packages_and_nothing_else(tmp_path: Path) -> None:
    for tool in ("build", "hatchling"):
        pytest.importorskip(tool)
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, ROOT],
                   check=True, capture_output=True, text=True, timeout=240)  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    files = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert {name.partition("/")[0] for name in files} == {"unified_llm", *(p.name for p in ADAPTERS)}
    # Data and markers too: whatever is neither compiled nor hidden.
    tree = {p.relative_to(top.parent).as_posix() for top in (CORE, *ADAPTERS) for p in top.rglob("*")
            if p.is_file() and "__pycache__" not in p.parts and not p.name.startswith(".")}  # fmt: skip
    assert files == tree


def test_the_network_is_denied() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as stream, pytest.raises(RuntimeError, match="no network"):
        stream.connect(("192.0.2.1", 9))  # assigned to no host, RFC 5737
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram, pytest.raises(RuntimeError, match="no network"):
        datagram.sendto(b"x", ("192.0.2.1", 9))
    for name in ("example.com", "localhost"):
        with pytest.raises(RuntimeError, match="no network"):
            socket.getaddrinfo(name, 443)


def test_sockets_that_stay_on_the_machine_work(tmp_path: Path) -> None:
    left, right = socket.socketpair()
    with left, right:
        left.sendall(b"x")
        assert right.recv(1) == b"x"
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "s"))
        server.listen()
        client.connect(str(tmp_path / "s"))
        assert client.getpeername() == str(tmp_path / "s")
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()
