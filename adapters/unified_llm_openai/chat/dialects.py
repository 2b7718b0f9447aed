"""What servers that speak Chat Completions do differently, as data: `openai-chat:<dialect>` looks its row up here.

`reasoning_field` is where a server takes reasoning back, `reasoning_required` that it refuses a message with tool calls
without that field, `roles` what becomes of roles it ignores, `max_tokens` its spelling of the limit, `control` the
object that switches reasoning on and off, `schemas` its own profiles in `schema.py`, `file_urls` that
`file_data` may hold a URL, `string_content` that assistant content has to be a string.
"""

from __future__ import annotations

from typing import Any

__all__ = ["DIALECTS"]

_OLD_ROLES = {"developer": "system"}


def _row(field: str | None = None, **more: Any) -> dict[str, Any]:
    return {**({"reasoning_field": field} if field else {}), "roles": _OLD_ROLES, **more}


DIALECTS: dict[str, dict[str, Any]] = {
    "openai": {},
    "azure": {},
    "deepseek": _row("reasoning_content", control="thinking", reasoning_required=True, max_tokens="max_tokens"),
    "moonshot": _row("reasoning_content", control="thinking", reasoning_required=True, schemas="plain"),
    "zai": _row("reasoning_content", control="thinking", max_tokens="max_tokens"),
    "qwen": _row(max_tokens="max_tokens"),
    "fireworks": _row("reasoning_content"),
    "sglang": _row("reasoning_content"),
    "openrouter": _row("reasoning", max_tokens="max_tokens", file_urls=True),
    "together": _row("reasoning", max_tokens="max_tokens"),
    "groq": _row("reasoning"),
    "cerebras": _row("reasoning"),
    "vllm": _row("reasoning"),
    "ollama": _row("reasoning", max_tokens="max_tokens"),
    "copilot": _row("reasoning_text", string_content=True),
    "mistral": _row("thinking", max_tokens="max_tokens"),
    "xai": _row(),
    "google": _row(),
}
