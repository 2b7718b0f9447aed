"""The configuration of the gateway: a TOML file, checked as a whole before anything is started.

Each table of the file is one model here; `docs/gateway-configuration.md` is generated from them. A file contains
names of environment variables and hashes of keys, never a secret.
"""

from __future__ import annotations

import difflib
import ipaddress
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ...foundation.secret import Secret
from .values import (
    LOGINS,
    BudgetText,
    Cooling,
    Digest,
    Duration,
    LimitText,
    Listen,
    Login,
    Names,
    Origin,
    Size,
    Variable,
    Variables,
)

__all__ = ["Config", "ConfigError", "GatewaySettings", "KeySettings", "ModelRoute", "StateSettings",
           "TelemetrySettings", "UpstreamSettings", "is_loopback", "load"]  # fmt: skip


class ConfigError(ValueError):
    """The configuration is invalid: `problems` has one line for each problem, with its path in the file."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class _Table(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, strict=True)


class GatewaySettings(_Table):
    """`[gateway]`: the server and its limits."""

    listen: Listen = Field(
        default="127.0.0.1:8787", description="Host and port. A host that is not a loopback address requires `[keys]`."
    )
    providers: Names | None = Field(
        default=None,
        description="Providers that `provider/model` may name. Default: `local` and every provider whose API key is "
        "set in the environment.",
    )
    hosts: list[str] = Field(
        default=[],
        description="Host names, beside those of the loopback interface, that a request without a key may have in its "
        "`Host` header.",
    )
    origins: list[Origin] = Field(
        default=[], description="Origins of web pages that may call the gateway. All others get status 403."
    )
    secret_env: Variable | None = Field(
        default=None,
        description="Variable with the secret that authenticates envelopes. Default: the gateway generates a secret.",
    )
    max_body: Size = Field(default=32_000_000, description="Largest request body in bytes, also after decompression.")
    max_ratio: int = Field(
        default=200,
        gt=0,
        description="Largest ratio of a decompressed body to its compressed form, checked above 1 MB.",
    )
    max_headers: Size = Field(default=65_536, description="Largest size of all request headers in bytes.")
    max_parallel: int = Field(
        default=1_000, gt=0, description="Requests that are answered at the same time, in one process."
    )
    max_sockets: int = Field(
        default=100,
        gt=0,
        description="WebSockets that one key has open at the same time, in one process; without keys, all clients.",
    )
    graceful: float = Field(default=30, gt=0, description="Seconds that requests and runs may take after SIGTERM.")
    drain: float = Field(default=0, ge=0, description="Seconds after SIGTERM in which new requests are still accepted, "
                         "while `/health/ready` is 503. `graceful` begins behind them.")  # fmt: skip

    def secret(self) -> Secret | None:
        """The secret of `secret_env`. Raises `ConfigError` where the variable is not set."""
        if self.secret_env is None:
            return None
        if not os.environ.get(self.secret_env):
            raise ConfigError([f"gateway.secret_env: the variable {self.secret_env} is not set"])
        return Secret.of(os.environ[self.secret_env])

    @property
    def host(self) -> str:
        """The host of `listen`, without brackets."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The port of `listen`; 0 stands for a free port."""
        return int(self.listen.rpartition(":")[2])


class StateSettings(_Table):
    """`[state]`: where responses are stored."""

    url: str = Field(
        default="sqlite:///gateway.db",
        description="Database: `sqlite:///FILE`, `sqlite://` (in memory), or `postgresql://HOST/NAME` for several "
        "nodes. A URL with a password belongs in `url_env`.",
    )
    url_env: Variable | None = Field(default=None, description="Variable with the database URL; replaces `url`.")
    keep: Duration = Field(default=30 * 86_400.0, description="How long a response is stored: seconds, or `30d`.")
    required: bool = Field(
        default=False,
        description="Refuse requests whose response cannot be stored (503), instead of answering with `store: false`.",
    )
    files_keep: Duration = Field(default=30 * 86_400.0, description="How long an uploaded file is kept at most.")
    max_file: Size = Field(default=64_000_000, description="Largest file in bytes.")
    max_files: int = Field(default=10_000, gt=0, description="Files and cached prompts of one tenant.")
    max_files_size: Size = Field(
        default=1_000_000_000, description="Bytes of all files and cached prompts of one tenant, open uploads included."
    )
    max_files_held: Size | None = Field(
        default=None,
        description="Bytes of files that the requests of one process hold at the same time, until their upstreams "
        "answer; others get status 429. At least twice `max_file`. Default: four times `max_file`.",
    )
    sync: Literal["normal", "full"] = Field(
        default="normal", description="SQLite only. `full` survives power loss, `normal` a crash of the process."
    )

    limits: Literal["shared", "process"] | None = Field(
        default=None,
        description="Whether limits and budgets of keys are counted in the database, for all its nodes and across "
        "restarts, or per process in memory. Default: `shared` on PostgreSQL, `process` on SQLite. `parallel` is "
        "counted in each process, also with `shared`.",
    )

    background: Names = Field(
        default=[],
        description="Upstreams and providers that execute background responses themselves and keep their streams. A "
        "run in their own protocol is executed there, and taken up again after its node is lost.",
    )

    def most_files_held(self) -> int:
        """The limit of files in requests that wait for their upstreams."""
        return 4 * self.max_file if self.max_files_held is None else self.max_files_held

    def shares_limits(self) -> bool:
        """Whether limits are counted in the database. Raises `ConfigError` where its variable is not set."""
        if self.limits is None:
            return self.database().startswith("postgres")
        return self.limits == "shared"

    def database(self) -> str:
        """The URL of the database. Raises `ConfigError` where the variable is not set."""
        if self.url_env is None:
            return self.url
        if not os.environ.get(self.url_env):
            raise ConfigError([f"state.url_env: the variable {self.url_env} is not set"])
        return os.environ[self.url_env]


class TelemetrySettings(_Table):
    """`[telemetry]`: metrics, request log, losses."""

    metrics: bool = Field(default=True, description="Metrics for Prometheus at `/metrics`.")
    log: str = Field(
        default="off",
        min_length=1,
        description="Request log, one line of JSON each: `off`, `stdout`, `stderr`, `logging` (the logger "
        "`unified_llm.gateway.requests` of Python), or the path of a file.",
    )
    keep: int = Field(
        default=1_000, ge=0, description="Lines of the request log that are kept in memory for `/requests`."
    )
    clients: int = Field(
        default=100, ge=0, description="Different values of `X-Client-Id` in the metrics; all others are `other`."
    )
    losses: Literal["header", "body", "both", "off"] = Field(
        default="header",
        description="Where clients find losses: the response header `x-unified-llm-losses`, the `metadata` of a "
        "response (of protocols that have it), or both.",
    )


class UpstreamSettings(_Table):
    """`[upstreams.NAME]`: one upstream. The fields are those of `Upstream.load`."""

    model: str | None = Field(default=None, description='`"provider/model"`, or the plain name beside `base_url`.')
    base_url: str | None = Field(default=None, description="Base URL of a server.")
    protocol: str | None = Field(default=None, description="Protocol and dialect. Default: chosen for each request.")
    provider: str | None = Field(default=None, description="Name in reports, in provenance and of the prices.")
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


class ModelRoute(_Table):
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
    on_loss: dict[str, Literal["ignore", "warn", "raise"]] = Field(
        default={}, description="Levels by capability, as in `convert(on_loss=)`."
    )


class KeySettings(_Table):
    """`[keys.NAME]`: one API key of the gateway."""

    sha256: Digest = Field(description="SHA-256 of the key, in hexadecimal.")
    tenant: str | None = Field(
        default=None, description="Owner of stored responses and of kept reasoning state. Default: the name of the key."
    )
    models: Names = Field(default=["*"], description="Models that the key may request; globs.")
    upstreams: Names = Field(default=["*"], description="Upstreams and providers that the key may reach; globs.")
    admin: bool = Field(default=False, description="Whether the key may read the metrics and the request log.")
    limits: list[LimitText] = Field(
        default=[],
        description='Limits: `"600/minute"` (requests), `"200000 tokens/minute"`, '
        '`"20 parallel"` (requests at the same time, in each process); '
        "per `second`, `minute`, `hour`, `day` or `month` (30 days).",
    )
    budget: BudgetText | None = Field(
        default=None, description='Budget by list prices: `"50 USD/month"`, or another period.'
    )


def _route(value: Any) -> Any:
    return {"to": value} if isinstance(value, (str, list)) else value


class Config(_Table):
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

    def listening(self, listen: str) -> Config:
        """The same configuration on another address. Raises `ConfigError`."""
        return _checked({**self.model_dump(exclude_unset=True), "gateway": {
            **self.gateway.model_dump(exclude_unset=True), "listen": listen}})  # fmt: skip

    def fixed_changes(self, other: Config) -> Iterator[str]:
        """The paths of what differs from another configuration and cannot be changed in a running process."""
        for name in ("listen", "secret_env", "max_headers", "max_body", "max_parallel", "graceful", "drain"):
            if getattr(self.gateway, name) != getattr(other.gateway, name):
                yield f"gateway.{name}"
        for table in ("state", "telemetry"):
            if getattr(self, table) != getattr(other, table):
                yield table

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
    text = Path(path).read_text("utf-8")
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
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


_MODELS: dict[str, type[_Table]] = {
    "gateway": GatewaySettings,
    "state": StateSettings,
    "telemetry": TelemetrySettings,
    "upstreams": UpstreamSettings,
    "models": ModelRoute,
    "keys": KeySettings,
}


def _fields(path: list[str]) -> list[str]:
    """The field names of the table at a path."""
    return list((_MODELS[path[0]] if path and path[0] in _MODELS else Config).model_fields)
