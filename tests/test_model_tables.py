"""What is made of the model: capabilities, tables, twins, exports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from unified_llm.foundation.capabilities import CAPABILITIES, is_capability
from unified_llm.types import __all__ as exported
from unified_llm.types import _generate as generate
from unified_llm.types import _tables
from unified_llm.types.base import KNOWN, Model, cap, field_capability

ROOT = Path(generate.__file__).parent
CLASSES = [cls for cls in generate.classes() if cls is not Model]
NODES = generate.nodes()

RESERVED = {
    "text.unicode": "reported by the reader of bytes, which sees no key",
    "tools.result.media": "reported by writers whose results are text only; the key is the same as for text",
}
"""Capabilities that no class or field names, each with the reason it is in the list."""


# Capabilities --------------------------------------------------------------------------------------------------------


def test_the_list_is_closed_and_of_the_promised_size() -> None:
    assert 60 <= len(CAPABILITIES) <= 100
    assert all(meaning and meaning[0].islower() for meaning in CAPABILITIES.values())
    assert len(set(CAPABILITIES.values())) == len(CAPABILITIES)
    with pytest.raises(ValueError, match="not in"):
        cap("sampling.mood")


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("sampling.top_k", True),
        ("x.acme.mood", True),
        ("x.acme.mood.deep", True),
        ("x.acme", False),
        ("x.acme.", False),
        ("x..mood", False),
        ("x", False),
        ("", False),
        ("mood", False),
    ],
)
def test_is_capability(name: str, answer: bool) -> None:
    assert is_capability(name) is answer


def test_every_field_and_class_has_a_capability() -> None:
    for cls in CLASSES:
        assert cls.node_capability in CAPABILITIES
        for name, info in cls.__pydantic_fields__.items():
            found = field_capability(info)
            assert name == "type" or found in CAPABILITIES, f"{cls.__name__}.{name}"


def test_no_capability_is_idle() -> None:
    used = {name for table in _tables.CAPABILITY.values() for name in table.values()}
    used |= {cls.node_capability for cls in CLASSES}
    assert CAPABILITIES.keys() - used == RESERVED.keys()


# Generated files -----------------------------------------------------------------------------------------------------


def test_generated_files_are_current() -> None:
    assert (ROOT / "_tables.py").read_text(encoding="utf-8") == generate.tables()
    assert (ROOT / "_twins.pyi").read_text(encoding="utf-8") == generate.twins()


def test_tables_agree_with_the_classes() -> None:
    for kind in KNOWN:
        assert getattr(_tables, f"{kind.upper()}_TYPES") == set(KNOWN[kind])
    for name, cls in NODES.items():
        assert {info.alias or key for key, info in cls.__pydantic_fields__.items()} == _tables.KEYS[name]
        assert _tables.CAPABILITY[name][""] == cls.node_capability
        assert set(_tables.CAPABILITY[name]) >= _tables.KEYS[name]
    everything = set(_tables.JSON_TYPES) | set(KNOWN)
    held = {child for table in _tables.CHILDREN.values() for children in table.values() for child in children}
    assert held <= everything


def test_a_shared_name_belongs_to_the_commoner_kind() -> None:
    prefixed = {name for name in _tables.CAPABILITY if ":" in name and name.partition(":")[0] in KNOWN}
    assert prefixed == {"event:error", "tool_choice:custom", "tool_choice:function", "tool_choice:mcp"}


@pytest.mark.parametrize(
    ("node", "key", "json_types"),
    [
        ("request", "temperature", ("integer", "number", "null")),
        ("request", "stream", ("boolean", "null")),
        ("message", "content", ("string", "array", "null")),
        ("message", "role", ("string",)),
        ("request", "tool_choice", ("string", "object", "null")),
        ("opaque", "data", ("string", "integer", "number", "boolean", "array", "object", "null")),
    ],
)
def test_json_types(node: str, key: str, json_types: tuple[str, ...]) -> None:
    assert _tables.JSON_TYPES[node][key] == json_types


def test_the_hot_path_loads_no_pydantic() -> None:
    code = (
        "import sys; import unified_llm.foundation.capabilities, unified_llm.types._tables; "
        "sys.exit(','.join(sorted({'pydantic', 'pydantic_core'} & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT.parents[1])
    assert done.returncode == 0, done.stderr


def test_every_class_says_what_it_is_and_where_it_comes_from() -> None:
    for cls in CLASSES:
        assert cls.__doc__, cls.__name__
        ours = cls.__module__ == Model.__module__ or cls.__name__.startswith("Unknown") or cls.__name__ == "FrameEvent"
        if cls.__name__ in exported and not ours:
            assert "https://" in cls.__doc__, cls.__name__


def test_exports_are_sorted_and_all_there() -> None:
    assert exported == sorted(exported)
    import unified_llm.types as model

    assert all(hasattr(model, name) for name in exported)
