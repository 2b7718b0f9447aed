"""Law: a front end names only what it has. Whatever advice an error may hold, a command names its own options and no
others, a configuration names fields, and neither shows Python.

Every call in the source that makes a piece of a hint is looked at, with a placeholder for each of its variables.
"""

from __future__ import annotations

import ast
import builtins
import copy
import importlib
import pickle
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

import unified_llm as ul
from client.commandline import run
from test_cli_errors import FAILING
from unified_llm.cli import app
from unified_llm.client.upstreams.options import FIELDS, FILE
from unified_llm.foundation.command_words import Options
from unified_llm.foundation.hints import NO_WORDS, PYTHON, Argument, Each, Either, Give, Hint, Name, Words

ROOT = Path(__file__).parents[1]
ADVICE = "unified_llm.client.sending.advice"
"""Its hints stand behind the text of an error, and are left out where a front end lacks the words."""
MAKERS = {"Argument", "Code", "Each", "Either", "Give", "Hint", "Name"}
# What is Python in a text: `name=`, `name()`, `{'name': ...}`, `Name(...)`.
IN_PYTHON = re.compile(r"\b[a-z_]+=(?=$|[\s'\",;)<])|\w\((?:\)|\.\.\.|\w+=)|\{'")


class Anything(str):
    """Stands for any variable, its attributes and what it returns."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self

    def __format__(self, _: str) -> str:
        return str(self)


class Names(dict[str, Any]):
    """The names of a module, and `Anything` for all others."""

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            raise KeyError(name)
        return Anything("thing")


def maker(node: ast.AST) -> str:
    """The piece of a hint that a call makes; "" for other nodes."""
    if not isinstance(node, ast.Call):
        return ""
    name = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr == "of" else node.func
    return name.id if isinstance(name, ast.Name) and name.id in MAKERS else ""


def outermost(node: ast.AST, above: ast.AST | None = None) -> Iterator[tuple[ast.expr, bool]]:
    """The calls that make a piece and are in no other one; True for those of `error.hint = ...`."""
    if isinstance(node, ast.expr) and maker(node):
        yield node, isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Attribute)
        return
    for below in ast.iter_child_nodes(node):
        yield from outermost(below, node)


@cache
def made() -> dict[str, tuple[Hint, bool]]:
    """All hints of the source, by their places; True for those that are the text of an error."""
    found = {}
    for path in sorted((ROOT / "unified_llm").rglob("*.py")):
        source = path.read_text("utf-8")
        name = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        if "hints import" not in source or name.endswith("foundation.hints"):
            continue
        names = Names(vars(importlib.import_module(name)))
        for node, is_hint in outermost(ast.parse(source)):
            piece = eval(compile(ast.Expression(node), str(path), "eval"), {}, names)
            is_text = maker(node) == "Hint" and not is_hint and name != ADVICE
            found[f"{name}:{node.lineno}:{node.col_offset}"] = Hint(piece), is_text
    return found


def commands(found: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """All commands, and the groups that do something without one, by their names."""
    below = getattr(found, "commands", None)
    if below is None or (name and found.invoke_without_command):
        yield name, found
    for word, each in (below or {}).items():
        yield from commands(each, f"{name} {word}".strip())


COMMANDS: Mapping[str, Any] = dict(commands(typer.main.get_command(app)))


def options(name: str) -> set[str]:
    return {each for option in COMMANDS[name].params for each in (*option.opts, *option.secondary_opts)} | {"--help"}


def named(text: str, name: str) -> set[str]:
    """The options in a text that a command does not have. Those in backquotes are of the command that is quoted."""
    strange = set()
    for quoted in re.findall(r"`unified-llm ([^`]*)`", text):
        command = " ".join(word for word in quoted.split() if not word.startswith("-"))
        strange |= set(re.findall(r"--[a-z-]+", quoted)) - options(command)
    return strange | set(re.findall(r"(?<![\w-])--[a-z-]+", re.sub(r"`[^`]*`", "", text))) - options(name)


def test_the_hints_of_the_whole_source_are_found() -> None:
    texts = {str(hint) for hint, _ in made().values()}
    assert len(texts) > 30
    assert {
        "pass protocol= and base_url=",
        "raise timeout=, or use stream=True",
        "for another pass base_url=",
        "base_url has no version; did you mean base_url='thingthing'?",
        "thing is a model of thing; use model='thing/thing'",
    } <= {text.removeprefix("; ") for text in texts} | texts


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_names_its_own_options_and_no_others(name: str) -> None:
    words = Options(COMMANDS[name].params)
    for place, (hint, _) in made().items():
        text = hint.in_words(words)
        assert not named(text, name), (place, text)
        assert not IN_PYTHON.search(text), (place, text)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_what_a_command_prints_names_its_own_options_and_no_others(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments, stdin, code, _ in FAILING[name]:
        found, _, err = run(*name.split(), *arguments, stdin=stdin)
        assert found == code and not named(err, name) - {*arguments}, err


@pytest.mark.parametrize("words", [FILE, NO_WORDS], ids=["file", "nothing"])
def test_a_configuration_and_an_answer_name_no_option_and_no_python(words: Words) -> None:
    for place, (hint, _) in made().items():
        text = hint.in_words(words)
        assert "--" not in re.sub(r"`[^`]*`", "", text) and not IN_PYTHON.search(text), (place, text)


ARGUMENTS = re.compile(r"\b(on_loss|base_url|api_key|timeout=|models=|upstream=)")


def test_readers_who_can_set_no_argument_are_told_of_none() -> None:
    """Clients of a gateway: an argument as a subject, `check base_url`, helps them as little as `base_url=`."""
    told = {place: text for place, (hint, _) in made().items() if ARGUMENTS.search(text := hint.in_words(NO_WORDS))}
    assert told == {}


def test_no_error_is_without_a_text_in_any_words() -> None:
    empty = [place for place, (hint, is_text) in made().items() if is_text and not hint.in_words(NO_WORDS)]
    assert not empty


def test_what_a_table_of_upstreams_has_is_named_as_its_field() -> None:
    assert {"base_url", "model", "protocol", "variables", "key_env"} <= FIELDS
    assert Hint(Give.of("base_url")).in_words(FILE) == "set base_url"
    assert Hint(Give.of(model="a/b")).in_words(FILE) == 'set model = "a/b"'
    assert Hint("a; ", Either((Give.of("stream"), "b"))).in_words(FILE) == "a; b"


# ---- the values ------------------------------------------------------------------------------------------------------

WAYS = Each((Hint("raise ", Argument("timeout")), Hint("use ", Argument("stream", True))), before="; ")
SHOWN = Hint("timed out", WAYS)


def test_a_hint_is_a_string_in_python_and_its_pieces_in_other_words() -> None:
    assert SHOWN == "timed out; raise timeout=, or use stream=True"
    assert Hint("x: ", SHOWN).pieces == ("x: ", "timed out", WAYS)
    assert SHOWN.in_words(Options(COMMANDS["run"].params)) == "timed out; use --stream"
    assert SHOWN.in_words(Options(COMMANDS["chat"].params)) == "timed out"
    stopped = Hint(Argument("stream", False)), Hint(Name("on_loss")), Hint(Argument("model", "a b"))
    assert [each.in_words(Options(COMMANDS["run"].params)) for each in stopped] == [
        "--no-stream", "--on-loss", "--model 'a b'",
    ]  # fmt: skip


def errors() -> Iterator[ul.UnifiedLLMError]:
    yield ul.UnknownProvider("x", [])
    yield ul.InvalidBody("/model", Hint("no", Each((Give.of("base_url"),), before="; ")))
    yield ul.InvalidArgument(SHOWN)
    yield ul.CapabilityRefused("/n", "output.choices", Hint("no", WAYS))
    error = ul.APITimeoutError(SHOWN, status=504, provider="p")
    error.hint = Hint("raise ", Argument("timeout"))
    yield error


@pytest.mark.parametrize("error", [*errors()], ids=lambda error: type(error).__name__)
def test_an_error_that_was_copied_or_pickled_holds_its_advice(error: ul.UnifiedLLMError) -> None:
    for words in (PYTHON, NO_WORDS, Options(COMMANDS["run"].params)):
        expected = error.in_words(words)
        for other in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
            assert type(other) is type(error) and other.in_words(words) == expected
            assert str(other) == str(error) and vars(other) == vars(error)
    assert error.in_words(PYTHON) == str(error) != error.in_words(NO_WORDS)


def test_a_credential_that_is_taken_out_of_a_hint_is_in_no_words_of_it() -> None:
    secrets = ul.Upstream.of("http://localhost:8000/v1", api_key="sk-very-secret").secrets
    hidden = secrets.hide(Hint("the server is at sk-very-secret; ", Give.of("base_url")))
    error = ul.APIConnectionError(hidden)
    for words in (PYTHON, NO_WORDS, FILE):
        assert "secret" not in error.in_words(words) and "secret" not in repr(pickle.dumps(error))
