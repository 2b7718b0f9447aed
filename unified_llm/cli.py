"""The command line: `unified-llm convert`, `preview`, `protocols`, `models`, `matrix`, `drift`, `gateway`, `chat` and
`run`.

The result goes to stdout and nothing else does, so it can be piped; losses, progress and errors go to stderr. Input is
one JSON document, the JSON lines of a stream (one wire event a line), or the raw stream, server-sent events or a JSON
array where the protocol has that: told apart by looking.
Exit codes: 0 done, 2 bad input or usage (one line, with the JSON path), 3 a loss at level `raise`, 4 a provider failed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated, Any, NoReturn

import unified_llm as ul

from .jsonvalue import dump, parse
from .losses import Losses, levels_from
from .terminal import printable

try:
    import typer

    from .client.cli.commands import chat, run
    from .drift.command import drift, matrix
    from .gateway.command import gateway
    from .models.command import models
except ModuleNotFoundError:  # pragma: no cover - the extra is installed wherever this is tested
    raise SystemExit("unified-llm: the command line needs an extra: pip install 'unified-llm[cli]'") from None

__all__ = ["app", "main"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    invoke_without_command=True,
    help="Talk to language models, and translate between their wire formats.",
)

Source = Annotated[str, typer.Option("--from", help="protocol[:dialect] of the input", metavar="PROTOCOL")]
Target = Annotated[str, typer.Option("--to", help="protocol[:dialect] of the output", metavar="PROTOCOL")]
Kind = Annotated[str, typer.Option(help="request, response, error, stream, or another kind the adapters know")]
File = Annotated[str, typer.Argument(metavar="[FILE|-]", help="a file, or - for standard input")]
OnLoss = Annotated[
    str, typer.Option(help="ignore, warn, raise, or GLOB[@FATE]=LEVEL,... (first match wins), e.g. 'reasoning.*=raise'")
]
JsonLosses = Annotated[
    Path | None, typer.Option(help="write the loss report to this file as JSON; - for in place of the table")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="no loss table on stderr")]


@app.command()
def convert(
    source: Source,
    target: Target,
    file: File = "-",
    kind: Kind = "request",
    model: Annotated[str | None, typer.Option(help="the target's model")] = None,
    on_loss: OnLoss = "ignore",
    json_losses: JsonLosses = None,
    quiet: Quiet = False,
) -> None:
    """Convert a document or a stream; the result goes to stdout, what was lost to stderr."""
    levels = _levels(on_loss)
    data = _read(file)
    options: dict[str, Any] = {"source": source, "target": target, "model": model, "on_loss": levels}
    try:
        if kind == "stream" or _is_stream(data) or (kind == "request" and _is_array(data, source)):
            losses = _convert_stream(data, options)
        else:
            done = ul.convert(data, kind=kind, **options)
            _out(dump(done.value))
            losses = done.losses
            _doubt(data, source, kind, losses)
            if done.http and not quiet:
                _err(f"beside the body: {dump(dict(done.http)).decode()}")
    except ul.CapabilityLost as lost:
        _report(lost.losses, json_losses, quiet)
        _fail(3, str(lost))
    except (ul.UnifiedLLMError, ValueError) as error:
        _fail(2, str(error))
    _report(losses, json_losses, quiet)


@app.command()
def preview(
    source: Source, target: Target, file: File = "-", kind: Kind = "request", json_losses: JsonLosses = None
) -> None:
    """Show what a conversion would lose, without the result."""
    data = _read(file)
    try:
        if kind == "stream" or _is_stream(data) or (kind == "request" and _is_array(data, source)):
            stream = ul.convert_stream(_events(data, source), source=source, target=target)
            for _ in stream:
                pass
            losses = stream.losses
        else:
            losses = ul.preview(data, source=source, target=target, kind=kind)
            _doubt(data, source, kind, losses)
    except (ul.UnifiedLLMError, ValueError) as error:
        _fail(2, str(error))
    if not _keep(losses, json_losses, sys.stdout):
        print(losses.table())


@app.command()
def protocols() -> None:
    """List the protocols that are installed, with their dialects and kinds of documents."""
    from .registry import adapter

    for name in ul.protocols():
        found = adapter(name)
        print(f"{name:26} {found.title}")
        print(f"{'':26} documents: {', '.join(found.kinds)}, stream")
        if found.dialects:
            print(f"{'':26} dialects: {', '.join(sorted(found.dialects))}")
        print(f"{'':26} {found.url}")


app.command()(models)
app.command()(chat)
app.command()(run)
app.command()(matrix)
app.add_typer(drift, name="drift")
app.add_typer(gateway, name="gateway")


@app.callback()
def about(
    version: Annotated[bool, typer.Option("--version", help="show the version and exit", is_eager=True)] = False,
) -> None:
    """Talk to language models, and translate between their wire formats."""
    if version:
        print(f"unified-llm {ul.__version__}")
        raise typer.Exit


def main() -> None:
    """The entry point of the `unified-llm` script."""
    app()


def _levels(text: str) -> Any:
    try:
        return levels_from(text)
    except ValueError as error:
        _fail(2, str(error))


def _read(file: str) -> bytes:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        _fail(2, f"{file}: {error.strerror}")
    if not data.strip():
        _fail(2, f"{'standard input' if file == '-' else file} is empty")
    return data


def _is_stream(data: bytes) -> bool:
    """Raw server-sent events open with a field; JSON lines of a stream are several objects with `data` in them."""
    head = data.lstrip(b"\xef\xbb\xbf \r\n")[:8]
    if head.startswith((b"data:", b"event:", b":", b"id:", b"retry:")):
        return True
    first, _, rest = data.strip().partition(b"\n")
    if not rest.strip() or not first.rstrip().endswith(b"}"):
        return False
    try:
        opening = parse(first)
    except ul.InvalidBody:
        return False
    return isinstance(opening, dict) and "data" in opening


def _is_array(data: bytes, source: str) -> bool:
    """A raw stream as one JSON array, and not a list of our own JSON form of events."""
    from .registry import split

    head = data.lstrip(b"\xef\xbb\xbf \r\n")
    if not head.startswith(b"[") or not split(source)[0].streams.framing.array:
        return False
    from .jsonarray import JSONArrayDecoder

    first = next(iter(JSONArrayDecoder().feed(head)), None)
    return first is None or "data" not in parse(first["data"])


def _events(data: bytes, source: str) -> Iterator[dict[str, Any]]:
    from .jsonarray import StreamDecoder
    from .sse import parse_data

    head = data.lstrip(b"\xef\xbb\xbf \r\n")[:1]
    if head not in (b"{", b"[") or _is_array(data, source):
        decoder = StreamDecoder()
        for event in [*decoder.feed(data), *decoder.close()]:
            yield {"event": event["event"], "data": parse_data(event["data"])}
        return
    values = parse(data) if head == b"[" else [parse(line) for line in data.splitlines() if line.strip()]
    for number, event in enumerate(values):
        if not isinstance(event, dict) or "data" not in event:
            raise ul.InvalidBody(f"/{number}", 'an event is an object {"event": name or null, "data": value}')
        yield {"event": event.get("event"), "data": event["data"]}


def _convert_stream(data: bytes, options: dict[str, Any]) -> Losses:
    from .registry import adapter
    from .sse import encode

    raw = data.lstrip(b"\xef\xbb\xbf \r\n")[:1] not in (b"{", b"[") or _is_array(data, options["source"])
    named = adapter(options["target"]).streams.framing.named
    events = list(_events(data, options["source"]))
    stream = ul.convert_stream(_progress(events), **options)
    for event in stream:
        if raw:
            value = event["data"]
            text = value if isinstance(value, str) else dump(value)
            _out(encode(event["event"] if named else None, text), end=b"")
        else:
            _out(dump(event))
    return stream.losses


def _progress(events: list[Any]) -> Iterator[Any]:
    """The events, with a progress bar where somebody watches and there is something to wait for."""
    if len(events) < 2_000 or not sys.stderr.isatty():
        yield from events
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(events, description="converting", console=Console(stderr=True), transient=True)


def _out(data: bytes, end: bytes = b"\n") -> None:
    sys.stdout.buffer.write(data + end)


def _doubt(data: bytes, source: str, kind: str, losses: Losses) -> None:
    """Where much of a request is lost because it is of another protocol, that is the reason worth telling."""
    from .client.cli.run import meant_instead

    if kind == "request" and any(loss.capability.startswith("native.") for loss in losses):
        meant = meant_instead(parse(data), source)
        if meant:
            _err(f"this looks like a request of {meant}: --from {meant}?")


def _report(losses: Losses, json_losses: Path | None, quiet: bool) -> None:
    if not _keep(losses, json_losses, sys.stderr) and not quiet:
        _err(losses.table())


def _keep(losses: Losses, path: Path | None, shown: IO[str]) -> bool:
    """Write the report as JSON where that was asked for; whether it stands where the table would."""
    if path is None:
        return False
    told = dump(losses.to_json())
    if str(path) == "-":
        _err(told.decode(), shown)
        return True
    try:
        path.write_bytes(told)
    except OSError as error:
        _fail(2, f"{path}: {error.strerror}")
    return False


def _err(text: str, file: IO[str] | None = None) -> None:
    sys.stdout.flush()
    print(printable(text), file=file or sys.stderr)


def _fail(code: int, reason: str) -> NoReturn:
    _err(f"unified-llm: {' '.join(reason.split())}")
    raise typer.Exit(code)


if __name__ == "__main__":
    main()
