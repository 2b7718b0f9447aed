"""The mapping engine: a wire object is declared once, as it looks, with canonical keys at its leaves.

Reading, writing, the place of every leaf, what is left over, and the spelling of a document are derived from that
declaration. The vocabulary: a **shape** is a declared object, a **field** one place of it, a **codec** the two
functions of a value that changes, a **union** the shapes that one place may hold, each a **case**; a **turn layout**
declares how a wire message is several items; a **fact** is a bit that a reader sets; **extra** is what no field took.

Declarations are normalized into frozen rows (`rows.py`) when a module is imported, and checked. One emitter
(`compile.py`) makes one straight-line function of them for each direction; where one signals "not mine", `explain.py`
finds why. Nothing here is compiled, remembered or grown by documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..foundation.lazy import on_first_use

if TYPE_CHECKING:
    from .compiler.context import Context, Raw
    from .compiler.fields import (
        Field,
        boolean,
        choices,
        codec,
        constant,
        enum,
        flatten,
        integer,
        json,
        nested,
        number,
        opaque,
        string,
        turn,
        turns,
        union,
    )
    from .compiler.runtime import compared, respelled, spelled_as
    from .compiler.signals import (
        ABSENT,
        CALLS,
        MEDIA,
        NATIVE,
        NATIVES,
        OPAQUE,
        REST,
        RESULTS,
        TOOLS,
        Approximate,
        Cannot,
        DeclarationError,
        Mismatch,
    )
    from .shapes.layouts import Blocks, Slots
    from .shapes.places import Places, keep_spelling, walk
    from .shapes.report import located
    from .shapes.shape import Place, Shape
    from .shapes.timeline import Choices, Turns
    from .shapes.unions import Union

__all__ = [
    "ABSENT",
    "CALLS",
    "MEDIA",
    "NATIVE",
    "NATIVES",
    "OPAQUE",
    "REST",
    "RESULTS",
    "TOOLS",
    "Approximate",
    "Blocks",
    "Cannot",
    "Choices",
    "Context",
    "DeclarationError",
    "Field",
    "Mismatch",
    "Place",
    "Places",
    "Raw",
    "Shape",
    "Slots",
    "Turns",
    "Union",
    "boolean",
    "choices",
    "codec",
    "compared",
    "constant",
    "enum",
    "flatten",
    "integer",
    "json",
    "keep_spelling",
    "located",
    "nested",
    "number",
    "opaque",
    "respelled",
    "spelled_as",
    "string",
    "turn",
    "turns",
    "union",
    "walk",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "compiler.context": "Context Raw",
            "compiler.fields": (
                "Field boolean choices codec constant enum flatten integer json nested number opaque string turn "
                "turns union"
            ),
            "shapes.layouts": "Blocks Slots",
            "shapes.places": "Places keep_spelling walk",
            "shapes.report": "located",
            "compiler.runtime": "compared respelled spelled_as",
            "shapes.shape": "Place Shape",
            "compiler.signals": (
                "ABSENT Approximate CALLS Cannot DeclarationError MEDIA Mismatch NATIVE NATIVES OPAQUE REST "
                "RESULTS TOOLS"
            ),
            "shapes.timeline": "Choices Turns",
            "shapes.unions": "Union",
        },
    )
