"""`unified-llm chat` and `unified-llm run`: a conversation with any model, and one request in any wire format.

The answer goes to stdout, everything else to stderr. Exit codes: 0 done, 2 bad input or usage, 3 a loss at level
`raise`, 4 the provider failed.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ...foundation.errors import APIError, UnifiedLLMError, UnknownProvider
from ...foundation.json_codec import dump
from ...foundation.terminal import columns, fail, failure, printable, read_input
from ...losses import Losses, levels_from

__all__ = ["chat", "run"]

Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        envvar="UNIFIED_LLM_MODEL",
        help="provider/model; without one local/echo, a mock that repeats the text and needs no key",
    ),
]
Protocol = Annotated[str | None, typer.Option(help="use this protocol[:dialect] with the provider in any case")]
BaseURL = Annotated[str | None, typer.Option(help="your own server, e.g. http://localhost:8000/v1")]
KeyEnv = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="the environment variable that holds the key of the server at --base-url"),
]
ECHO = "local/echo"


def chat(
    prompt: Annotated[str, typer.Argument(metavar="[PROMPT]", help="send this, print the answer, and exit")] = "",
    model: Model = None,
    instructions: Annotated[str | None, typer.Option("--instructions", "-i", help="the system's text")] = None,
    effort: Annotated[str | None, typer.Option(help="how much to think: none, low, medium, high, ...")] = None,
    tools: Annotated[
        list[Path] | None, typer.Option(help="a Python file whose tools (@unified_llm.tool) may be called; repeatable")
    ] = None,
    mcp: Annotated[
        list[str] | None, typer.Option(help="an MCP server whose tools may be called: a URL or a command; repeatable")
    ] = None,
    protocol: Protocol = None,
    base_url: BaseURL = None,
    api_key_env: KeyEnv = None,
) -> None:
    """Talk to a model. Lines are sent as they are typed or piped; /help lists what else can be typed."""
    from ..client import Client
    from ..inputs.settings import unknown_effort
    from .chat import Chat

    if model is None and base_url is not None:
        fail("--base-url requires --model; pass the name of a model on that server")
    key = _key(api_key_env, base_url)
    model = model or ECHO
    # Names of models on one's own server are its own, with a slash too.
    options: dict[str, Any] = {"upstream": base_url} if base_url is not None else {}
    if instructions is not None:
        options["instructions"] = instructions
    if effort is not None:
        if reason := unknown_effort(effort):
            fail(f"--effort: {reason}")
        options["reasoning"] = {"effort": effort}
    typed = sys.stdin.isatty()
    with contextlib.ExitStack() as stack:
        try:
            offered = _tools(tools or [], mcp or [], stack)
        except OSError as error:
            fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except (ImportError, TypeError, ValueError, UnifiedLLMError) as error:
            fail(error)
        client = stack.enter_context(Client(protocol=protocol, base_url=base_url, api_key=key))
        talk = Chat(
            client,
            model,
            out=sys.stdout,
            err=sys.stderr,
            color=sys.stderr.isatty(),
            tools=offered,
            options=options,
        )
        if prompt:
            # What is piped belongs to the question: `cat page.md | unified-llm chat "In one sentence:"`.
            talk.ask(prompt if typed else f"{prompt}\n\n{sys.stdin.read()}".rstrip())
        else:
            if typed:
                talk.note(f"{model}; /help lists the commands")
                if model == ECHO:
                    talk.note("local/echo is a mock that repeats your text; /model PROVIDER/MODEL selects a real model")
            for line in _lines(typed):
                if not talk.line(line) or (talk.failed and not typed):
                    break
    if talk.failed and (prompt or not typed):
        raise typer.Exit(failure(talk.failed)[1])


def run(
    file: Annotated[str, typer.Argument(metavar="[FILE|-]", help="a request, or - for standard input")] = "-",
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="provider/model, or a provider for the request's own model; with --base-url a model of that server",
        ),
    ] = None,
    source: Annotated[
        str | None, typer.Option("--from", metavar="PROTOCOL", help="the protocol of the request; else by looking")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="the whole answer in the request's own format; of a stream its events")
    ] = False,
    stream: Annotated[bool | None, typer.Option(help="stream the answer, or not; default: as in the request")] = None,
    on_loss: Annotated[
        str, typer.Option(help="ignore, warn, raise, or GLOB[@FATE|@SEVERITY]=LEVEL,...; first match wins")
    ] = "ignore",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="nothing on stderr but errors")] = False,
    protocol: Protocol = None,
    base_url: BaseURL = None,
    api_key_env: KeyEnv = None,
) -> None:
    """Send one request, in the wire format of any protocol, to any model, and print the answer."""
    from .run import send

    begun, key = False, _key(api_key_env, base_url)
    try:
        levels = levels_from(on_loss)
        data = read_input(file)
        if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b"["):
            raise ValueError(f"{file}: a request is a JSON document; unified-llm chat takes plain text")
        where = {"protocol": protocol, "base_url": base_url, "api_key": key}
        done = send(data, source, model, stream=stream, on_loss=levels, **where)
        if done.pieces is None:
            _print(dump(done.document) if as_json else _text(done.text))
        else:
            for text, events in done.pieces:
                if as_json:
                    for event in events:
                        _print(dump(event))
                elif text:
                    begun = True
                    _print(_text(text), end=b"")
            if not as_json:
                begun = False
                _print(b"")
        # Who reads the text only does not care for what its format has no room for.
        losses = done.losses() if as_json else done.lost
    except APIError as error:
        if begun:
            _print(b"")
        fail(error)
    except BrokenPipeError:
        raise  # the reader has closed the pipe
    except OSError as error:
        hint = "; unified-llm chat takes plain text" if isinstance(error, FileNotFoundError) else ""
        fail(f"{file}: {error.strerror or error}{hint}")
    except UnknownProvider as error:
        named = model or ""
        fail(f"{failure(error)[0]}; a model is named provider/model" if named and "/" not in named else error)
    except (UnifiedLLMError, ValueError) as error:
        fail(error)
    if not as_json:
        # Other parts of the error add nothing for a person who reads the text.
        losses = Losses(loss for loss in losses if loss.fate != "added")
        for told in () if quiet else done.beside():
            print(printable(f"[{told}]"), file=sys.stderr)
    if not quiet and losses:
        sys.stdout.flush()
        print(losses.table(width=columns(sys.stderr)), file=sys.stderr)


def _key(name: str | None, base_url: str | None) -> str | None:
    """The key in an environment variable. What was typed is not repeated: it may be the key itself."""
    if name is None:
        return None
    if base_url is None:
        fail("--api-key-env requires --base-url; the key of a known provider is read from that provider's own variable")
    key = os.environ.get(name)
    if not key:
        fail("--api-key-env is not the name of an environment variable that is set; pass the name, not the key")
    return key


def _tools(files: list[Path], servers: list[str], stack: contextlib.ExitStack) -> list[Any]:
    """The tools of Python files and of MCP servers."""
    import shlex

    from ..tools.function_tools import Tool
    from ..tools.mcp import ToolServer

    found: list[Any] = []
    if files:
        atexit.unregister(gc.freeze)  # a file that a tool holds open is written to its end when it is collected
    for path in files:
        try:
            made = runpy.run_path(str(path))
        except OSError:
            raise
        except Exception as error:
            where = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
            raise ImportError(f"{path}{where}: {type(error).__name__}: {error}") from error
        mine = [value for value in made.values() if isinstance(value, Tool)]
        if not mine:
            raise TypeError(f"{path}: there is no tool in it; decorate a function with @unified_llm.tool")
        found += mine
    for server in servers:
        try:
            words = server if "://" in server else shlex.split(server)
        except ValueError as error:
            raise ValueError(f"--mcp {server!r}: {error}") from error
        found.append(stack.enter_context(ToolServer(words)))
    return found


def _lines(typed: bool) -> Iterator[str]:
    """What is typed or piped, line by line."""
    if not typed:
        yield from sys.stdin
        return
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (arrows and history in input())
    while True:
        try:
            yield input("> ")
        except EOFError:
            print(file=sys.stderr)
            return
        except KeyboardInterrupt:
            print("\n[/quit ends]", file=sys.stderr)


def _text(text: str) -> bytes:
    return printable(text).encode("utf-8", "replace")


def _print(data: bytes, end: bytes = b"\n") -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data + end)
    sys.stdout.buffer.flush()
