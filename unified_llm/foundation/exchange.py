"""The data of a request that the conversion of its answer needs.

A provider's answer does not contain its client's request: under which alias, with which tools, with usage in the
stream or not. Converting a request leaves that in an `Exchange`; handing it to the conversion of the response, the
stream or the error restores it. It is plain JSON, so that it can wait in a database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from .errors import InvalidBody

__all__ = ["Exchange", "complete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A frozen record of one request's conversion.

    `source` is the client's protocol and `target` the provider's (both with their dialects). `alias` is the model the
    client requested, `model` the one that was sent. `settings` are the client's own settings in canonical form, for
    surfaces that echo them. `ids` and `names` map what was renamed for the provider back to the client's spelling,
    `namespaces` the joined names of tools to their namespace and name. `tools` maps the provider's name of a tool,
    what its calls have to be turned back into: "custom" for a custom tool that became a function of one string,
    "shell" for a shell that became a tool of one command, "computer" or "computer_use_preview" for a computer that
    became a tool of one action, else what restores arguments made under a lowered schema;
    `output` is the same for structured output. `options` are the surface's options (`include`, `stream_options`,
    `stream`, `array`: a stream as one JSON array was requested), `seed` the seed of the ids an answer needs, `thread`
    a digest of the conversation ("" without a vault), `scope` the credential or deployment it went to, `created_at`
    and `answer_id` are the time (seconds since 1970) and the id of an answer that has none, `id_prefix` what the id of
    an answer begins with where the client demands that, and `previous` the answer that the client went on from.

    >>> e = Exchange(source="openai-chat", target="openai-responses", alias="fast")
    >>> Exchange.from_json(e.to_json()) == e
    True
    """

    source: str
    target: str
    alias: str | None = None
    model: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    namespaces: Mapping[str, list[str]] = field(default_factory=dict)
    tools: Mapping[str, Any] = field(default_factory=dict)
    output: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: str = ""
    thread: str = ""
    scope: str | None = None
    created_at: int | None = None
    answer_id: str = ""
    id_prefix: str = ""
    previous: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Exchange:
        """From what `to_json` gave. What a newer version added is left out. Raises `InvalidBody` for anything else."""
        if not isinstance(value, Mapping):
            raise InvalidBody("", f"an exchange is a JSON object, got {type(value).__name__}")
        for key in ("source", "target"):
            if not isinstance(value.get(key), str):
                raise InvalidBody(f"/{key}", "an exchange has the protocol here")
        return cls(**{each.name: value[each.name] for each in fields(cls) if each.name in value})


def complete(
    exchange: Exchange, *, created_at: int | None, answer_id: str, id_prefix: str, previous: str | None
) -> None:
    """Set what the answer needs beside the request, in a record that was just made and has no other holder.

    Later it is frozen. A copy would cost a small request a twentieth of its time.
    """
    set_field = object.__setattr__
    set_field(exchange, "created_at", created_at)
    set_field(exchange, "answer_id", answer_id)
    set_field(exchange, "id_prefix", id_prefix)
    set_field(exchange, "previous", previous)
