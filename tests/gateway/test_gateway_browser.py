"""A web page in a real browser cannot spend the keys of a gateway on the same machine.

The page tries what pages can: `fetch` with and without CORS, a form, a beacon, images, scripts and a WebSocket; and
the user follows a link to a name that was rebound to the loopback address. Needs Chromium (Debian:
`apt install chromium-headless-shell`); without it these tests are skipped.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from gateway.serving import House, Served
from waiting import PATIENCE

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")

PAGE = """<!doctype html><body><script>
const gateway = %s, body = JSON.stringify({model: "openai-chat", messages: [{role: "user", content: "Hi"}]});
const create = gateway + "/v1/chat/completions";
const later = milliseconds => new Promise(done => setTimeout(done, milliseconds));
const asked = (url, options) => fetch(url, options).then(
  async answer => answer.type === "opaque" ? "unreadable" : "read " + answer.status + " " + await answer.text(),
  () => "refused");
const element = (name, source) => new Promise(done => {
  const made = document.createElement(name);
  made.onload = () => done("loaded"), made.onerror = () => done("refused"), made.src = source;
  document.body.append(made);
});
const attempts = {
  json: () => asked(create, {method: "POST", headers: {"content-type": "application/json"}, body}),
  text: () => asked(create, {method: "POST", mode: "no-cors", body}),
  models: () => asked(gateway + "/v1/models", {}),
  unreadable: () => asked(gateway + "/v1/models", {mode: "no-cors"}),
  beacon: async () => { navigator.sendBeacon(create, body); await later(300); return "sent" },
  image: () => element("img", gateway + "/v1/models"),
  script: () => element("script", gateway + "/v1/models"),
  form: async () => {
    const frame = document.createElement("iframe"), form = document.createElement("form");
    frame.name = form.target = "there", form.method = "post", form.enctype = "text/plain", form.action = create;
    const field = document.createElement("input");
    field.name = body.slice(0, -1) + ', "x": "', field.value = '"}';
    form.append(field), document.body.append(frame, form);
    const loaded = new Promise(done => frame.onload = done);
    form.submit();
    await Promise.race([loaded, later(2000)]);
    return "sent";
  },
  socket: () => new Promise(done => {
    const socket = new WebSocket(gateway.replace("http", "ws") + "/v1/responses");
    socket.onopen = () => { socket.send(JSON.stringify({type: "response.create", model: "openai-chat", input: "Hi"})) };
    socket.onmessage = message => done("read " + message.data);
    socket.onclose = () => done("refused");
  }),
};
(async () => {
  const found = {};
  for (const [name, attempt] of Object.entries(attempts)) found[name] = await attempt();
  await fetch("/found", {method: "POST", body: JSON.stringify(found)});
})();
</script>"""


class _Site(BaseHTTPRequestHandler):
    """Another web site: one page, and what it found."""

    def do_GET(self) -> None:
        page = self.server.page.encode()  # type: ignore[attr-defined]
        self._send(page)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        self._send(b"")
        self.server.found = json.loads(raw)  # type: ignore[attr-defined]
        self.server.ended.set()  # type: ignore[attr-defined]

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def site() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    server.ended, server.found, server.page = threading.Event(), {}, ""
    server.origin = f"http://localhost:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)


def arguments(profile: Path, *more: str) -> list[str]:
    assert BROWSER is not None
    fixed = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
    return [BROWSER, *fixed, f"--user-data-dir={profile}", *more]


def tried(server: Any, gateway: str, profile: Path) -> dict[str, str]:
    """What each attempt of the page came to, as the page itself saw it."""
    server.page = PAGE % json.dumps(gateway)
    # Something has to keep it open: with a port for debugging it does not end with the page.
    command = arguments(profile, "--remote-debugging-port=0", server.origin)
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert server.ended.wait(PATIENCE), "the page did not come to its end"
    finally:
        running.kill()
        running.wait(PATIENCE)
    found: dict[str, str] = server.found
    return found


def test_a_page_of_another_origin_reaches_no_model(house: House, tmp_path: Path) -> None:
    with Served(house.gateway(gateway={"listen": "127.0.0.1:0"})) as served, site() as server:
        found = tried(server, served.url.replace("127.0.0.1", "localhost"), tmp_path)
    assert not house.seen, f"the page reached a model: {found}"
    assert not [name for name, outcome in found.items() if outcome.startswith(("read", "loaded"))], found
    assert len(found) == 9


def test_a_page_of_a_configured_origin_does(house: House, tmp_path: Path) -> None:
    """The same page: so the attempts are real ones."""
    with site() as server:
        gateway = house.gateway(gateway={"listen": "127.0.0.1:0", "origins": [server.origin]})
        with Served(gateway) as served:
            found = tried(server, served.url.replace("127.0.0.1", "localhost"), tmp_path)
    assert found["json"].startswith("read 200") and found["models"].startswith("read 200")
    assert found["socket"].startswith("read") and "response.created" in found["socket"]
    assert house.seen and {seen.method for seen in house.seen} == {"POST"}
    # A body of another type is refused of whatever origin: no preflight request came before it.
    assert len(house.seen) == 2, "only the JSON request and the message of the socket reach a model"


def test_a_rebound_name_shows_nothing(house: House, tmp_path: Path) -> None:
    with Served(house.gateway(gateway={"listen": "127.0.0.1:0"})) as served:
        port = served.url.rpartition(":")[2]
        rule = "--host-resolver-rules=MAP rebound.test 127.0.0.1"
        for name, shown in (("rebound.test", False), ("localhost", True)):
            command = arguments(tmp_path / name, rule, "--dump-dom", f"http://{name}:{port}/v1/models")
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
            assert ('"id"' in done.stdout) is shown and ("Host" in done.stdout) is not shown, done.stdout
