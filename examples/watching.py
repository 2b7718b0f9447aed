"""A conversation of an agent over a foreign protocol, observed at both ends.

Above, the requests as the SDK sent them and the responses it received; below, what arrived at `local/echo`; between the
two, the reported losses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import httpx2
from travel import SCRIPT

import unified_llm as ul
from unified_llm_local import echo

SEALS = ("signature", "thoughtSignature", "encrypted_content")  # where the protocols keep a signed thought


class Surface(NamedTuple):
    """An SDK, an agent written for it, and the line that makes the client: `{}` is what is swapped in."""

    sdk: str
    protocol: str
    plain: str
    swapped: str
    client: Callable[[Any], Any]
    agent: Callable[[Any, str], Iterator[tuple[str, str]]]


class Run:
    """One conversation of an agent with another provider's protocol, and everything it left behind."""

    def __init__(self, surface: Surface, upstream: str, slow: int = 0) -> None:
        self.surface = surface
        self.text = f"[[slow {slow}]] {SCRIPT}" if slow else SCRIPT
        self.said: list[tuple[str, str]] = []
        self.losses: list[ul.Losses] = []
        self.asked: list[dict[str, Any]] = []
        self.service = echo.Echo()  # one of our own, so that one can look at what arrived there
        inside = httpx2.Client(transport=echo.transport(self.service))
        where = ul.Upstream.of(f"local/echo:{upstream}").with_(http_client=inside)
        self.http = ul.http_client(where, on_losses=self.losses.append)
        self.http.event_hooks["request"].append(lambda sent: self.asked.append(json.loads(sent.content)))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for kind, text in self.surface.agent(self.surface.client(self.http), self.text):
            if text:
                self.said.append((kind, text))
                yield kind, text

    def heard(self, kind: str) -> str:
        return "".join(text for each, text in self.said if each == kind)

    def seals(self) -> list[str]:
        """Signed thoughts in the last request that are the upstream's own: a second request gets the same response."""
        first, last = self.service.seen[0], self.service.seen[-1]
        again = echo.Echo().handle(first.method, first.path, "alt=sse", first.headers, json.dumps(first.body).encode())
        made = b"".join(each for each in again.body if isinstance(each, bytes)).decode()
        # google-genai sends the same bytes back in the other alphabet of base64.
        return [seal for seal in strings(last.body, SEALS) if seal.replace("-", "+").replace("_", "/") in made]

    def fates(self, answers: bool) -> dict[str, dict[str, str]]:
        """What became of what, by fate: of the requests, or of the answers; paths of these begin with a number."""
        found: dict[str, dict[str, str]] = {}
        for loss in (loss for report in self.losses for loss in report):
            if loss.path[1:2].isdigit() == answers:
                found.setdefault(loss.fate, {}).setdefault(short(loss.path), loss.detail)
        return found

    def arrived(self) -> list[str]:
        """The fields of the first request of which at least a part came through as it was."""
        told = {loss.path for report in self.losses for loss in report if loss.side == "source"}
        return [
            key
            for key, value in self.asked[0].items()
            if any(not {path, *parents(path)} & told for path in leaves(value, f"/{key}"))
        ]

    def word_for_word(self) -> bool:
        """Whether reasoning and text are those of the upstream."""
        thoughts, text = "".join(re.findall(r"\[\[reason (.*?)\]\]", SCRIPT)), SCRIPT.rpartition("]]")[2].strip()
        return (self.heard("thinks"), self.heard("says").strip()) == (thoughts, text)


def strings(node: Any, keys: tuple[str, ...]) -> Iterator[str]:
    """The strings under these keys, anywhere in a JSON value."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if key in keys and isinstance(value, str):
            yield value
        else:
            yield from strings(value, keys)


def leaves(node: Any, path: str) -> Iterator[str]:
    """The paths of all that holds nothing more."""
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    found = [leaf for key, value in inner for leaf in leaves(value, f"{path}/{key}")]
    return iter(found or [path])


def short(path: str) -> str:
    """The last two names of a path: `tools.strict` of `/tools/0/strict`."""
    return ".".join([step for step in path.split("/") if step and not step.isdigit() and step != "data"][-2:])


def parents(path: str) -> list[str]:
    """The paths above a path."""
    steps = path.split("/")
    return ["/".join(steps[:n]) for n in range(2, len(steps))]
