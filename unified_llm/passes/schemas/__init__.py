"""JSON-schema lowering: a schema as a target accepts it, with every relaxation recorded.

What a target accepts is a declaration (`SchemaProfile`); `lower` does what it takes and names each change with its
place in the original; `restore_arguments` undoes in returned arguments what the model could see of it. Nothing here
depends on a target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...foundation.lazy import on_first_use

if TYPE_CHECKING:
    from .lowering import lower
    from .profile import Change, Lowered, NameRule, SchemaProfile, fit_name
    from .restore import restore_arguments

__all__ = ["Change", "Lowered", "NameRule", "SchemaProfile", "fit_name", "lower", "restore_arguments"]

# Every adapter declares a profile, and few requests have a schema to lower.
if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "lowering": "lower",
            "profile": "Change Lowered NameRule SchemaProfile fit_name",
            "restore": "restore_arguments",
        },
    )
