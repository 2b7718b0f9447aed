"""One model of a conversation with a language model, and every provider's wire format mapped to it and back.

>>> import unified_llm as ul
>>> done = ul.convert({"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
...                   source="openai-chat", target="openai-responses")
>>> done.value["input"]
[{'type': 'message', 'role': 'user', 'content': 'Hi'}]

The canonical classes (`ul.Request`, `ul.Message`, `ul.FunctionCall`, ...) are listed in `unified_llm.model.__all__`;
they load pydantic, and therefore on first use; so do those of `unified_llm.client.__all__`, with the HTTP library.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .bytestream import atranslate_sse, translate_sse
from .convert import Converted, convert, preview, read, to_sdk, write
from .errors import (
    APIError,
    AuthenticationFailed,
    CapabilityLost,
    CapabilityRefused,
    ConnectionFailed,
    ContentFiltered,
    ContextOverflow,
    InvalidBody,
    InvalidRequest,
    LimitReached,
    LocalProtocolError,
    NotFound,
    Overloaded,
    ParseFailed,
    PermissionDenied,
    ProtocolError,
    QuotaExceeded,
    RateLimited,
    RemoteProtocolError,
    ServerFailed,
    StreamBroken,
    Timeout,
    UnifiedLLMError,
    UnknownModel,
    UnknownProtocol,
    UnknownProvider,
)
from .exchange import Exchange
from .losses import Fate, Level, Levels, Loss, Losses
from .registry import protocols, register
from .stream import collect, decompose
from .stream_writing import write_stream
from .streaming import (
    ConvertedStream,
    aconvert_stream,
    convert_stream,
    read_stream,
)
from .vault import MemoryVault, Vault

__version__ = "0.1.0"

__all__ = [
    "APIError",
    "AuthenticationFailed",
    "CapabilityLost",
    "CapabilityRefused",
    "ConnectionFailed",
    "ContentFiltered",
    "ContextOverflow",
    "Converted",
    "ConvertedStream",
    "Exchange",
    "Fate",
    "InvalidBody",
    "InvalidRequest",
    "Level",
    "Levels",
    "LimitReached",
    "LocalProtocolError",
    "Loss",
    "Losses",
    "MemoryVault",
    "NotFound",
    "Overloaded",
    "ParseFailed",
    "PermissionDenied",
    "ProtocolError",
    "QuotaExceeded",
    "RateLimited",
    "RemoteProtocolError",
    "ServerFailed",
    "StreamBroken",
    "Timeout",
    "UnifiedLLMError",
    "UnknownModel",
    "UnknownProtocol",
    "UnknownProvider",
    "Vault",
    "__version__",
    "aconvert_stream",
    "atranslate_sse",
    "collect",
    "convert",
    "convert_stream",
    "decompose",
    "preview",
    "protocols",
    "read",
    "read_stream",
    "register",
    "to_sdk",
    "translate_sse",
    "write",
    "write_stream",
]


# What of the client has its place here too; it loads on first use, like the canonical classes.
_CLIENT = frozenset(
    (
        "AsyncClient Client Hooks MemoryStore Retry Store ToolContext ToolError Upstream "
        "async_http_client http_client tool"
    ).split()
)

# Packages that are at hand without an import of their own: `ul.models.get(...)`.
_ROOMS = frozenset(("client", "drift", "models", "suite"))


def __getattr__(name: str) -> Any:
    if name in _CLIENT:
        value = globals()[name] = getattr(import_module(".client", __name__), name)
        return value
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if not name.startswith("_"):
        # Not `from . import model`, which would ask this function for the name.
        for home in (".client", ".model"):
            module = import_module(home, __name__)
            if name in module.__all__:
                value = globals()[name] = getattr(module, name)
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
