"""A response that validates when it is first looked at is what one is that was validated at once."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from threading import Thread
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

import unified_llm as ul
from unified_llm.client import late_response
from unified_llm.client.late_response import LateResponse
from unified_llm.types import validation

NODE = {
    "id": "r1",
    "output": [{"type": "message", "role": "assistant", "content": "Hi"}],
    "usage": {"input_tokens": 1, "output_tokens": 2},
    "own": {"x": 1},
}


class Holder(BaseModel):
    held: ul.Response


def late() -> LateResponse:
    return LateResponse.late(copy.deepcopy(NODE))


def set_and_read(response: Any) -> Any:
    response.id = "r2"
    return response.id, response.dump(), response.model_fields_set


def delete_and_read(response: Any) -> Any:
    del response.id
    return hasattr(response, "id"), response.output_text


@pytest.mark.parametrize(
    "look",
    [
        lambda r: r.output[0].content,
        lambda r: r.output_text,
        lambda r: r.own,
        lambda r: r.model_extra,
        lambda r: r.model_fields_set,
        lambda r: r.status,
        lambda r: vars(r),
        lambda r: dict(r),
        lambda r: r.dump(),
        lambda r: r.model_dump(exclude_unset=True),
        lambda r: r.model_dump_json(exclude_unset=True),
        lambda r: r.model_copy(update={"id": "r3"}).dump(),
        lambda r: copy.copy(r).dump(),
        lambda r: copy.deepcopy(r).dump(),
        lambda r: pickle.loads(pickle.dumps(r)).dump(),
        lambda r: r == copy.deepcopy(r),
        lambda r: hasattr(r, "nothing_of_that_name"),
        lambda r: repr(r).partition("(")[2],
        lambda r: isinstance(r, ul.Response) and ul.Response.model_validate(r) is r,
        lambda r: Holder(held=r).model_dump(exclude_unset=True),
        lambda r: Holder(held=r).model_dump_json(exclude_unset=True),
        set_and_read,
        delete_and_read,
    ],
)
def test_the_first_look_sees_what_any_look_sees(look: Callable[[Any], Any]) -> None:
    expected = look(ul.validate("response", copy.deepcopy(NODE)))
    assert look(late()) == expected
    looked_at = late()
    assert looked_at.output
    assert look(looked_at) == expected


def test_it_has_no_hash_and_no_other_attribute() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(late())
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        _ = late().nothing_of_that_name  # type: ignore[attr-defined]


def elsewhere(do: Callable[[], Any]) -> Any:
    """What a function returns in another thread."""
    found: list[Any] = []
    thread = Thread(target=lambda: found.append(do()))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize(("module", "moment"), [(validation, "validate"), (late_response, "_is_validated")])
def test_threads_that_look_at_once_see_the_same_objects(
    module: ModuleType, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    response, seen = late(), []
    real = getattr(module, moment)

    def overtaken(*given: Any) -> Any:
        """Before this thread has got any further, another one has looked."""
        monkeypatch.setattr(module, moment, real)
        found = real(*given) if moment == "validate" else None
        seen.append(elsewhere(lambda: response.output))
        return found if moment == "validate" else real(*given)

    monkeypatch.setattr(module, moment, overtaken)
    assert response.output is seen[0] and response.output is seen[0]
