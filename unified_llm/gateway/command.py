"""`unified-llm gateway`: start the gateway, check its configuration, create keys.

What it prints for people goes to stdout; errors go to stderr. Exit codes: 0 done, 2 invalid configuration or usage.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from ..foundation.terminal import error_line, fail, printable

if TYPE_CHECKING:
    from .configuration.config import Config
    from .upstreams.routing import Router

__all__ = ["gateway"]

gateway: typer.Typer = typer.Typer(
    help="Serve every installed protocol over HTTP, on any upstream.",
    invoke_without_command=True,
    no_args_is_help=False,
)
key: typer.Typer = typer.Typer(help="API keys of the gateway.", no_args_is_help=True)
gateway.add_typer(key, name="key")

ListenAddress = Annotated[str | None, typer.Option("--listen", metavar="HOST:PORT", help="replaces gateway.listen")]
ConfigFile = Annotated[Path | None, typer.Option("--config", "-c", metavar="FILE", help="configuration file (TOML)")]


@gateway.callback()
def run(
    context: typer.Context,
    config: ConfigFile = None,
    listen: ListenAddress = None,
) -> None:
    """Start the gateway. Without --config it serves local/echo and every provider whose API key is set."""
    given = {"--config": config, "--listen": listen}
    if context.invoked_subcommand == "check":
        context.obj = given
        return
    if context.invoked_subcommand is not None:
        for name, value in given.items():
            if value is not None:
                fail(f"{name} has no meaning for `gateway {context.invoked_subcommand}`; leave it out")
        return
    settings, router = _load(config, listen)
    from .app import Gateway
    from .configuration.config import ConfigError
    from .reload import Reloader
    from .server import Server

    _warn(settings, router)
    try:
        app = Gateway(settings, router)
    except ConfigError as error:
        _fail_all(error.problems)
    reloader = Reloader(app, config, lambda text: typer.echo(printable(text), err=True), listen)

    def ready(url: str) -> None:
        # What is loaded stays: the collector need not look at it again and again, nor every 700 objects at the rest.
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        _announce(url, settings, router)

    server = Server(app, ready, reloader)
    try:
        server.run()
    except KeyboardInterrupt:
        pass
    except OSError as error:
        fail(f"{settings.gateway.listen}: {error.strerror}")
    if not server.started:
        raise typer.Exit(1)


@gateway.command()
def check(context: typer.Context, config: ConfigFile = None, listen: ListenAddress = None) -> None:
    """Check a configuration without starting anything. What is probably a mistake is a warning, on stderr."""
    # Options may stand before and behind the name of the command.
    for name, value in {"--config": config, "--listen": listen}.items():
        if value is not None and context.obj[name] is not None:
            fail(f"{name} is given twice, before and behind `check`")
    settings, router = _load(config or context.obj["--config"], listen or context.obj["--listen"])
    print(f"listen     {settings.gateway.listen}")
    print(f"access     {f'{len(settings.keys)} keys' if settings.keys else 'loopback only, no keys'}")
    for name, upstream in router.upstreams.items():
        print(f"upstream   {name}: {upstream.name}, {upstream.protocol}, {upstream.origin}")
    for name in router.providers:
        print(f"provider   {name}")
    for name, route in settings.models.items():
        print(f"model      {name}: {', '.join(route.to)}")
    _warn(settings, router)


@gateway.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE.yaml", help="configuration of another gateway")],
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="a new file (TOML)")] = None,
) -> None:
    """Convert the YAML configuration of another gateway. What was not imported is listed on stderr."""
    _needs_extra()
    from .configuration.config import ConfigError
    from .configuration.yaml_import import imported

    try:
        found = imported(file.read_text("utf-8"))
        if output is None:
            print(found.text, end="")
        else:
            with output.open("x", encoding="utf-8") as out:
                out.write(found.text)
    except ConfigError as error:
        _fail_all([f"{file}: {each}" for each in error.problems])
    except UnicodeDecodeError:
        fail(f"{file}: not UTF-8")
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
    for each in found.left:
        typer.echo(printable(f"not imported: {each}"), err=True)
    for variable in found.variables:
        typer.echo(f"a key is part of {printable(str(file))}: set {variable} to it", err=True)


@gateway.command()
def spend(
    url: Annotated[str, typer.Option("--url", metavar="URL", help="base URL of the gateway")] = "http://127.0.0.1:8787",
    key_env: Annotated[
        str, typer.Option("--api-key-env", metavar="NAME", help="the environment variable that holds an API key of it")
    ] = "UNIFIED_LLM_GATEWAY_KEY",
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table")] = False,
) -> None:
    """Show what a key and its team have used of their limits, and what is left; with an admin key of all."""
    from .spend_command import spend as shown

    shown(url, key_env, as_json)


@key.command()
def new(
    name: Annotated[str, typer.Argument(help="name of the key in the configuration")] = "NAME",
) -> None:
    """Create an API key: lines for the configuration on stdout (>> gateway.toml), the key itself once, on stderr."""
    _needs_extra()
    from .access.callers import new_key

    if not name or not name.isprintable():
        fail(f"{name!r} cannot be the name of a key")
    made, digest = new_key()
    # A bare key of TOML, else a string of it: https://toml.io/en/v1.0.0#keys
    shown = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
    typer.echo(made, err=True)  # alone, for 2> FILE
    # The empty line ends the last one of a file that this is added to.
    print(f'\n[keys.{shown}]\nsha256 = "{digest}"')


def _load(path: Path | None, listen: str | None) -> tuple[Config, Router]:
    _needs_extra()
    from .configuration.config import ConfigError
    from .reload import read

    try:
        return read(path, listen)
    except ConfigError as error:
        _fail_all(error.problems)
    except OSError as error:
        fail(f"{path}: {error.strerror}")


def _warn(config: Config, router: Router) -> None:
    """What is probably a mistake, on stderr."""
    from .likely_mistakes import doubts

    for each in doubts(config, router):
        typer.echo(printable(f"warning: {each}"), err=True)


def _needs_extra() -> None:
    try:
        import aiosqlite  # noqa: F401
        import alembic  # noqa: F401
        import msgspec  # noqa: F401
        import prometheus_client  # noqa: F401
        import sqlalchemy  # noqa: F401
        import uvicorn  # noqa: F401
        import yaml  # noqa: F401
        import zstandard  # noqa: F401
    except ModuleNotFoundError:
        fail("the gateway needs an extra: pip install 'unified-llm[gateway]'")


def announcement(url: str, keyed: bool) -> list[str]:
    """The lines that point each SDK and program at the gateway."""
    from ..foundation.packaged import table

    rows: list[dict[str, Any]] = table("gateway/clients")["client"]
    given = {"url": url, "key": "YOUR_GATEWAY_KEY" if keyed else "unused"}
    lines = []
    for row in rows:
        lines.append(f"# {row['name']}")
        lines += [f"export {name}={value.format(**given)}" for name, value in row.get("set", {}).items()]
        if "run" in row:
            lines.append(row["run"].format(**given))
    return lines


def _announce(url: str, settings: Config, router: Router) -> None:
    names = [*settings.models, *router.upstreams, *(f"{each}/MODEL" for each in router.providers)]
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    lines = [f"The gateway listens on {url}", "", *announcement(url, bool(settings.keys)), "", f"Models: {shown}"]
    print("\n".join(map(printable, lines)), flush=True)


def _fail_all(problems: Sequence[str]) -> NoReturn:
    for each in problems[:-1]:
        typer.echo(error_line(each), err=True)
    fail(problems[-1])
