"""A gateway behind uvicorn, for tests that may lack the official SDKs."""

from __future__ import annotations

import threading
from typing import Any

from unified_llm.gateway.app import Gateway
from unified_llm.gateway.server import Server
from waiting import PATIENCE


class Served:
    """A gateway behind uvicorn, in a thread, on a free port of this machine; `app` is what stands around it, if
    anything."""

    def __init__(self, gateway: Gateway, app: Any = None) -> None:
        self.gateway, self.url = gateway, ""
        ready = threading.Event()
        self.server = Server(app or gateway, lambda url: (setattr(self, "url", url), ready.set()))
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        assert ready.wait(PATIENCE), "the gateway did not start"

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
