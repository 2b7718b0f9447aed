"""The words of the command line: an argument of the library is an option of the command that runs, if it has one."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from .hints import PYTHON, Words

__all__ = ["Options", "command_words"]


class Options(Words):
    """The words of one command: its own options, from its parameters. It has no word for any other argument.

    >>> from types import SimpleNamespace
    >>> option = SimpleNamespace(param_type_name="option", name="on_loss", opts=["--on-loss"], secondary_opts=[])
    >>> words = Options([option])
    >>> words.argument("on_loss", {"output.choices": "ignore"}), words.argument("timeout")
    ('--on-loss output.choices=ignore', None)
    """

    has_code = False

    def __init__(self, parameters: Iterable[Any]) -> None:
        options = [each for each in parameters if each.param_type_name == "option"]
        self._on = {each.name: _longest(each.opts) for each in options}
        self._off = {each.name: _longest(each.secondary_opts) for each in options if each.secondary_opts}

    def name(self, name: str) -> str:
        """The option of that name; the name itself where there is none."""
        return self._on.get(name, name)

    def argument(self, name: str, value: Any = None) -> str | None:
        """The option as it is typed."""
        option = (self._off if value is False else self._on).get(name)
        if option is None or value is None or type(value) is bool:
            return option
        listed = value.items() if isinstance(value, Mapping) else ()
        text = ",".join(f"{key}={each}" for key, each in listed) if listed else str(value)
        return f"{option} {shlex.quote(text)}"


def _longest(names: list[str]) -> str:
    return max(names, key=len)


def command_words() -> Words:
    """The words of the command that runs; those of Python where none does."""
    typer = sys.modules.get("typer")
    if typer is None:
        return PYTHON
    # Typer has its own copy of click or uses the package, depending on its version; its context is of the one in use.
    click = typer.Context.__mro__[1].__module__.rpartition(".")[0]
    context = sys.modules[f"{click}.globals"].get_current_context(silent=True)
    return PYTHON if context is None else Options(context.command.params)
