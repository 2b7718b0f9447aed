"""The YAML configuration of another gateway as a configuration of this one; its field names are in `yaml_import.toml`.

Keys that stand in the file become names of environment variables. No value that may be a secret (keys, headers, fields
without a counterpart) is ever part of the result or of a message: messages name fields, never values.
"""

from __future__ import annotations

import json
import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

import yaml

from ...client.upstreams.references import taken_apart
from ...foundation import packaged
from ...foundation.errors import InvalidBody, UnknownProvider
from ...models.catalog import current
from ...models.endpoints import Provider, provider
from ...models.provider_table import table
from .config import Config, ConfigError

__all__ = ["Imported", "imported"]

_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_USED = frozenset(("model", "api_key", "api_base", "timeout", "weight", "rpm", "order"))


class Imported(NamedTuple):
    """`text` is the TOML file, `config` the same, checked; `left` has one line for each field that has no counterpart,
    and `variables` the environment variables that have to be set for keys that stood in the file."""

    text: str
    config: Config
    left: tuple[str, ...]
    variables: tuple[str, ...]


class _Target(NamedTuple):
    """A deployment: its upstream, and what shares the requests of a model, a weight or the requests that it may get;
    those of the lowest order share them, and the others come after them."""

    path: str
    name: str
    weight: Any
    rate: Any
    order: Any


@lru_cache(1)
def _format() -> dict[str, Any]:
    return packaged.table("gateway/configuration/yaml_import")


def imported(text: str) -> Imported:
    """Convert the text of a YAML file. Raises `ConfigError` for one that is not such a configuration.

    >>> found = imported("model_list: [{model_name: fast, litellm_params: {model: anthropic/claude-opus-4-7}}]")
    >>> found.config.models["fast"].to, found.left
    (['anthropic/claude-opus-4-7'], ())
    """
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        # The text of the error quotes the file.
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        raise ConfigError([f"not valid YAML{where}"]) from None
    except RecursionError:
        raise ConfigError(["the YAML is nested too deeply"]) from None
    if not isinstance(raw, dict) or not isinstance(raw.get("model_list"), list):
        raise ConfigError([f"not a configuration of {_format()['name']}: model_list is missing"])
    return _Import(raw).result()


class _Import:
    def __init__(self, raw: Mapping[Any, Any]) -> None:
        self.raw = raw
        self.left: list[str] = []
        self.upstreams: dict[str, dict[str, Any]] = {}
        self.models: dict[str, list[_Target]] = {}
        self.providers: dict[str, None] = {}
        self.secrets: dict[str, str] = {}

    def result(self) -> Imported:
        for place, entry in enumerate(self.raw["model_list"]):
            self._deployment(f"model_list[{place}]", entry)
        settings = self._settings()
        self._left_over()
        models = {name: self._route(name, targets, settings) for name, targets in self.models.items()}
        for path, alias, name in settings.aliases:
            if name in models:
                models.setdefault(alias, models[name])
            else:
                self.left.append(f"{path}: not a model of model_list")
        tables: dict[str, Any] = {"gateway": {"providers": list(self.providers)}, "upstreams": self.upstreams}
        text = _toml({**tables, "models": models})
        config = Config.model_validate(tomllib.loads(text))
        if problems := list(config.problems()):
            raise ConfigError(problems)
        return Imported(text, config, tuple(self.left), tuple(self.secrets.values()))

    # ---- deployments ------------------------------------------------------------------------------------------------

    def _deployment(self, path: str, entry: Any) -> None:
        given = entry.get(_format()["parameters"]) if isinstance(entry, dict) else None
        name = entry.get("model_name") if isinstance(entry, dict) else None
        model = given.get("model") if isinstance(given, dict) else None
        if not isinstance(name, str) or not name or not isinstance(model, str) or not model:
            self.left.append(f"{path}: model_name and {_format()['parameters']}.model are required")
            return
        assert isinstance(given, dict)
        inside = f"{path}.{_format()['parameters']}"
        facts = entry.get(_format()["facts"])
        facts = facts if isinstance(facts, dict) else {}
        # A price may stand at both places; that of the parameters takes precedence.
        price = _price({**facts, **given})
        found = self._upstream(inside, name, model, given, price)
        if found is None:
            return
        used = {*_USED, *_format()["variables"]} | ({*_format()["prices"]} if price else set())
        self.left += [f"{inside}.{field}" for field in given if field not in used]
        for field in entry:
            if field == _format()["facts"] and facts:
                self.left += [
                    f"{path}.{field}.{each}" for each in facts if not price or each not in _format()["prices"]
                ]
            elif field not in ("model_name", _format()["parameters"]):
                self.left.append(f"{path}.{field}")
        if found.count("*") > name.count("*"):
            self.left.append(f"{inside}.model: more '*' than in model_name")
            return
        self.models.setdefault(name, []).append(
            _Target(inside, found, given.get("weight"), given.get("rpm"), given.get("order"))
        )

    def _upstream(
        self, path: str, name: str, model: str, given: Mapping[str, Any], price: Mapping[str, float]
    ) -> str | None:
        """The target of a deployment; an upstream is made where a provider's name is not enough."""
        prefix, slash, rest = model.partition("/")
        base = given.get("api_base")
        server = slash and prefix in _format()["servers"]["prefixes"]
        whose = None if server else self._provider(prefix if slash else "", model)
        row: dict[str, Any] = {}
        if "/" in rest:
            rest = self._route_of(prefix, rest, row)
        # A server is sent the model without the prefix, whether that is known here or not.
        is_named = server or whose is not None or (isinstance(base, str) and not given.get("custom_llm_provider"))
        plain = rest if slash and is_named else model
        if whose is None and not isinstance(base, str):
            self.left.append(
                f"{path}.model: unknown provider {prefix!r}"
                if slash
                else f"{path}.model: has no provider prefix; write provider/model"
            )
            return None
        if isinstance(base, str) and not self._base(path, base, prefix, whose, row):
            return None
        if whose is None and not server:
            self.left.append(f"{path}.model: unknown provider {prefix!r}; its api_base gets Chat Completions")
        # The key of a provider goes to the provider's own hosts; elsewhere it has to be named.
        usual = whose.key_env if whose is not None and "base_url" not in row else ()
        if (key := self._key(path, name, given.get("api_key"))) and key not in usual:
            row["key_env"] = key
        if key is None and "base_url" not in row and (login := _format()["logins"].get(prefix)):
            if login["always"] or any(map(given.get, login["fields"])):
                row["auth"] = login["auth"]
        for field, variable in _format()["variables"].items():
            if isinstance(value := given.get(field), str):
                if (found := _resolved(value)) is None:
                    self.left.append(f"{path}.{field}: set the variable of the provider")
                else:
                    row.setdefault("variables", {})[variable] = found
        if _is_number(given.get("timeout")):
            row["timeout"] = given["timeout"]
        if price:
            row["price"] = dict(price)
        if whose is not None and not row:
            self.providers[whose.id] = None
            return f"{whose.id}/{plain}"
        if "base_url" not in row and whose is not None:
            row["model"] = whose.id if "*" in plain else f"{whose.id}/{plain}"
        elif "*" not in plain:
            row["model"] = plain
        made = self._named(name, row)
        return f"{made}/{plain}" if "*" in plain else made

    @staticmethod
    def _route_of(prefix: str, rest: str, row: dict[str, Any]) -> str:
        """The model behind the segments of a route and of a value of the URL, which are put into the row."""
        first, _, model = rest.partition("/")
        for variable, pattern in _format()["segments"].get(prefix, {}).items():
            if re.fullmatch(pattern, first):
                row["variables"] = {variable: first}
                return model
        routes = _format()["routes"].get(prefix, {})
        if first not in routes:
            return rest
        if routes[first]:
            row["protocol"] = routes[first]
        return model

    def _provider(self, prefix: str, model: str) -> Provider | None:
        if prefix:
            try:
                found = provider(_format()["providers"].get(prefix, prefix))
            except UnknownProvider:
                return None
            return found if found.endpoints else None
        listing = current().raw
        for name in table():
            if model in (listing.get(name) or {}).get("models", ()):
                return provider(name)
        return None

    def _base(self, path: str, base: str, prefix: str, whose: Provider | None, row: dict[str, Any]) -> bool:
        """Fill a row with the base URL, unless it is one of the provider's own."""
        if (url := _resolved(base)) is None:
            variable = base.removeprefix(_format()["environment"])
            why = f"a URL from a variable is not supported; set {variable} for the import, or write the URL"
            self.left.append(f"{path}.api_base: {why}; the deployment is left out")
            return False
        try:
            parts = taken_apart(url)
        except InvalidBody:
            parts = None
        if parts is None or not parts.host or not parts.origin.startswith(("http://", "https://")):
            self.left.append(f"{path}.api_base: not a valid URL")
            return False
        if parts.secret:
            self.left.append(f"{path}.api_base: user, password and query of the URL")
        own = [each.base_url for each in whose.endpoints] if whose is not None else []
        for each in (*own, *(_format()["hosts"].get(prefix, ()) if own else ())):
            pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^./]+)", re.escape("/".join(each.split("/")[:3])))
            if (match := re.fullmatch(pattern, parts.origin)) is not None:
                if match.groupdict():
                    row["variables"] = match.groupdict()
                return True
        bare = prefix in _format()["servers"]["bare"] and "/" not in parts.base.partition("://")[2].rstrip("/")
        row["base_url"] = f"{parts.base.rstrip('/')}/v1" if bare else parts.base
        if whose is not None and prefix not in _format()["servers"]["compatible"]:
            row.setdefault("protocol", whose.protocols[0])
        return True

    def _key(self, path: str, name: str, value: Any) -> str | None:
        """The variable of a key; a key that stands in the file gets one named after its model."""
        if not isinstance(value, str) or not value:
            return None
        mark = _format()["environment"]
        if value.startswith(mark):
            if _VARIABLE.fullmatch(variable := value.removeprefix(mark)):
                return variable
            self.left.append(f"{path}.api_key: not the name of a variable")
            return None
        if value not in self.secrets:
            stem = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").upper() or "MODEL"
            stem = f"{'KEY_' if stem[0].isdigit() else ''}{stem}_API_KEY"
            taken = self.secrets.values()
            numbered = (stem if not each else f"{stem}_{each + 1}" for each in range(len(taken) + 1))
            self.secrets[value] = next(each for each in numbered if each not in taken)
        return self.secrets[value]

    def _named(self, name: str, row: dict[str, Any]) -> str:
        """The name of an upstream; equal ones are one."""
        same = next((made for made, each in self.upstreams.items() if each == row), None)
        if same is not None:
            return same
        stem = _NAME.sub("-", name).strip("-.") or "upstream"
        numbered = (stem if not each else f"{stem}-{each + 1}" for each in range(len(self.upstreams) + 1))
        made = next(each for each in numbered if each not in self.upstreams)
        self.upstreams[made] = row
        return made

    # ---- routing ----------------------------------------------------------------------------------------------------

    def _settings(self) -> _Settings:
        fallbacks: dict[str, list[str]] = {}
        aliases: list[tuple[str, str, str]] = []
        cooldown: float | None = None
        for section in _format()["settings"]:
            given = self.raw.get(section)
            for field, value in (given if isinstance(given, dict) else {}).items():
                path = f"{section}.{field}"
                if field == "fallbacks" and isinstance(value, list):
                    for each in value:
                        for name, to in (each if isinstance(each, dict) else {}).items():
                            fallbacks.setdefault(str(name), []).extend(self._known(f"{path}.{name}", to))
                elif field == "default_fallbacks":
                    fallbacks.setdefault("*", []).extend(self._known(path, value))
                elif field in ("model_group_alias", "model_alias_map") and isinstance(value, dict):
                    for alias, name in value.items():
                        name = name.get("model") if isinstance(name, dict) else name
                        aliases.append((f"{path}.{alias}", str(alias), str(name)))
                elif field == "cooldown_time" and _is_number(value):
                    cooldown = float(value)
                else:
                    hint = _format()["hints"].get(path)
                    self.left.append(f"{path}: {hint}" if hint else path)
        return _Settings(fallbacks, aliases, cooldown)

    def _known(self, path: str, names: Any) -> Iterator[str]:
        for name in names if isinstance(names, list) else [names]:
            if isinstance(name, str) and name in self.models:
                yield name
            else:
                self.left.append(f"{path}: a fallback that is not a model of model_list")

    def _route(self, name: str, own: list[_Target], settings: _Settings) -> dict[str, Any]:
        """The table of one model: its deployments share the requests, its fallbacks come after them."""
        own = sorted(own, key=lambda each: each.order if _is_number(each.order) else math.inf)
        first = own[0].order if _is_number(own[0].order) else None
        shares = [each.weight for each in own]
        if not any(map(_is_number, shares)) and len(own) > 1:  # both have different units, and one list has one of them
            shares = [each.rate for each in own]
        else:
            self.left += [f"{each.path}.rpm" for each in own if each.rate is not None]
        to: dict[str, Any] = {}
        for each, share in zip(own, shares, strict=True):
            share = share if _is_number(share) else 1
            to.setdefault(each.name, share if each.order == first or first is None else 0)
        spare = {
            target.name: None
            for other in settings.fallbacks.get(name, settings.fallbacks.get("*", ()))
            for target in self.models[other]
            if target.name not in to and target.name.count("*") <= name.count("*")
        }
        route: dict[str, Any] = {"to": [*to, *spare]}
        if len(to) > 1:
            route["weights"] = [*to.values(), *(0 for _ in spare)]
        if settings.cooldown is not None:
            route["cooldown"] = settings.cooldown
        return route

    def _left_over(self) -> None:
        for field, value in self.raw.items():
            if field != "model_list" and field not in _format()["settings"]:
                self.left += [f"{field}.{each}" for each in value] if isinstance(value, dict) else [str(field)]


class _Settings(NamedTuple):
    fallbacks: dict[str, list[str]]
    aliases: list[tuple[str, str, str]]
    cooldown: float | None


def _resolved(value: str) -> str | None:
    """A value, or that of the environment variable that it names; None for one that is not set."""
    mark = _format()["environment"]
    return os.environ.get(value.removeprefix(mark)) if value.startswith(mark) else value


def _price(given: Mapping[str, Any]) -> dict[str, float]:
    """The prices for a million tokens of fields that have those of one; none where input or output has none."""
    found: dict[str, float] = {}
    for field, name in _format()["prices"].items():
        value = given.get(field)
        if type(value) in (int, float) or isinstance(value, str):  # YAML reads 1e-06 as a text
            with suppress(ArithmeticError):
                exact = Decimal(str(value)) * 1_000_000
                if exact.is_finite() and exact >= 0:
                    found[name] = int(exact) if exact == int(exact) else float(exact)
    return found if {"input", "output"} <= found.keys() else {}


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < 1e9


def _toml(tables: Mapping[str, Any]) -> str:
    """The text of a file: a table for each section and upstream, a line for each model."""
    lines = ["[gateway]", *(f"{name} = {_value(each)}" for name, each in tables["gateway"].items())]
    for name, row in tables["upstreams"].items():
        lines += ["", f"[upstreams.{_value(name)}]", *(f"{field} = {_value(each)}" for field, each in row.items())]
    lines += ["", "[models]", *(f"{_value(name)} = {_value(each)}" for name, each in tables["models"].items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_value(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    # TOML's basic strings are JSON's, but for surrogate pairs and for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
