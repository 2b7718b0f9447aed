"""Conversation routes, and requests that name a conversation: its items in front of theirs, and theirs added to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from uuid import uuid4

from ...client.state.response_memory import Turn, asked
from ...client.transports.route_matching import Match
from ...client.transports.translator import Reply
from ...engine.conversation_api import ConversationApi
from ...engine.registry import adapter
from ...foundation.errors import InvalidBody
from ...foundation.json_codec import dump, parse
from ...foundation.secret import Secret
from ...passes.convert import write
from ..access.space import Space
from ..requests.body import Peek
from ..responses.replies import Refusal, Whole, json_reply
from ..state.conversations import Conversation, ConversationStore
from ..state.database import is_id
from ..state.store import Store, StoreUnavailable
from ..state.stored_responses import data_of, is_response, unavailable, with_data
from .files import Sent, listed, object_of

__all__ = ["Conversations", "Named"]

_PAGE = 100  # items that a page of a protocol has at most
_STEM = 64  # characters of an id that its replacement begins with
_LARGEST = 32_000_000  # bytes of items in a conversation
Node = dict[str, Any]


class Named(NamedTuple):
    """The conversation that a request names, as it was when the request came."""

    store: ConversationStore
    api: ConversationApi
    found: Conversation
    items: list[Node]

    @property
    def id(self) -> str:
        """The id, as clients spell it."""
        return self.api.name.format(self.found.id)

    def full(self, body: Node) -> Node:
        """The request as one that names no conversation and has all of its items."""
        rest = {name: value for name, value in body.items() if name != self.api.field}
        return {**rest, self.api.input: [*self.items, *_input_items(body.get(self.api.input))]}

    def shown(self, value: Node) -> Node:
        """A response with the id of its conversation."""
        return {**value, self.api.field: {"id": self.id}}

    def shown_event(self, frame: bytes) -> bytes:
        """An event of such a response: some of them have the response itself."""
        if b'"usage"' not in frame:
            return frame
        value = data_of(frame)
        name = next((name for name, node in value.items() if is_response(node)), None)
        return frame if name is None else with_data(frame, {**value, name: self.shown(value[name])})

    def shown_reply(self, reply: Reply) -> Reply:
        """A reply whose response has that id, as a whole or in each event that has it."""
        if reply.stream is not None:
            reply.stream.alters.append(self.shown_event)
            return reply
        value = parse(reply.content) if reply.status < 300 else None
        return replace(reply, content=dump(self.shown(value))) if isinstance(value, dict) else reply

    async def add(self, surface: str, content: bytes, response: Mapping[str, Any]) -> None:
        """Add the input of a request, and its output. Raises `StoreUnavailable`."""
        said = _input_items(parse(content).get(self.api.input))
        known = {str(each.get("id")) for each in self.items}
        output = [each for each in response.get(self.api.output) or () if isinstance(each.get("id"), str)]
        await self.store.append(self.found.tenant, self.found.id, [*_in_full(surface, self.api, said, known), *output])


class Conversations:
    """The conversation routes of one gateway."""

    def __init__(self, store: Store, keep: float, space: Space) -> None:
        self.store: ConversationStore = ConversationStore(store, keep)
        self.space = space

    async def reply(self, sent: Sent, secret: Secret) -> Whole:
        """The response of a route. Raises `Refusal` and `StoreUnavailable`."""
        api = adapter(sent.match.protocol).conversations
        assert api is not None
        kind, method = sent.match.route.kind, sent.match.route.method
        if method == "POST":
            await self.space.check(sent.tenant)
        if kind == "conversations":
            body = object_of(sent.content) if sent.content.strip() else {}
            added = self._added(sent, api, body.get(api.items) or [], set())
            found = await self.store.create(sent.tenant, _metadata(api, body), added)
            return json_reply(api.write(found.node))
        found = await self.find(api, sent.match, sent.tenant)
        if kind == "conversation":
            return await self._conversation(sent, api, found)
        if kind == "conversation_items" and method == "POST":
            known = {str(each["id"]) for each in await self.store.items(sent.tenant, found.id)}
            added = self._added(sent, api, object_of(sent.content).get(api.items), known)
            if found.size + sum(len(dump(each)) for each in added) > _LARGEST:
                raise Refusal(413, "too_large", f"a conversation has at most {_LARGEST} bytes of items")
            if not await self.store.append(sent.tenant, found.id, added):
                raise _unknown(sent.match.names["conversation"])
            return json_reply(api.write_list(added, None))
        if kind == "conversation_items":
            nodes = await self.store.items(sent.tenant, found.id)
            return json_reply(listed(nodes[::-1], api._replace(name="{}"), sent.query))
        return await self._item(sent, api, found)

    async def find(self, api: ConversationApi, match: Match, tenant: str) -> Conversation:
        """The conversation of a route. Raises `Refusal` (404)."""
        name = match.names["conversation"]
        found = await self.store.get(tenant, _bare(api, name))
        if found is None:
            raise _unknown(name)
        return found

    async def named(self, surface: str, tenant: str, request: Peek) -> Named | None:
        """The conversation that a request names; None where it is unknown. Raises `Refusal`."""
        if request.previous or request.background:
            what = "a previous response" if request.previous else "background"
            raise Refusal(400, "invalid_request", f"a request has a conversation or {what}, not both")
        api, given = adapter(surface).conversations, request.conversation
        name = given.get("id") if isinstance(given, dict) else given
        if api is None or not isinstance(name, str):
            return None
        try:
            found = await self.store.get(tenant, _bare(api, name))
            items = [] if found is None else await self.store.items(tenant, found.id)
        except StoreUnavailable:
            raise unavailable() from None
        if found is None:
            return None
        if found.size > _LARGEST:
            raise Refusal(413, "too_large", "the conversation is too large to be continued")
        return Named(self.store, api, found, items)

    async def _conversation(self, sent: Sent, api: ConversationApi, found: Conversation) -> Whole:
        if sent.match.route.method == "DELETE":
            await self.store.delete(sent.tenant, found.id)
            return json_reply(api.write_deleted(found.node))
        if sent.match.route.method == "POST":
            found = found._replace(metadata=_metadata(api, object_of(sent.content)))
            if not await self.store.change(sent.tenant, found.id, found.metadata):
                raise _unknown(sent.match.names["conversation"])
        return json_reply(api.write(found.node))

    async def _item(self, sent: Sent, api: ConversationApi, found: Conversation) -> Whole:
        name = sent.match.names["item"]
        items = {str(each["id"]): each for each in await self.store.items(sent.tenant, found.id)}
        if name not in items:
            raise Refusal(404, "not_found", f"Item with id '{name}' not found.", code="item_not_found")
        if sent.match.route.method == "DELETE":
            await self.store.delete_item(sent.tenant, found.id, name)
            return json_reply(api.write(found.node))
        return json_reply(items[name])

    def _added(self, sent: Sent, api: ConversationApi, given: Any, known: set[str]) -> list[Node]:
        if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
            raise Refusal(400, "invalid_request", f"{api.items} must be a list of items", code="invalid_items")
        if len(given) > api.most:
            raise Refusal(400, "invalid_request", f"{api.items} has more than {api.most} items", code="invalid_items")
        try:
            added = _in_full(sent.match.protocol, api, given, known)
        except InvalidBody as error:
            raise Refusal(400, "invalid_request", str(error), code="invalid_items") from None
        if not all(isinstance(each.get("type"), str) for each in added):
            raise Refusal(400, "invalid_request", f"an item of {api.items} has no type", code="invalid_items")
        return added


def _unknown(name: str) -> Refusal:
    return Refusal(404, "not_found", f"Conversation with id '{name}' not found.", code="conversation_not_found")


def _bare(api: ConversationApi, name: str) -> str:
    before, _, after = api.name.partition("{}")
    return name.removeprefix(before).removesuffix(after) if name.startswith(before) else ""


def _metadata(api: ConversationApi, body: Mapping[str, Any]) -> Node:
    given = body.get(api.metadata) or {}
    if not isinstance(given, dict):
        raise Refusal(400, "invalid_request", f"{api.metadata} must be an object", code="invalid_metadata")
    return given


def _input_items(given: Any) -> list[Any]:
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}] if given else []
    return list(given) if isinstance(given, list) else []


def _in_full(surface: str, api: ConversationApi, given: Sequence[Any], known: set[str]) -> list[Node]:
    """Items as lists have them, each with an id of its own."""
    given = [_with_own_id(each) for each in given]
    turn = Turn("", surface, dump({api.input: given}), "", [b""], True)
    nodes = asked([turn])
    out: list[Node] = []
    own = {each.get("id") for each in given if isinstance(each, dict)}
    for start in range(0, len(nodes), _PAGE):
        query = {api.order: "asc", api.paging.size: str(_PAGE)}
        page = {"input": nodes[start : start + _PAGE], "query": query}
        out += write(page, surface, "input_items", facing="client").value["data"]
    for item in out:
        if item.get("id") is None or item["id"] not in own or item["id"] in known:
            item["id"] = f"{str(item.get('id') or 'item').partition('_')[0][:_STEM]}_{uuid4().hex}"
        known.add(item["id"])
    return out


def _with_own_id(item: Any) -> Any:
    """An item without an id that no row can have; others as they are."""
    given = item.get("id") if isinstance(item, dict) else None
    if given is None or (isinstance(given, str) and given and is_id(given)):
        return item
    return {name: value for name, value in item.items() if name != "id"}
