"""The command line in this process: exit code, stdout and stderr."""

from __future__ import annotations

from typer.testing import CliRunner

from unified_llm.cli import app


def run(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
    done = CliRunner().invoke(app, arguments, input=stdin)
    return done.exit_code, done.stdout, done.stderr
