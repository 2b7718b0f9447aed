"""What the client hands out: canonical objects with their cost, losses and origin.

A `Result` is a `unified_llm.Response`. Beside it stand a count of tokens and the name of a model; the result of a tool
loop is in `tools/run_results.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Generic

from pydantic import PrivateAttr
from typing_extensions import TypeVar

from ..losses import Losses
from ..types.usage import Usage
from .history import Segment, answered_by, continued, id_of
from .late_response import LateResponse

if TYPE_CHECKING:
    from ..foundation.exchange import Exchange
    from ..models.pricing import Cost
    from ..types.items import CustomToolCall, FunctionCall, Item
    from ..types.response import PendingCall
    from .sending.effects import Hop
    from .upstreams.upstream import Upstream

__all__ = ["Made", "ModelInfo", "Result", "TokenCount", "result_of"]

Node = dict[str, Any]

T = TypeVar("T", default=Any)
"""What `text_format=` was: the type of the parsed output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """How a result came about: kept with it, and not part of the canonical document."""

    upstream: Any
    request: Node
    losses: Losses = field(default_factory=Losses)
    exchange: Exchange | None = None
    raw: Any = None
    hops: tuple[Hop, ...] = ()
    request_id: str | None = None
    headers: Any = None
    segments: tuple[Segment, ...] = ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Made:
        # An upstream is a value, and its connections are no one else's.
        own = {name: deepcopy(getattr(self, name), memo) for name in ("request", "exchange", "raw")}
        return replace(self, **own)

    def __reduce__(self) -> tuple[Any, ...]:
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        found["upstream"] = _bare(self.upstream)
        found["segments"] = tuple(each._replace(upstream=_bare(each.upstream)) for each in self.segments)
        return _made, (found,)


def _bare(upstream: Any) -> Any:
    """An upstream as it is in another process: without credentials and connections."""
    return type(upstream)(**upstream.place()) if hasattr(upstream, "place") else upstream


def _made(found: Node) -> Made:
    return Made(**found)


class Result(LateResponse, Generic[T]):
    """An answer: the canonical `Response`, and beside it `losses`, `cost`, `raw`, `exchange`, `upstream`, `hops`.

    It can be copied and pickled. In a pickle its upstream has neither credentials nor connections; what the caller
    wrote into the request is as it was.
    `output_parsed` and `strategy` are set by `responses.parse`. https://platform.openai.com/docs/api-reference/responses/object

    >>> import unified_llm as ul
    >>> answer = ul.Client().responses.create(model="local/echo", input="Good day")
    >>> answer.output_text, answer.usage.output_tokens, answer.upstream.protocol, len(answer.items)
    ('Good day', 2, 'openai-responses', 2)
    """

    _made: Made = PrivateAttr()
    _parsed: Any = PrivateAttr(default=None)
    _strategy: str | None = PrivateAttr(default=None)
    _accepted: tuple[Node, ...] = PrivateAttr(default=())

    @property
    def losses(self) -> Losses:
        """What of the request did not get to the provider as it was; paths point into the canonical request."""
        return self._made.losses

    @property
    def raw(self) -> Any:
        """The provider's own answer, as JSON; None for one that came as a stream."""
        return self._made.raw

    @property
    def exchange(self) -> Exchange | None:
        """What converting the request left for its answer."""
        return self._made.exchange

    @property
    def upstream(self) -> Upstream:
        """The upstream that answered."""
        found: Upstream = self._made.upstream
        return found

    @property
    def hops(self) -> tuple[Hop, ...]:
        """The upstreams that were tried, in order, with the reason why each was left."""
        return self._made.hops

    @property
    def request_id(self) -> str | None:
        """The provider's id of this request, for its logs; None if it sends none."""
        return self._made.request_id

    @property
    def pending_calls(self) -> list[PendingCall]:
        """The calls that wait for the client; not one whose arguments are the structured output."""
        calls = super().pending_calls
        if not self._accepted:
            return calls
        accepted = {answered_by(each) for each in self._accepted}
        return [call for call in calls if id_of(call.dump()) not in accepted]

    @property
    def tool_calls(self) -> list[FunctionCall | CustomToolCall]:
        """The calls of tools that wait for the caller."""
        from ..types.items import CustomToolCall, FunctionCall

        return [call for call in self.pending_calls if isinstance(call, (FunctionCall, CustomToolCall))]

    @property
    def items(self) -> list[Item]:
        """The whole conversation so far as canonical items: what was sent and what came back, ready to be sent on."""
        return objects_of(self.item_nodes)

    @property
    def item_nodes(self) -> list[Node]:
        """`items` as JSON."""
        return [*continued(items_of(self._made.request.get("input")), self._node.get("output") or ()), *self._accepted]

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Whose those items are: how many of them, and the upstream of their turn."""
        made = self._made
        return (*made.segments, Segment(len(self._accepted), made.upstream)) if self._accepted else made.segments

    @property
    def request(self) -> Node:
        """The canonical request that was sent."""
        return self._made.request

    @property
    def cost(self) -> Cost | None:
        """What it cost at the upstream's own prices, else at list prices; None without a usage or a known price."""
        return cost_of(self.usage, self._made.upstream, self._made.exchange)

    @property
    def output_parsed(self) -> T | None:
        """What `responses.parse` made of the text; None without it, and where the model refused."""
        found: T | None = self._parsed
        return found

    @property
    def strategy(self) -> str | None:
        """How structured output was requested: "native", "tool" or "prompt"; None without `responses.parse`."""
        return self._strategy

    def dump(self) -> Node:
        """The canonical JSON form of the answer."""
        return self._node

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        # Short, for logs and prompts of interpreters: all of it is in `dump()`.
        yield from ((name, value) for name in ("id", "status", "model") if (value := getattr(self, name)) is not None)
        if text := self.output_text:
            yield "text", short(text)
        if calls := [call.name for call in self.tool_calls]:
            yield "tool_calls", calls
        if self.usage is not None:
            yield "usage", counted(self.usage)
        yield "losses", len(self.losses)


def result_of(node: Node, made: Made) -> Result[Any]:
    """The result for a canonical response in JSON form."""
    result: Result[Any] = Result.late(node, {"_made": made, "_parsed": None, "_strategy": None, "_accepted": ()})
    return result


_SHOWN = 60


def short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def counted(usage: Usage) -> str:
    names = {"in": usage.input_tokens, "out": usage.output_tokens}
    return ", ".join(f"{count} {name}" for name, count in names.items() if count is not None)


def objects_of(nodes: list[Node]) -> list[Item]:
    """Canonical items as objects."""
    from ..types.validation import validate

    found: list[Item] = validate("items", nodes)
    return found


def items_of(given: Any) -> list[Node]:
    """Items of a canonical input, which may be one string."""
    if given is None:
        return []
    return [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else list(given)


def cost_of(usage: Any, upstream: Any, exchange: Exchange | None) -> Cost | None:
    """The price of a usage at an upstream, its own or the listed one; None where it is not known."""
    from ..foundation.errors import InvalidBody, UnknownModel, UnknownProvider
    from ..models.own_prices import bill

    model = (exchange.model if exchange else None) or getattr(upstream, "model", None)
    if usage is None or upstream is None or (upstream.price is None and not (model and upstream.provider)):
        return None
    try:
        return bill(usage, upstream, model)
    except (UnknownModel, UnknownProvider, InvalidBody):
        return None


@dataclass(frozen=True, slots=True)
class TokenCount:
    """How many tokens a request would take; `estimated` is True where no provider counted them, and `method` is the
    method.

    >>> import unified_llm as ul
    >>> ul.Client().count_tokens(model="local/echo", protocol="openai-chat", input="Good morning.").estimated
    True
    """

    input_tokens: int
    estimated: bool = False
    method: str = ""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model in the list of an upstream; `raw` is its complete entry.

    >>> import unified_llm as ul
    >>> [each.id for each in ul.Client().models.list("local")]
    ['echo', 'echo-mini']
    """

    id: str
    provider: str | None = None
    raw: Node = field(default_factory=dict, repr=False)


def losses_of(results: Sequence[Result]) -> Losses:
    """The losses of several answers, each once."""
    return Losses(dict.fromkeys(loss for result in results for loss in result.losses))
