"""Model profiles: one bundled data file (`profiles.json`, its sources and dates inside) and one lookup.

A model is found by its id, by an alias, or by its id with one of the dated endings that its family declares, also with
the prefix under which a cloud serves the family (`served_as`) and that of a region; a path before the name (`models/`,
`publishers/.../models/`, a router's `vendor/`) is not part of it. Nothing is inferred from
how a name begins. The file is read at the first lookup, and every answer is remembered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

__all__ = ["DATA", "ModelProfile", "ReasoningProfile", "levels", "profile", "shares_signature"]

DATA = Path(__file__).with_name("profiles.json")

Facts = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningProfile:
    """The reasoning settings of a model on one protocol.

    thinks: it can think at all.
    efforts: the words it takes for effort (levels included), from the least; empty where it takes none.
    budget: the least and the most tokens it takes as a budget (None: no limit known); None where it takes no budget.
    dynamic: the budget -1 leaves the amount to the model.
    adaptive: it takes thinking that adapts itself.
    between_tools: it takes thinking between tools only.
    off: thinking can be switched off; None where that is not known.
    off_most: the most effort beside which it can be off, "" for any.
    default: "on" or "off" without a word, None where that is not known.
    usual: the effort it uses without a word, "" where that is not known.
    display: what is shown of thoughts without a word, "" where that is not known.
    budgets: effort as a budget.
    effort_field: the field of its own in which it takes effort; "" where that is the protocol's.
    unlimited: the effort beside which it takes no limit of tokens and no sampling; "" for none.
    beside_functions: what it demands where functions are declared: "unset", no word about the effort; "off", the effort
        "none"; "" for nothing.

    >>> from unified_llm import models
    >>> models.profile("claude-haiku-4-5", "anthropic-messages").reasoning.budget[0]
    1024
    """

    thinks: bool = True
    efforts: tuple[str, ...] = ()
    budget: tuple[int, int | None] | None = None
    dynamic: bool = False
    adaptive: bool = False
    between_tools: bool = False
    off: bool | None = None
    off_most: str = ""
    default: str | None = None
    usual: str = ""
    display: str = ""
    budgets: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    effort_field: str = ""
    unlimited: str = ""
    beside_functions: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """What is known of a model. One that is not in the data has `id` "" and no facts but its protocol's own.

    refuses: canonical settings it answers with an error ("tool_choice": any choice but "auto";
        "web_search": a search of the web, in Chat); `free_when_off`: not
        so while thinking is off, but for those of `refuses_always`.
    output_tokens: the most it may answer, thoughts included.
    developer_role: it supports developer messages. system_turns: it takes system messages inside the conversation.
    prefill: it continues a last message of the assistant.
    breakpoints: its parts may have cache breakpoints.
    signed_calls: it refuses unsigned calls of the current turn.
    media: what it takes beside text ("image", "audio", "video", "document"); None where that is not known.
    result_media: it takes media in the results of calls.
    top_k_field: the field of its own in which it takes top_k, "a.b" inside another; "" where it has none.
    own_tool_choice: it takes its provider's own choice of tools beside those of Converse.
    computer_tool: the version of its provider's computer tool that it takes; "" for none, None where that is not known.
    alone: what it takes only in requests that declare no functions: "json" (JSON output), "hosted" (hosted tools).
    reasoning: its reasoning settings on the requested protocol.

    >>> from unified_llm import models
    >>> models.profile("claude-opus-4-8", "anthropic-messages").reasoning.adaptive
    True
    """

    id: str = ""
    provider: str = ""
    refuses: frozenset[str] = frozenset()
    refuses_always: frozenset[str] = frozenset()
    free_when_off: bool = False
    output_tokens: int | None = None
    developer_role: bool | None = None
    system_turns: bool | None = None
    prefill: bool | None = None
    breakpoints: bool | None = None
    signed_calls: bool = False
    alone: frozenset[str] = frozenset()
    media: frozenset[str] | None = None
    result_media: bool = True
    top_k_field: str = ""
    own_tool_choice: bool = False
    computer_tool: str | None = None
    reasoning: ReasoningProfile = ReasoningProfile()

    @property
    def known(self) -> bool:
        """Whether the model is in the data."""
        return bool(self.id)

    def refused(self, key: str, value: Any, thinking: bool) -> bool:
        """Whether a request with this setting is refused. A temperature or top_p of 1 is what it is anyway."""
        if key not in self.refuses or value is None:
            return False
        if self.free_when_off and not thinking and key not in self.refuses_always:
            return False
        return not (key in ("temperature", "top_p") and value == 1)


@cache
def profile(model: Any, protocol: str | None = None, provider: str | None = None) -> ModelProfile:
    """What is known of `model` when it is reached by `protocol` (by default the first its family names).

    `provider` narrows the search down to one vendor's models. An unknown model, or None, has a profile without
    facts. The answer is remembered; it costs a dictionary lookup from the second time on.

    >>> profile("gpt-4.1-2025-04-14", "openai-chat").reasoning.thinks
    False
    >>> profile("no-such-model").known
    False
    """
    found = _find(model, provider) if type(model) is str else None
    if found is None:
        return ModelProfile(reasoning=_unknown(protocol))
    id_, family = found
    facts: Facts = {**family["facts"], **family["models"][id_]}
    shared: dict[str, Facts] = family["facts"].get("reasoning", {})
    names = protocol if protocol is not None else next(iter(shared), None)
    reasoning = _unknown(protocol)
    if names in shared:
        own = {key: value for key, value in family["models"][id_].items() if key in _REASONING}
        only = family["models"][id_].get("only", {}).get(names, {})
        reasoning = _reasoning({**shared[names], **own, **only})
    known = {key: facts[key] for key in _PLAIN if key in facts}
    always = frozenset(facts.get("refuses_always", ()))
    refuses = always.union(facts.get("refuses", ()))
    alone = frozenset(facts.get("alone", ()))
    media = frozenset(facts["media"]) if "media" in facts else None
    return ModelProfile(
        id=id_,
        provider=family["provider"],
        refuses=refuses,
        refuses_always=always,
        alone=alone,
        media=media,
        reasoning=reasoning,
        **known,
    )


_PLAIN = (
    *("free_when_off", "output_tokens", "developer_role", "system_turns", "prefill"),
    *("breakpoints", "signed_calls", "result_media", "top_k_field", "own_tool_choice", "computer_tool"),
)
_REASONING = frozenset(ReasoningProfile.__slots__)


@cache
def _data() -> Facts:
    data: Facts = json.loads(DATA.read_bytes())
    return data


def shares_signature(kind: Any, origin: Mapping[str, Any], target: Mapping[str, Any]) -> bool:
    """Whether opaque data of the model of `origin` is valid for that of `target`: a signature, and models of one maker.

    >>> at = [{"protocol": "anthropic-messages", "model": "claude-sonnet-4-5"},
    ...       {"protocol": "amazon-converse", "model": "us.anthropic.claude-sonnet-4-5-20250929-v1:0"},
    ...       {"protocol": "amazon-converse", "model": "amazon.nova-2-lite-v1:0"}]
    >>> [shares_signature("signature", at[0], each) for each in at]
    [True, True, False]
    """
    model = profile(target.get("model"), target.get("protocol"))
    among = _data()["signatures"].get(model.provider, ())
    if kind != "signature" or origin.get("protocol") not in among or target.get("protocol") not in among:
        return False
    return model.reasoning.thinks and profile(origin.get("model")).provider == model.provider


@cache
def levels() -> tuple[tuple[str, int | None], ...]:
    """The levels with the most tokens of a budget that is one, from the least; the last has no limit.

    >>> levels()[0][0], levels()[-1][1] is None
    ('none', True)
    """
    return tuple((word, most) for word, most in _data()["levels"])


@cache
def _names() -> dict[str, list[tuple[str, Facts]]]:
    """Every id and alias, and these as clouds serve them, with the families that have it."""
    names: dict[str, list[tuple[str, Facts]]] = {}
    regions = ["", *_data()["regions"]]
    for family in _data()["families"]:
        for id_, facts in family["models"].items():
            for name in (id_, *facts.get("aliases", ())):
                served = [region + prefix for prefix in family.get("served_as", ()) for region in regions]
                for prefix in ("", *served):
                    names.setdefault(prefix + name.lower(), []).append((id_, family))
    return names


def _find(model: str, provider: str | None) -> tuple[str, Facts] | None:
    name = model.rpartition("/")[2].lower()
    names, endings = _names(), _data()["endings"]
    for id_, family in names.get(name, ()):
        if provider in (None, family["provider"]):
            return id_, family
    for label in endings:
        match = re.search(f"(?:{endings[label]})$", name)
        if match and match.start():
            for id_, family in names.get(name[: match.start()], ()):
                if label in family["endings"] and provider in (None, family["provider"]):
                    return id_, family
    return None


def _reasoning(facts: Facts) -> ReasoningProfile:
    values = {key: value for key, value in facts.items() if key in _REASONING}
    values["efforts"] = tuple(values.get("efforts", ()))
    if values.get("budget") is not None:
        values["budget"] = tuple(values["budget"])
    values["budgets"] = MappingProxyType(values.get("budgets") or _data()["budgets"])
    return ReasoningProfile(**values)


@cache
def _unknown(protocol: str | None) -> ReasoningProfile:
    """What a protocol accepts for an unknown model."""
    return _reasoning(_data()["unknown"].get(protocol, {}))
