"""A gateway behind uvicorn, for tests that may lack the official SDKs."""

from __future__ import annotations

import threading

from unified_llm.gateway.app import Gateway
from unified_llm.gateway.server import Server
from waiting import PATIENCE


class Served:
    """A gateway behind uvicorn, in a thread, on a free port of this machine."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway, self.url = gateway, ""
        self.failure: BaseException | None = None
        ready = threading.Event()
        self.server = Server(gateway, lambda url: (setattr(self, "url", url), ready.set()))
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        assert ready.wait(PATIENCE), "the gateway did not start"

    def _run(self) -> None:
        try:
            self.server.run()
        except BaseException as failure:
            self.failure = failure

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        if self.failure is not None:
            raise self.failure
