"""The agent programs: how each is pointed at a gateway and run without a terminal, and its tools that read and write.

Settings that keep a program from the network (updates, statistics, lists of models) are part of its launch.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MODEL = "strict/model"
"""The name of the model where a program accepts any name."""


@dataclass(frozen=True)
class Launch:
    """One run: the arguments behind the program's name, variables, files of its home, and its standard input."""

    arguments: list[str]
    variables: dict[str, str]
    files: dict[str, Any] = field(default_factory=dict)
    stdin: str = ""


@dataclass(frozen=True)
class Program:
    """One way to use a program. `read` and `write` are calls of its tools; `{work}` is the working directory.

    `again` are the arguments that continue its last session; `prompted` means that they stand before the prompt, which
    is the last argument.
    """

    name: str
    binary: str
    surface: str
    launch: Callable[[str, Path, str], Launch]
    read: tuple[str, dict[str, str]]
    write: tuple[str, dict[str, str]]
    again: tuple[str, ...] = ()
    prompted: bool = False

    def arguments(self, launch: Launch, first: bool) -> list[str]:
        """The arguments of a session's first run, or of one that continues it."""
        if first:
            return launch.arguments
        place = len(launch.arguments) - self.prompted
        return [*launch.arguments[:place], *self.again, *launch.arguments[place:]]


NOTES = "notes.txt"
MADE = "made.txt"
CONTENT = "Copied by a tool."
PATCH = f"*** Begin Patch\n*** Add File: {MADE}\n+{CONTENT}\n*** End Patch\n"
READING = {"command": f"cat {NOTES}", "description": "Read the notes"}


def _codex(*model: str) -> Callable[[str, Path, str], Launch]:
    def launch(url: str, home: Path, prompt: str) -> Launch:
        # The full access is to a directory that is deleted afterwards; other sandboxes need rights of the kernel.
        flags = ["--skip-git-repo-check", "--sandbox", "danger-full-access", "--json", "--disable", "plugins"]
        return Launch(
            ["exec", "-c", f'openai_base_url="{url}/v1"', *flags, *model, prompt],
            {"CODEX_HOME": str(home / ".codex"), "CODEX_API_KEY": "unused"},
            {".codex/config.toml": "check_for_update_on_startup = false\n[analytics]\nenabled = false\n"},
        )

    return launch


def _claude(url: str, home: Path, prompt: str) -> Launch:
    off = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY",
           "DISABLE_ERROR_REPORTING")  # fmt: skip
    return Launch(
        ["-p", prompt, "--output-format", "json", "--allowedTools", "Bash,Write"],
        {"CLAUDE_CONFIG_DIR": str(home), "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "unused",
         **dict.fromkeys(off, "1")},
    )  # fmt: skip


def _gemini(*model: str) -> Callable[[str, Path, str], Launch]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False},
    }

    def launch(url: str, home: Path, prompt: str) -> Launch:
        return Launch(
            ["-p", prompt, "--yolo", *model, "--output-format", "json", "--skip-trust"],
            {"GEMINI_API_KEY": "unused", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_NO_RELAUNCH": "1"},
            {".gemini/settings.json": settings},
        )

    return launch


def _copilot(base: str = "/v1", **settings: str) -> Callable[[str, Path, str], Launch]:
    def launch(url: str, home: Path, prompt: str) -> Launch:
        given = {"BASE_URL": f"{url}{base}", "API_KEY": "unused", **settings}
        provider = {f"COPILOT_PROVIDER_{name}": value for name, value in given.items()}
        own = {"COPILOT_MODEL": MODEL, "COPILOT_HOME": str(home / ".copilot"), "COPILOT_OFFLINE": "true"}
        return Launch(["-p", prompt, "--allow-all-tools", "--no-color"], {**provider, **own})

    return launch


def _with_copilot(name: str, surface: str, base: str = "/v1", **settings: str) -> Program:
    written = {"path": f"{{work}}/{MADE}", "file_text": f"{CONTENT}\n"}
    tools = ("bash", READING), ("create", written)
    return Program(name, "copilot", surface, _copilot(base, **settings), *tools, ("--continue",))


def _opencode(package: str, base: str = "/v1") -> Callable[[str, Path, str], Launch]:
    def launch(url: str, home: Path, prompt: str) -> Launch:
        options = {"baseURL": f"{url}{base}", "apiKey": "unused"}
        provider = {"npm": f"@ai-sdk/{package}", "options": options, "models": {MODEL: {}}}
        off = ("AUTOUPDATE", "MODELS_FETCH", "DEFAULT_PLUGINS", "LSP_DOWNLOAD")
        return Launch(
            ["run", "-m", f"gateway/{MODEL}"],
            {"OPENCODE_CONFIG": str(home / "opencode.json"), **{f"OPENCODE_DISABLE_{each}": "1" for each in off}},
            {"opencode.json": {"provider": {"gateway": provider}}},
            prompt,
        )

    return launch


def _with_opencode(name: str, surface: str, package: str, base: str = "/v1") -> Program:
    written = {"filePath": f"{{work}}/{MADE}", "content": f"{CONTENT}\n"}
    tools = ("bash", READING), ("write", written)
    return Program(name, "opencode", surface, _opencode(package, base), *tools, ("--continue",))


_RUN = f'const r = await tools.exec_command({{cmd: "cat {NOTES}"}}); text(r.output);'
_APPLY = f"await tools.apply_patch({json.dumps(PATCH)}); text({json.dumps(CONTENT)});"
_WRITTEN = {"file_path": f"{{work}}/{MADE}", "content": f"{CONTENT}\n"}

PROGRAMS = {
    each.name: each
    for each in (
        Program("codex", "codex", "openai-responses", _codex("-m", "gpt-5.5"),
                ("exec_command", {"cmd": f"cat {NOTES}"}), ("apply_patch", {"input": PATCH}),
                ("resume", "--last"), True),
        Program("claude", "claude", "anthropic-messages", _claude, ("Bash", READING), ("Write", _WRITTEN),
                ("--continue",)),
        Program("gemini", "gemini", "google-generate-content", _gemini("-m", "gemini-3-pro-preview"),
                ("run_shell_command", {"command": f"cat {NOTES}"}), ("write_file", _WRITTEN),
                ("--resume", "latest")),
        _with_opencode("opencode", "openai-chat", "openai-compatible"),
        _with_copilot("copilot", "openai-chat"),
        # The model that is its default declares namespaces of tools inside the input, one of which runs JavaScript.
        Program("codex-code-mode", "codex", "openai-responses", _codex(),
                ("functions__exec", {"input": _RUN}), ("functions__exec", {"input": _APPLY})),
        # Without a model, a small one first chooses which one to use, with a schema for its answer.
        Program("gemini-auto", "gemini", "google-generate-content", _gemini(),
                ("run_shell_command", {"command": f"cat {NOTES}"}), ("write_file", _WRITTEN)),
        _with_copilot("copilot-responses", "openai-responses", WIRE_API="responses"),
        _with_copilot("copilot-socket", "openai-responses", WIRE_API="responses", TRANSPORT="websockets"),
        _with_copilot("copilot-messages", "anthropic-messages", "", TYPE="anthropic"),
        _with_opencode("opencode-responses", "openai-responses", "openai"),
        _with_opencode("opencode-messages", "anthropic-messages", "anthropic"),
        _with_opencode("opencode-gemini", "google-generate-content", "google", "/v1beta"),
    )
}  # fmt: skip
USUAL = ("codex", "claude", "gemini", "opencode", "copilot")
"""One way for each program; the others are run on request."""
