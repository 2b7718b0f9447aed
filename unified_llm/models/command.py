"""`unified-llm models [FILTER]`: the models of the registry, as a table, as one model in detail, or as JSON.

The result goes to stdout, remarks to stderr. A filter that is a model's full name shows that model; any other lists
what it matches. Exit code 2: no such model or provider, or no catalog where one was named.
"""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..foundation.errors import UnifiedLLMError, UnknownModel
from ..foundation.json_codec import dump
from ..foundation.terminal import draw, fail, plain_row, printable

if TYPE_CHECKING:
    from rich.table import Table

    from .endpoints import Provider
    from .entries import CatalogModel, Rates

__all__ = ["models"]

MEDIA = ("text", "image", "audio", "video", "pdf")

Filter = Annotated[str, typer.Argument(help="provider/model, words of a name, or globs", metavar="[FILTER]")]
Medium = Annotated[list[str] | None, typer.Option("--input", help="takes text, image, audio, video or pdf; repeatable")]
Made = Annotated[list[str] | None, typer.Option("--output", help="makes text, image, audio or video; repeatable")]


def models(
    text: Filter = "",
    provider: Annotated[str | None, typer.Option(help="only this provider")] = None,
    protocol: Annotated[str | None, typer.Option(help="only what this protocol serves")] = None,
    reasoning: Annotated[bool | None, typer.Option(help="only models that reason, or do not")] = None,
    tools: Annotated[bool | None, typer.Option(help="only models that call tools, or do not")] = None,
    takes: Medium = None,
    makes: Made = None,
    min_context: Annotated[int, typer.Option(help="at least this much context, in tokens")] = 0,
    providers: Annotated[bool, typer.Option("--providers", help="list providers and their protocols instead")] = False,
    limit: Annotated[int, typer.Option(help="so many rows at most; 0 for all", min=0)] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table, and every row")] = False,
    refresh: Annotated[str | None, typer.Option(help="read the catalog from this file or URL")] = None,
    save: Annotated[Path | None, typer.Option(help="with --refresh: keep a copy in this file")] = None,
) -> None:
    """List models and providers, or show one: limits, media, prices, reasoning, protocols, unsupported features."""
    from ..engine.registry import adapter
    from . import catalog, endpoints

    if save and not refresh:
        fail("--save keeps a copy of what --refresh reads; pass --refresh FILE or URL too")
    for medium in (*(takes or ()), *(makes or ())):
        if medium not in MEDIA:
            fail(f"{medium!r} is not a medium; choose one of: {', '.join(MEDIA)}")
    try:
        if protocol:
            adapter(protocol)
        if refresh:
            catalog.refresh(refresh, save=save)
        if providers:
            owners = [each for each in endpoints.providers(protocol=protocol) if text in each.id]
            _list_providers(owners, as_json, limit)
            return
        one = _exactly(text)
        if one is not None:
            _show(one, as_json)
            return
        found = catalog.find(
            text,
            provider=provider,
            reasoning=reasoning,
            tool_call=tools,
            input=takes or (),
            output=makes or (),
            min_context=min_context,
            where=(lambda model: protocol in _protocols(model)) if protocol else None,
        )
        if not found and text:
            catalog.get(text)
    except UnifiedLLMError as error:
        fail(error)
    except OSError as error:
        fail(f"{error.filename or refresh}: {error.strerror or error}")
    _list(found, as_json, limit)


def _exactly(text: str) -> CatalogModel | None:
    from . import catalog

    try:
        return catalog.get(text) if "/" in text else None
    except (UnknownModel, LookupError):
        return None


def _protocols(model: CatalogModel) -> tuple[str, ...]:
    from . import endpoints

    owner = endpoints.provider(model.provider_id, model=model.id)
    return tuple(dict.fromkeys(each.protocol for each in owner.serving(model.id)))


def _list(found: list[CatalogModel], as_json: bool, limit: int) -> None:
    from . import catalog

    if as_json:
        _print_json([{"ref": each.ref, **each.to_json(), "protocols": _protocols(each)} for each in found])
        return
    shown = found[:limit] if limit else found
    table = _table(
        *("model", "context", "max output", "input media", "output media"),
        *("$/M in", "$/M out", "features", "protocols", "status"),
    )
    for model in shown:
        rates = model.cost
        can = [word for word, value in (("reasoning", model.reasoning), ("tools", model.tool_call)) if value]
        plain_row(
            table,
            model.ref,
            _tokens(model.limit.context),
            _tokens(model.limit.output),
            " ".join(model.modalities.input),
            " ".join(model.modalities.output),
            _price(rates.input if rates else None),
            _price(rates.output if rates else None),
            " ".join(can),
            " ".join(_protocols(model)),
            model.status or "",
        )
    draw(table)
    used = catalog.current()
    _remark(f"{len(found)} models{_more(shown, found)}; catalog of {used.dated}, from {used.source}")


def _more(shown: list[Any], found: list[Any]) -> str:
    return f", {len(shown)} shown (--limit 0 shows all)" if len(shown) < len(found) else ""


def _list_providers(found: list[Provider], as_json: bool, limit: int) -> None:
    if as_json:
        _print_json([_provider_json(each) for each in found])
        return
    shown = found[:limit] if limit else found
    table = _table("provider", "name", "protocols", "base URLs", "API key", "source")
    for each in shown:
        plain_row(
            table,
            each.id,
            each.name,
            "\n".join(each.protocols) or "none known",
            "\n".join(dict.fromkeys(endpoint.base_url for endpoint in each.endpoints)),
            " ".join(each.key_env),
            "provider table" if each.known else "model catalog",
        )
    draw(table)
    _remark(f"{len(found)} providers{_more(shown, found)}")


def _show(model: CatalogModel, as_json: bool) -> None:
    from . import endpoints, selection

    owner = endpoints.provider(model.provider_id, model=model.id)
    try:
        choice = selection.select(owner.id, model.id)
    except ValueError:
        choice = None
    if as_json:
        told: dict[str, Any] = {"ref": model.ref, "model": model.to_json(), "provider": _provider_json(owner)}
        told |= {"protocols": _protocols(model), "unsupported": model.unsupported(), "unknown": model.unknown()}
        _print_json(told | {"choice": choice.to_json() if choice else None})
        return
    facts = _table("", "", title=f"{model.name or model.id} ({model.ref})", header=False)
    for row in _facts(model, owner):
        plain_row(facts, *row)
    draw(facts)
    prices = _table(
        "", "in", "out", "cache read", "cache write", "reasoning", "audio in", "audio out", title="$ per M tokens"
    )
    for name, rates in _rows(model):
        columns = (rates.input, rates.output, rates.cache_read, rates.cache_write, rates.reasoning, rates.input_audio)
        plain_row(prices, name, *(_price(each) for each in (*columns, rates.output_audio)))
    if prices.row_count:
        draw(prices)
    if choice is not None:
        print(choice.explain())
    else:
        print("no known protocol serves it")


def _facts(model: CatalogModel, owner: Provider) -> list[tuple[str, str]]:
    limits = [f"{_tokens(model.limit.context)} context", f"{_tokens(model.limit.output)} output"]
    limits += [f"{_tokens(model.limit.input)} input"] if model.limit.input else []
    dates = [
        f"{word} {date}"
        for word, date in (("released", model.release_date), ("knowledge cutoff", model.knowledge))
        if date
    ]
    rows = [
        ("status", model.status or ""),
        ("dates", ", ".join(dates)),
        ("limits", ", ".join(limits)),
        ("media", f"{' '.join(model.modalities.input)} -> {' '.join(model.modalities.output)}"),
        ("reasoning", _reasoning(model)),
        ("prices", f"since {model.priced.since}, {model.priced.source}" if model.priced else ""),
        ("not supported", ", ".join(model.unsupported())),
        ("unknown", ", ".join(model.unknown())),
        ("API key", " or ".join(owner.key_env)),
        ("note", owner.note),
        ("docs", owner.doc),
    ]
    return [row for row in rows if row[1]]


def _reasoning(model: CatalogModel) -> str:
    from .profiles import profile

    if not model.reasoning:
        return "" if model.reasoning is None else "no"
    told = ["yes"]
    if model.interleaved:
        field = getattr(model.interleaved, "field", None)
        told.append(f"between tool calls{f', in {field}' if field else ''}")
    for option in model.reasoning_options or ():
        values = f" {' '.join(str(each) for each in option.values)}" if option.values else ""
        bounds = f" {option.min or 0} to {option.max or 'any'}" if option.type == "budget_tokens" else ""
        told.append(f"{option.type}{values}{bounds}")
    known = profile(model.id)
    if known.known and known.reasoning.efforts and not model.reasoning_options:
        told.append(f"effort {' '.join(known.reasoning.efforts)}")
    return "; ".join(told)


def _rows(model: CatalogModel) -> list[tuple[str, Rates]]:
    rows: list[tuple[str, Rates]] = [("", model.cost)] if model.cost else []
    if model.cost:
        rows += [(f"input over {each.tier.size}", each) for each in model.cost.tiers]
        if model.cost.context_over_200k and not model.cost.tiers:
            rows.append(("input over 200000", model.cost.context_over_200k))
    modes = model.experimental.modes if model.experimental else {}
    return rows + [(f"mode {name}", mode.cost) for name, mode in modes.items() if mode.cost]


def _provider_json(owner: Provider) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(owner)


def _tokens(count: int | None) -> str:
    if not count:
        return "?"
    return f"{count / 1000:.3g}k" if count < 999_500 else f"{count / 1_000_000:.3g}M"


def _price(price: Decimal | None) -> str:
    return "" if price is None else f"{price.normalize():f}"


def _table(*columns: str, title: str | None = None, header: bool = True) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(printable(title)) if title else None, show_header=header, title_justify="left")
    for column in columns:
        number = column.startswith("$") or column in ("context", "max output")
        table.add_column(column, justify="right" if number else "left", overflow="fold")
    return table


def _print_json(value: Any) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(dump(value) + b"\n")


def _remark(text: str) -> None:
    sys.stdout.flush()
    print(printable(text), file=sys.stderr)
