"""The mapping engine: a wire object is declared once, as it looks, with canonical keys at its leaves.

Reading, writing, the place of every leaf, what is left over, and the spelling of a document are derived from that
declaration. The vocabulary: a **shape** is a declared object, a **field** one place of it, a **codec** the two
functions of a value that changes, a **union** the shapes that one place may hold, each a **case**; a **turn layout**
says how a wire message is several items; a **fact** is a bit that a reader sets; **extra** is what no field took.

Declarations are normalised into frozen rows (`rows.py`) when a module is imported, and checked. One emitter
(`compile.py`) makes one straight-line function of them for each direction; where one says "not mine", `explain.py` says
why. Nothing here is compiled, remembered or grown by documents.
"""

from __future__ import annotations

from .context import Context, Raw
from .fields import (
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
from .layouts import Blocks, Slots
from .places import Places, keep_spelling, walk
from .report import located
from .runtime import compared, respelled, spelled_as
from .shape import Place, Shape
from .signals import (
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
from .timeline import Choices, Turns
from .unions import Union

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
