"""Compaction of a conversation for upstreams that have none: an envelope of all of it, without a call of a model.

The client sends the compaction in the place of the conversation, and every upstream gets the conversation. It is as
large as before: what is saved is the state that a client has to keep in order.
"""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

from ...client.state.response_memory import compacted
from ...client.transports.report_headers import loss_headers
from ...client.transports.route_matching import Match
from ...engine.registry import adapter
from ...foundation.errors import InvalidBody
from ...foundation.json_codec import dump, parse
from ...foundation.secret import Secret
from ...losses import Loss, Losses
from ...passes.convert import write
from ..responses.replies import Refusal, Whole
from ..state.stored_responses import Recalled

__all__ = ["COMPACT", "compaction"]

COMPACT = "compact_request"


def compaction(content: bytes, match: Match, memory: Recalled, secret: Secret) -> Whole:
    """The response to a request to compact. Raises `NotFoundError` for an unknown response, `Refusal` for others."""
    surface, body = match.protocol, parse(content)
    whole = memory.recalled(body, surface, ())
    try:
        item = {**compacted(whole, surface, secret), "id": f"cmp_{uuid4().hex}"}
    except InvalidBody as error:
        raise Refusal(400, "invalid_request", str(error)) from None
    usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    node: dict[str, Any] = {"id": f"{adapter(surface).id_prefix}{uuid4().hex}", "created_at": int(time.time())}
    done = write({**node, "output": [item], "usage": usage}, surface, "compact_response", secret=secret)
    losses = Losses([Loss("/input", "context.compaction", "emulated")])
    return Whole(200, {"content-type": "application/json", **loss_headers(losses, (), None)}, dump(done.value))
