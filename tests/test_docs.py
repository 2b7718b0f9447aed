"""What the documentation shows is what happens: every example and command is run, every link leads somewhere.

An example in Markdown is a doctest; one without prompts has to compile at least. A command stands in an `sh` fence and
finds the files it names; `# exit code 3` behind it is how it ends. Pages of the cookbook run whole: an example there
finds what the fences before it define.
"""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import json
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import _protocols
import unified_llm as ul
from client import commandline

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
COOKBOOK = sorted((DOCS / "cookbook").glob("*.md"))
PACKAGES = ["unified_llm", *sorted(path.parent.name for path in (ROOT / "adapters").glob("*/__init__.py"))]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def fences(path: Path, language: str) -> list[str]:
    return [body for kind, body in FENCE.findall(path.read_text("utf-8")) if kind == language]


def modules() -> Iterator[str]:
    for package in PACKAGES:
        yield package
        found = importlib.import_module(package)
        yield from (each.name for each in pkgutil.walk_packages(found.__path__, f"{package}."))


@pytest.mark.parametrize("page", [page for page in PAGES if page not in COOKBOOK], ids=name_of)
def test_the_examples_of_a_page(page: Path) -> None:
    failed, attempted = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert not failed
    shown = [body for body in fences(page, "python") if ">>>" in body]
    assert bool(attempted) == bool(shown), "a prompt outside a python fence, or a fence that is not run"
    for body in fences(page, "python"):
        if body not in shown:
            compile(body, name_of(page), "exec")


@pytest.mark.parametrize("page", [page for page in COOKBOOK if page.stem != "README"], ids=name_of)
def test_a_recipe_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    space: dict[str, object] = {"__name__": page.stem}
    runner, shown, code = doctest.DocTestRunner(), 0, ""
    for body in fences(page, "python"):
        if ">>>" in body:
            example = doctest.DocTestParser().get_doctest(body, space, name_of(page), str(page), 0)
            assert not runner.run(example, clear_globs=False).failed
            space, shown = example.globs, shown + len(example.examples)
        else:
            code += body
            if "@pytest.mark." not in body:  # marks are known where the plugin is
                exec(compile(body, name_of(page), "exec"), space)
    assert shown >= 3, "a recipe shows what comes out"
    assert [title for title in ("Before", "After", "What") if f"\n## {title}" not in page.read_text("utf-8")] == []
    if "def test_" in code:
        (tmp_path / "test_recipe.py").write_text(code)
        asked = [sys.executable, "-m", "pytest", "-q", "-p", "unified_llm.drift.plugin", "-p", "no:cacheprovider"]
        path = os.pathsep.join([str(ROOT), str(ROOT / "adapters")])
        alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": path}
        done = subprocess.run(asked, cwd=tmp_path, env=alone, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and re.search(r"\d passed", done.stdout), done.stdout


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md", "docs/errors.md"])
def test_the_pages_people_start_with_have_examples(page: str) -> None:
    assert any(">>>" in body for body in fences(ROOT / page, "python"))


def has_examples(name: str) -> bool:
    """Whether there is a prompt in the text of a module, which is not imported for that."""
    found = importlib.util.find_spec(name)
    assert found is not None and found.origin is not None
    return ">>> " in Path(found.origin).read_text("utf-8")


@pytest.mark.parametrize("name", [*filter(has_examples, modules())])
def test_the_examples_of_a_module(name: str) -> None:
    done = doctest.testmod(importlib.import_module(name))
    assert done.attempted and not done.failed


def test_every_module_is_imported() -> None:
    """Also those that no other test needs."""
    assert [name for name in modules() if importlib.import_module(name).__name__ != name] == []


def test_modules_have_examples_at_all() -> None:
    assert len([name for name in modules() if has_examples(name)]) > 100


# ---- commands -------------------------------------------------------------------------------------------------------

REQUEST = {"model": "m", "seed": 7, "temperature": 1.5, "messages": [{"role": "user", "content": "Hi"}]}
ANSWERS = {
    "openai-chat": {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
    },
    "anthropic-messages": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "Hi"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}
COMMANDS = [
    pytest.param(line, id=line.partition("#")[0].strip())
    for page in PAGES
    for body in fences(page, "sh")
    for line in body.splitlines()
    if line.startswith("unified-llm ")
]


def prepare(folder: Path, source: str) -> None:
    """The files that commands name, in the protocol of the command."""
    shutil.copytree(ROOT / "examples" / "traffic", folder / "examples" / "traffic")
    answer = ANSWERS.get(source, ANSWERS["openai-chat"])
    (folder / "request.json").write_text(json.dumps(REQUEST))
    (folder / "requests.jsonl").write_text(f"{json.dumps(REQUEST)}\n" * 2)
    (folder / "answer.json").write_text(json.dumps(answer))
    events = ul.decompose(ul.read(answer, source, "response").model_dump(mode="json", exclude_unset=True))
    frames = [json.dumps(event["data"]) for event in ul.write_stream(events, source) if event["data"] != "[DONE]"]
    (folder / "answer.sse").write_text("".join(f"data: {frame}\n\n" for frame in frames))


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_documentation(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command, _, comment = line.partition("#")
    arguments = shlex.split(command)[1:]
    source = arguments[arguments.index("--from") + 1] if "--from" in arguments else "openai-chat"
    prepare(tmp_path, source)
    expected = re.search(r"exit code (\d)", comment)
    monkeypatch.chdir(tmp_path)
    code, out, err = commandline.run(*arguments)
    assert code == (int(expected[1]) if expected else 0), err
    assert out or expected


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 4


# ---- links and generated tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text("utf-8")))
    links = [target.partition("#")[0] for target in LINK.findall(text)]
    dead = [
        target
        for target in links
        # A template's own links name what is to be filled in.
        if target
        and "://" not in target
        and not target.startswith(("mailto:", "NNNN"))
        and not (page.parent / target).exists()
    ]
    assert not dead


def reached(page: Path) -> set[Path]:
    """The pages that a page leads to."""
    links = LINK.findall(FENCE.sub("", page.read_text("utf-8")))
    return {(page.parent / target.partition("#")[0]).resolve() for target in links if "://" not in target}


def test_every_page_has_a_place() -> None:
    for index in [DOCS / "README.md", DOCS / "cookbook" / "README.md", DOCS / "decisions" / "README.md"]:
        folders = [index.parent, DOCS / "protocols"] if index.parent == DOCS else [index.parent]
        pages = {page for folder in folders for page in folder.glob("*.md")} - {index, index.parent / "template.md"}
        assert {page.name for page in pages - reached(index)} == set()
    examples = ROOT / "examples"
    shown = {path for path in examples.iterdir() if path.suffix == ".py"} - reached(examples / "README.md")
    assert not shown


def test_the_readme_leads_to_the_documentation() -> None:
    assert {DOCS / "README.md", DOCS / "cookbook" / "README.md", ROOT / "examples" / "README.md"} <= reached(
        ROOT / "README.md"
    )


def test_the_page_of_functions_is_current() -> None:
    done = subprocess.run(
        [sys.executable, "docs/_api.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_of_declarations_is_current() -> None:
    done = subprocess.run(
        [sys.executable, "docs/_adapters.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_protocol_has_a_page() -> None:
    folders = [path.parent for path in (ROOT / "adapters").glob("*/*/__init__.py")]
    packages = [importlib.import_module(f"{folder.parent.name}.{folder.name}") for folder in folders]
    ours = {package.adapter.protocol for package in packages if hasattr(package, "adapter")}  # local/echo has none
    assert {page.stem for page in (DOCS / "protocols").glob("*.md")} == ours


@pytest.mark.parametrize("page", sorted((DOCS / "protocols").glob("*.md")), ids=lambda page: page.stem)
def test_tables_of_declarations_are_current(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text.count("<!-- natives -->") == text.count("<!-- cannot -->") == 1
    assert _protocols.renewed(page) == text, "run: python docs/_protocols.py"


def test_a_stale_table_is_renewed(tmp_path: Path) -> None:
    page = tmp_path / "openai-chat.md"
    page.write_text(re.sub(r"(?m)^\| .*\n", "", (DOCS / "protocols" / "openai-chat.md").read_text("utf-8")), "utf-8")
    assert "`system_fingerprint`" not in page.read_text("utf-8")
    renewed = _protocols.renewed(page)
    assert "`system_fingerprint`" in renewed and "openai-chat has no MCP tools" in renewed


def test_documents_name_no_machine() -> None:
    found = [
        f"{name_of(page)}: {match[0]}"
        for page in PAGES
        for match in re.finditer(r"(?<![\w.])/(?:home|Users|root|tmp)/\w+", page.read_text("utf-8"))
    ]
    assert not found
