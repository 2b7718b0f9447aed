"""The command line: `unified-llm convert`, `preview`, `protocols`, `models`, `matrix`, `drift`, `gateway`, `chat` and
`run`.

The result goes to stdout and nothing else does, so it can be piped; losses, progress and errors go to stderr. Input is
one JSON document, one a line with `--lines`, the JSON lines of a stream (one wire event a line), or the raw stream,
server-sent events or a JSON array where the protocol has that: detected from the content.
Errors are one line, `unified-llm: what, where; what to do`.
Exit codes: 0 done, 1 drift found, 2 bad input or usage, 3 a loss at level `raise`, 4 a provider failed.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any, NoReturn

import unified_llm as ul

from .foundation.json_codec import dump, parse
from .foundation.terminal import any_text, columns, error_line, fail, failure, printable, read_input
from .losses import Losses, enforce, levels_from

try:
    import typer
    import typer.core

    from .client.cli.commands import chat, run
    from .client.cli.recorded import events_of, is_framed, is_stream
    from .drift.command import drift, matrix
    from .gateway.command import gateway
    from .models.command import models
except ModuleNotFoundError:  # pragma: no cover - the extra is installed wherever this is tested
    raise SystemExit("unified-llm: the command line needs an extra: pip install 'unified-llm[cli]'") from None

__all__ = ["app", "main"]


class _Commands(typer.core.TyperGroup):
    """The commands, whose errors of usage look like all others."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _in_one_form():
            return super().make_context(*arguments, **options)

    def get_params(self, ctx: Any) -> Any:
        return _converted_on_need(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = super().get_command(ctx, cmd_name)
        if found is not None:
            _converted_on_need(found.get_params(ctx))
        return found

    def invoke(self, ctx: Any) -> Any:
        with _in_one_form():
            return super().invoke(ctx)


class _OnNeed:
    """The converter of a parameter, made when there is something to convert.

    Typer makes it with pydantic, which takes as long to load as a whole conversion of a document. Neither a text nor a
    parameter that was not given needs it.
    """

    def __init__(self, parameter: Any) -> None:
        self._general = parameter.get_runtime_param
        self._is_single = not parameter.multiple and parameter.nargs == 1
        self._is_text = parameter.type_descriptor.annotation is str

    def __call__(self) -> _OnNeed:
        return self

    def coerce(self, value: Any, *, param: Any, ctx: Any) -> Any:
        if self._is_single and (value is None or (self._is_text and type(value) is str)):
            return value
        return self._general().coerce(value, param=param, ctx=ctx)


def _converted_on_need(parameters: Any) -> Any:
    for each in parameters:
        found = getattr(each, "get_runtime_param", None)  # not in every version of Typer
        if found is not None and not isinstance(found, _OnNeed):
            each.get_runtime_param = _OnNeed(each)
    return parameters


_USAGE: Any = typer.BadParameter.__mro__[1]  # UsageError, which has no public name in every version


@contextmanager
def _in_one_form() -> Iterator[None]:
    try:
        yield
    except _USAGE as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            raise  # it shows the help
        where = error.ctx.command_path if error.ctx is not None else "unified-llm"
        fail(f"{error.format_message().rstrip('.')}; see {where} --help")


app: typer.Typer = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    invoke_without_command=True,
    rich_markup_mode=None,  # rich takes as long to load as everything else
    help="Call language models, and convert traffic between their wire protocols.",
)


def _protocols(incomplete: str) -> list[str]:
    return [name for name in ul.protocols() if name.startswith(incomplete)]


Source = Annotated[
    str,
    typer.Option("--from", help="source protocol[:dialect]", metavar="PROTOCOL", autocompletion=_protocols),
]
Target = Annotated[
    str,
    typer.Option("--to", help="target protocol[:dialect]", metavar="PROTOCOL", autocompletion=_protocols),
]
Kind = Annotated[
    str, typer.Option(help="request, response, error, stream, or another kind that `unified-llm protocols` lists")
]
Model = Annotated[str | None, typer.Option(help="model name to write for the target")]
File = Annotated[str, typer.Argument(metavar="[FILE|-]", help="a file, or - for standard input")]
OnLoss = Annotated[
    str,
    typer.Option(help="ignore, warn, raise, or GLOB[@FATE|@SEVERITY]=LEVEL,...; first match wins"),
]
JsonLosses = Annotated[
    Path | None, typer.Option(help="write the loss report as JSON to this file; - prints it instead of the table")
]
TraceFile = Annotated[
    Path | None,
    typer.Option("--trace", help="write where each value went as JSON to this file; - prints it as a table"),
]
Lines = Annotated[
    bool,
    typer.Option("--lines", help="one document on each line (JSONL); a line that fails stops no other"),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="do not print the loss table")]
Explain = Annotated[bool, typer.Option("--explain", help="also print what each capability is, and what to do instead")]


@app.command()
def convert(
    source: Source,
    target: Target,
    file: File = "-",
    kind: Kind = "request",
    model: Model = None,
    on_loss: OnLoss = "ignore",
    json_losses: JsonLosses = None,
    trace: TraceFile = None,
    lines: Lines = False,
    quiet: Quiet = False,
) -> None:
    """Convert a document or stream; result to stdout, losses to stderr."""
    levels = _levels(on_loss)
    data = _read(file)
    options: dict[str, Any] = {"source": source, "target": target, "model": model, "on_loss": levels}
    if lines:
        if kind == "stream" or trace is not None:
            fail(f"--lines is for documents, without {'--trace' if trace is not None else '--kind stream'}")
        _convert_lines(data, {**options, "kind": kind}, json_losses, quiet)
        return
    try:
        if kind == "stream" or is_stream(data) or (kind == "request" and is_framed(data, source, kind)):
            if trace is not None:
                fail("--trace is for documents; a stream has no certificate")
            losses = _convert_stream(data, options)
        else:
            done = ul.convert(data, kind=kind, trace=trace is not None, **options)
            _out(dump(done.value))
            losses = done.losses
            _certify(done, trace)
            if kind == "request":
                _doubt(data, source, losses)
            if done.http and not quiet:
                _err(f"method, path and headers: {dump(dict(done.http)).decode()}")
    except ul.CapabilityLost as lost:
        _report(lost.losses, json_losses, quiet)
        fail(lost)
    except (ul.UnifiedLLMError, ValueError) as error:
        _fail(error, file)
    _report(losses, json_losses, quiet)


@app.command()
def preview(
    source: Source,
    target: Target,
    file: File = "-",
    kind: Kind = "request",
    model: Model = None,
    on_loss: OnLoss = "ignore",
    json_losses: JsonLosses = None,
    explain: Explain = False,
) -> None:
    """Show the losses of a conversion only."""
    levels = _levels(on_loss)
    data = _read(file)
    options: dict[str, Any] = {"source": source, "target": target, "model": model}
    try:
        if kind == "stream" or is_stream(data) or (kind == "request" and is_framed(data, source, kind)):
            events = list(events_of(data, source))
            stream = ul.convert_stream(events, **options)
            for _ in stream:
                pass
            losses = stream.losses
            _doubt(events, source, losses)
        else:
            losses = ul.preview(data, kind=kind, **options)
            if kind == "request":
                _doubt(data, source, losses)
    except (ul.UnifiedLLMError, ValueError) as error:
        _fail(error, file)
    if not _keep(losses, json_losses, sys.stdout):
        print(losses.table())
        changed = [group.capability for group in losses.grouped() if group.fate != "added"]
        for capability in dict.fromkeys(changed) if explain else ():
            print(f"\n{printable(losses.explain(capability))}")
    try:
        enforce(losses, levels)
    except ul.CapabilityLost as lost:
        fail(lost)


@app.command()
def protocols() -> None:
    """List installed protocols, dialects and document kinds."""
    from .engine.registry import adapter

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
    """Call language models, and convert traffic between their wire protocols."""
    if version:
        print(f"unified-llm {ul.__version__}")
        raise typer.Exit


def main() -> None:
    """The entry point of the `unified-llm` script, and of `python -m unified_llm`."""
    # What is loaded need not be taken apart where the process ends, which takes as long as `--help` does.
    atexit.register(gc.freeze)
    any_text()
    app(prog_name="unified-llm")


def _levels(text: str) -> Any:
    try:
        return levels_from(text)
    except ValueError as error:
        fail(error)


def _read(file: str) -> bytes:
    try:
        data = read_input(file)
    except OSError as error:
        fail(f"{file}: {error.strerror}")
    if not data.strip():
        fail(f"{'standard input' if file == '-' else file} is empty")
    return data


def _fail(error: Exception, file: str) -> NoReturn:
    """Fail for a body, with the name of the file; for several documents there is an option."""
    from .client.cli.lines import in_file

    fail(in_file(error, file))


def _convert_lines(data: bytes, options: dict[str, Any], json_losses: Path | None, quiet: bool) -> None:
    """Each document of a file of lines. Lines that fail are named on stderr, and left out."""
    from .client.cli.lines import convert_lines, losses_of

    losses: list[ul.Loss] = []
    codes: list[int] = []
    for number, found in convert_lines(data.splitlines(), **options):
        losses += losses_of(number, found)
        if isinstance(found, ul.Converted):
            _out(dump(found.value))
            continue
        reason, code = failure(found)
        codes.append(code)
        _err(error_line(f"line {number}: {reason}"))
    _report(Losses(losses), json_losses, quiet)
    if codes:
        raise typer.Exit(min(codes))


def _convert_stream(data: bytes, options: dict[str, Any]) -> Losses:
    from .engine.registry import adapter
    from .streams.framings.lines import lined
    from .streams.framings.sse import encode

    raw = data.lstrip(b"\xef\xbb\xbf \r\n")[:1] not in (b"{", b"[") or is_framed(data, options["source"])
    framing = adapter(options["target"]).streams.framing
    events = list(events_of(data, options["source"]))
    stream = ul.convert_stream(_progress(events), **options)
    for event in stream:
        if raw:
            value = event["data"]
            text = value if isinstance(value, str) else dump(value)
            frame = encode(event["event"] if framing.named else None, text)
            _out(lined(frame) if framing.lines else frame, end=b"")
        else:
            _out(dump(event))
    _doubt(events, options["source"], stream.losses)
    return stream.losses


def _progress(events: list[Any]) -> Iterator[Any]:
    """The events, with a progress bar on a terminal, if there is something to wait for."""
    if len(events) < 2_000 or not sys.stderr.isatty():
        yield from events
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(events, description="converting", console=Console(stderr=True), transient=True)


def _out(data: bytes, end: bytes = b"\n") -> None:
    sys.stdout.buffer.write(data + end)


def _doubt(given: bytes | list[Any], source: str, losses: Losses) -> None:
    """Where much of a request, or of the events of a stream, is lost because it is of another protocol, print that."""
    if any(loss.capability.startswith("native.") for loss in losses):
        from .client.cli.detection import meant_instead, streamed_instead

        meant = streamed_instead(given, source) if isinstance(given, list) else meant_instead(parse(given), source)
        if meant:
            _err(f"hint: input looks like {meant}; use --from {meant}")


def _report(losses: Losses, json_losses: Path | None, quiet: bool) -> None:
    if not _keep(losses, json_losses, sys.stderr) and not quiet:
        _err(losses.table(width=columns(sys.stderr)))


def _certify(done: ul.Converted, path: Path | None) -> None:
    """Write the certificate where that was requested."""
    if path is None or done.trace is None:
        return
    if str(path) == "-":
        _err(done.trace.table(width=columns(sys.stderr)))
        return
    try:
        path.write_bytes(dump(done.trace.to_json()))
    except OSError as error:
        fail(f"{path}: {error.strerror}")


def _keep(losses: Losses, path: Path | None, shown: IO[str]) -> bool:
    """Write the report as JSON where that was requested; whether it stands where the table would."""
    if path is None:
        return False
    told = dump(losses.to_json())
    if str(path) == "-":
        _err(told.decode(), shown)
        return True
    try:
        path.write_bytes(told)
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    return False


def _err(text: str, file: IO[str] | None = None) -> None:
    sys.stdout.flush()
    print(printable(text), file=file or sys.stderr)
