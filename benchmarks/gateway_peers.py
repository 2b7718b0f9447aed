"""How the gateways that ours is compared with are started: their own commands, one worker, tuned as they document."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["PEERS", "Missing", "Start"]


class Missing(Exception):
    """Why there is no figure."""


class Start(NamedTuple):
    """A command, and its environment."""

    command: list[str]
    env: dict[str, str]


def _script(distribution: str, name: str) -> str:
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        raise Missing("not installed") from None
    found = Path(sys.executable).with_name(name)
    if not found.exists():
        raise Missing(f"{name} is not installed")
    return str(found)


def _rosetta(url: str, scratch: Path, port: int, models: Mapping[str, str]) -> Start:
    program = _script("llm-rosetta", "llm-rosetta-gateway")
    config: dict[str, Any] = {
        "providers": {
            "openai_chat": {"api_key": "sk-of-the-benchmark", "base_url": f"{url}/v1"},
            "anthropic": {"api_key": "sk-of-the-benchmark", "base_url": url},
        },
        "models": {models["chat"]: "openai_chat", models["messages"]: "anthropic"},
        "server": {"host": "127.0.0.1", "port": port, "open_on_no_keys": True},
    }
    file = scratch / "rosetta.jsonc"
    file.write_text(json.dumps(config))
    command = [program, "--config", str(file), "--no-banner", "--log-level", "warning", "--data-dir", str(scratch)]
    return Start([*command, "--host", "127.0.0.1", "--port", str(port)], {})


def _litellm(url: str, scratch: Path, port: int, models: Mapping[str, str]) -> Start:
    program = _script("litellm", "litellm")
    ends = {"chat": ("openai", f"{url}/v1"), "messages": ("anthropic", url)}
    listed = [
        {
            "model_name": name,
            "litellm_params": {
                "model": f"{ends[kind][0]}/{name}",
                "api_base": ends[kind][1],
                "api_key": "sk-of-the-benchmark",
            },
        }
        for kind, name in models.items()
    ]
    file = scratch / "litellm.yaml"
    settings = {"telemetry": False, "drop_params": True}  # or it refuses parameters of unknown models
    file.write_text(json.dumps({"model_list": listed, "litellm_settings": settings}))  # JSON is YAML
    command = [program, "--config", str(file), "--host", "127.0.0.1", "--port", str(port), "--num_workers", "1"]
    env = {"LITELLM_LOG": "ERROR", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    return Start(command, {**env, "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"})


PEERS: dict[str, Callable[[str, Path, int, Mapping[str, str]], Start]] = {"LLM-Rosetta": _rosetta, "LiteLLM": _litellm}
