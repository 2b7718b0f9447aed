"""The tables of the configuration file that are about the server itself: `[gateway]`, `[state]`, `[telemetry]`."""

from __future__ import annotations

import os
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...foundation.secret import Secret
from .values import Duration, Listen, Names, Origin, Size, Unlisted, Variable

__all__ = ["ConfigError", "GatewaySettings", "StateSettings", "Table", "TelemetrySettings"]


class ConfigError(ValueError):
    """The configuration is invalid: `problems` has one line for each problem, with its path in the file."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Table(BaseModel):
    """A table of the file: no other fields, and values of just the types."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, strict=True)


class GatewaySettings(Table):
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
    unlisted: Unlisted = Field(
        default="refuse",
        description="A model without a price of its upstream, in the catalog or in `[models]`. `refuse`: keys with a "
        "budget, or with a team that has one, may not request it (403). `free`: it costs nothing. A table like the "
        "`price` of an upstream: its prices.",
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
    keep_alive: int = Field(
        default=75,
        gt=0,
        description="Seconds that a connection without a request stays open; longer than those of a load balancer in "
        "front, whose requests fail otherwise.",
    )
    receive_timeout: float = Field(
        default=30,
        gt=0,
        description="Seconds that the head of a request may take, and that its body may pause; else status 408.",
    )
    receive_rate: int = Field(
        default=500,
        ge=0,
        description="Bytes in a second that a body has to come with on average, where it takes longer than "
        "`receive_timeout`; else status 408. `0` is any speed.",
    )
    send_timeout: float = Field(
        default=60,
        gt=0,
        description="Seconds in which a client may read nothing of a response that is sent to it; then the connection "
        "is closed.",
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


class StateSettings(Table):
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
    max_stored: Size = Field(
        default=10_000_000_000,
        description="Bytes of all else that one tenant stores, as they are in the database: responses, background "
        "runs with their logs, conversations, kept reasoning state.",
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


class TelemetrySettings(Table):
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
