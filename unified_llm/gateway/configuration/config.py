"""The configuration of the gateway: a TOML file, checked as a whole before anything is started.

Each table of the file is one model here; `docs/gateway-configuration.md` is generated from them. A file contains
names of environment variables and hashes of keys, never a secret.
"""

from __future__ import annotations

import difflib
import ipaddress
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from .server_settings import ConfigError, GatewaySettings, StateSettings, Table, TelemetrySettings
from .values import (
    LOGINS,
    Budget,
    Cooling,
    Digest,
    Limits,
    Login,
    Names,
    PriceTable,
    Variables,
)

__all__ = ["Config", "ConfigError", "GatewaySettings", "KeySettings", "ModelRoute", "StateSettings",
           "TeamSettings", "TelemetrySettings", "UpstreamSettings", "is_loopback", "load"]  # fmt: skip


# What of `[gateway]` a running process cannot change.
_FIXED = ("listen", "secret_env", "max_headers", "max_body", "max_parallel", "graceful", "drain")


class UpstreamSettings(Table):
    """`[upstreams.NAME]`: one upstream. The fields are those of `Upstream.load`."""

    model: str | None = Field(default=None, description='`"provider/model"`, or the plain name beside `base_url`.')
    base_url: str | None = Field(default=None, description="Base URL of a server.")
    protocol: str | None = Field(default=None, description="Protocol and dialect. Default: chosen for each request.")
    provider: str | None = Field(default=None, description="Name in reports, in provenance and of the prices.")
    price: PriceTable | None = Field(
        default=None,
        description="Prices in USD for a million tokens, in place of those of the catalog: `input` and `output`, and "
        "where they differ from these `cache_read`, `cache_write`, `reasoning`, `input_audio`, `output_audio`. They "
        "are those of each model of the upstream.",
    )
    key_env: Variables = Field(default=[], description="Variables with the API key; the first that is set is used.")
    auth: Login | None = Field(
        default=None,
        description=f"Login with the credentials of a cloud, instead of a key: {LOGINS}. The library of the cloud, an "
        "extra, finds and renews them.",
    )
    audience: str | None = Field(
        default=None, description="OAuth scope of the tokens, `service/region` for `aws`. Default: the usual."
    )
    headers: dict[str, str] = Field(default={}, description="Headers of every request.")
    query: dict[str, str] = Field(default={}, description="Query parameters of every request.")
    scope: str | None = Field(default=None, description="Label of the credential that opaque data is bound to.")
    timeout: float | None = Field(default=None, gt=0, description="Seconds to wait for a connection, and for each part "
                                  "of a response. Default: 10 and 600.")  # fmt: skip
    defaults: dict[str, Any] = Field(default={}, description="Wire fields for requests that do not set them.")
    variables: dict[str, str] = Field(default={}, description="Values for names in the provider's URL.")
    path: str | None = Field(default=None, description="Path that replaces the protocol's own.")
    stream_path: str | None = Field(default=None, description="The same for streams.")


class ModelRoute(Table):
    """`[models]`: `"name" = ["target", ...]`, or a table. A name may contain `*`."""

    to: Names = Field(min_length=1, description="Targets, tried in this order: `upstream`, `upstream/model` or "
                      "`provider/model`. `{model}` stands for the requested name, `*` for what the `*` of "
                      "the name matched.")  # fmt: skip
    weights: list[Annotated[float, Field(ge=0)]] = Field(
        default=[], description="Shares of the requests that go to each target first. Default: always the first one. "
        "The others stay fallbacks; `0` is a fallback only."
    )  # fmt: skip
    cooldown: Cooling = Field(
        default=30.0,
        description="How long a target is skipped after an overload, a server error or a failed connection: seconds, "
        "or `2m`. `Retry-After` of the upstream takes precedence. `0` skips none.",
    )
    price: PriceTable | None = Field(
        default=None, description="Prices of targets that have none: neither their upstream's nor listed ones."
    )
    on_loss: dict[str, Literal["ignore", "warn", "raise"]] = Field(
        default={}, description="Levels by capability, as in `convert(on_loss=)`."
    )


class KeySettings(Table):
    """`[keys.NAME]`: one API key of the gateway."""

    sha256: Digest = Field(description="SHA-256 of the key, in hexadecimal.")
    tenant: str | None = Field(
        default=None, description="Owner of stored responses and of kept reasoning state. Default: the name of the key."
    )
    models: Names = Field(default=["*"], description="Models that the key may request; globs.")
    upstreams: Names = Field(default=["*"], description="Upstreams and providers that the key may reach; globs.")
    admin: bool = Field(
        default=False, description="Whether the key may read the metrics, the request log and the limits of all keys."
    )
    team: str | None = Field(
        default=None, min_length=1, description="Team in `[teams]`: the key counts against its limits too."
    )
    limits: Limits = []
    budget: Budget = None


class TeamSettings(Table):
    """`[teams.NAME]`: a group of keys that share limits."""

    limits: Limits = []
    budget: Budget = None


def _route(value: Any) -> Any:
    return {"to": value} if isinstance(value, (str, list)) else value


class Config(Table):
    """The whole file.

    >>> Config.model_validate({"models": {"fast": "local/echo"}}).models["fast"].to
    ['local/echo']
    """

    gateway: GatewaySettings = Field(default_factory=GatewaySettings)
    state: StateSettings = Field(default_factory=StateSettings)
    telemetry: TelemetrySettings = Field(default_factory=TelemetrySettings)
    upstreams: dict[str, UpstreamSettings] = Field(default_factory=dict)
    models: dict[str, Annotated[ModelRoute, BeforeValidator(_route)]] = Field(default_factory=dict)
    keys: dict[str, KeySettings] = Field(default_factory=dict)
    teams: dict[str, TeamSettings] = Field(default_factory=dict)

    def listening(self, listen: str) -> Config:
        """The same configuration on another address. Raises `ConfigError`."""
        return _checked({**self.model_dump(exclude_unset=True), "gateway": {
            **self.gateway.model_dump(exclude_unset=True), "listen": listen}})  # fmt: skip

    def fixed_changes(self, other: Config) -> Iterator[str]:
        """The paths of what differs from another configuration and cannot be changed in a running process."""
        fixed = {"gateway": _FIXED, "state": StateSettings.model_fields, "telemetry": TelemetrySettings.model_fields}
        for table, names in fixed.items():
            here, there = getattr(self, table), getattr(other, table)
            yield from (f"{table}.{name}" for name in names if getattr(here, name) != getattr(there, name))

    def problems(self) -> Iterator[str]:
        """What is wrong between tables that are right by themselves."""
        if not is_loopback(self.gateway.host) and not self.keys:
            yield (f"gateway.listen: {self.gateway.host} is not a loopback address and there is no key; "
                   "add one with: unified-llm gateway key new")  # fmt: skip
        if self.state.most_files_held() < 2 * self.state.max_file:
            least = 2 * self.state.max_file
            yield (f"state.max_files_held: below {least}, twice state.max_file; with less, one request "
                   "with a large file keeps all others waiting")  # fmt: skip
        hashes: dict[str, str] = {}
        for name, key in self.keys.items():
            if hashes.setdefault(key.sha256, name) != name:
                yield f"keys.{name}.sha256: the same key as keys.{hashes[key.sha256]}"
            if key.team is not None and key.team not in self.teams:
                near = difflib.get_close_matches(key.team, self.teams, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"add [teams.{json.dumps(key.team)}]"
                yield f"keys.{name}.team: unknown team {key.team!r}; {hint}"
        for name, route in self.models.items():
            if route.weights and len(route.weights) != len(route.to):
                yield f"models.{name}.weights: {len(route.weights)} weights for {len(route.to)} targets"
            if route.weights and not any(route.weights):
                yield f"models.{name}.weights: at least one must be above 0"
            if any(target.count("*") > name.count("*") for target in route.to):
                yield f"models.{name}.to: a target has more '*' than the name"
        for name in self.upstreams:
            if not re.fullmatch(r"[A-Za-z0-9._-]+", name):
                yield f"upstreams.{name}: a name contains only letters, digits, '.', '_' and '-'"


@lru_cache(1024)
def is_loopback(host: str) -> bool:
    """Whether a host name or address is one of the loopback interface.

    >>> is_loopback("127.0.0.1"), is_loopback("app.localhost"), is_loopback("10.0.0.1")
    (True, True, False)
    """
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def load(path: str | Path) -> Config:
    """Read and check a configuration file. Raises `ConfigError` with all problems, and `OSError`."""
    try:
        raw = tomllib.loads(Path(path).read_text("utf-8-sig"))
    except UnicodeDecodeError:
        raise ConfigError([f"{path}: not UTF-8"]) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError([f"{path}: not valid TOML: {error}"]) from None
    try:
        return _checked(raw)
    except ConfigError as error:
        raise ConfigError([f"{path}: {each}" for each in error.problems]) from None


def _checked(raw: Mapping[str, Any]) -> Config:
    try:
        config = Config.model_validate(raw)
        problems = list(config.problems())
    except ValidationError as error:
        problems = [_problem(each, raw) for each in error.errors()]
    if problems:
        raise ConfigError(problems)
    return config


def _problem(error: Any, raw: Mapping[str, Any]) -> str:
    """One line for an error of pydantic: path, reason, nearest name."""
    where = [str(part) for part in error["loc"] if part != "function-before[_route(), ModelRoute]"]
    path = ".".join(where)
    if error["type"] == "extra_forbidden":
        known = _fields(where[:-1])
        near = difflib.get_close_matches(where[-1], known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"
        if where[-1] in ("api_key", "key") and where[0] in ("upstreams", "keys"):
            hint = "; secrets are not part of the file" + (
                "; use key_env" if where[0] == "upstreams" else "; use sha256"
            )
        return f"{path}: unknown field{hint}"
    reason = error["msg"].removeprefix("Value error, ")
    if error["type"] == "missing":
        return f"{path}: required field is missing"
    value: Any = raw
    for part in where:
        value = value.get(part) if isinstance(value, dict) else None
    # A misplaced secret must not get into a log.
    shown = f", got {value!r}" if isinstance(value, (bool, int, float)) else ""
    return f"{path}: {reason[:1].lower()}{reason[1:]}{shown}"


_MODELS: dict[str, type[Table]] = {
    "gateway": GatewaySettings,
    "state": StateSettings,
    "telemetry": TelemetrySettings,
    "upstreams": UpstreamSettings,
    "models": ModelRoute,
    "keys": KeySettings,
    "teams": TeamSettings,
}


def _fields(path: list[str]) -> list[str]:
    """The field names of the table at a path."""
    return list((_MODELS[path[0]] if path and path[0] in _MODELS else Config).model_fields)
