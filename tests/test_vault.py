"""The vault restores what clients drop, bounded and scoped, and never mixes two conversations."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import unified_llm as ul
from unified_llm.provenance.conversation_digest import thread_of
from unified_llm.provenance.vault import Scoped, park
from vaults import ASKED, call, home, result, said, signed, thought

Node = dict[str, Any]


def data_of(items: list[Node]) -> list[str]:
    return [piece["data"] for item in items for piece in item.get("opaque") or ()]


def keep(vault: ul.Vault, answer: list[Node], *before: Node, **settings: Any) -> None:
    """Keep the answer to a conversation."""
    park(answer, vault, thread_of({"input": list(before or [ASKED]), **settings}))


# ---- the memory -----------------------------------------------------------------------------------------------------


def test_the_vault_is_bounded_and_scopes_are_apart() -> None:
    vault = ul.MemoryVault("tenant", limit=2)
    for key in "abc":
        vault.put(key, [{"type": "reasoning", "id": key}])
    assert vault.get("a") is None
    assert vault.get("c") == [{"type": "reasoning", "id": "c"}]
    vault.get("b")
    vault.put("d", [])
    assert vault.get("c") is None and vault.get("b") is not None
    other = vault.within("another")
    assert other.get("b") is None
    other.put("e", [])
    other.put("f", [])
    assert vault.get("b") is None, "the limit holds for all scopes together"


def test_the_vault_is_bounded_in_bytes() -> None:
    vault = ul.MemoryVault(max_bytes=1_000)
    for number in range(50):
        vault.put(str(number), [{"type": "reasoning", "data": "x" * 100}])
    kept = [number for number in range(50) if vault.get(str(number)) is not None]
    assert kept and kept[-1] == 49 and len(kept) < 10
    vault.put("large", [{"data": "x" * 2_000}])
    assert vault.get("large") is None


def test_what_is_kept_cannot_be_changed_from_outside() -> None:
    vault, items = ul.MemoryVault(), [thought("T")]
    vault.put("a", items)
    items[0]["opaque"][0]["data"] = "changed"
    first = vault.get("a")
    assert first is not None and data_of(first) == ["T"]
    first.clear()
    assert vault.get("a")


def test_many_threads_at_the_limit() -> None:
    vault = ul.MemoryVault(limit=8)
    failures: list[BaseException] = []
    start = threading.Barrier(8)

    def work(number: int) -> None:
        try:
            start.wait()
            mine = vault.within(str(number % 2))
            for turn in range(400):
                mine.put(str(turn % 20), [{"owner": number % 2}])
                found = mine.get(str((turn + 7) % 20))
                assert found is None or found == [{"owner": number % 2}]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failures
    assert sum(vault.within(scope).get(str(key)) is not None for scope in "01" for key in range(20)) <= 8


def test_any_vault_can_be_scoped() -> None:
    class Shelf(dict[str, Any]):
        def put(self, key: str, items: list[Node]) -> None:
            self[key] = items

    shelf: ul.Vault = Shelf()
    keep(Scoped(shelf, "a"), [thought("T"), call("c1")])
    assert data_of(home(Scoped(shelf, "a"), ASKED, call("c1"))) == ["T"]
    assert data_of(home(Scoped(shelf, "b"), ASKED, call("c1"))) == []
    assert data_of(home(shelf, ASKED, call("c1"))) == []


# ---- parking and bringing back --------------------------------------------------------------------------------------


def test_pieces_come_back_on_the_nodes_they_were_on() -> None:
    vault = ul.MemoryVault()
    on_call = call("c1", opaque=signed("ON-CALL"))
    on_part = said("done")
    on_part["content"][0]["opaque"] = signed("ON-PART")
    keep(vault, [thought("BEFORE"), on_call, call("c2")])
    keep(vault, [on_part], ASKED, call("c1"), call("c2"), result("c1"))
    back = home(vault, ASKED, call("c1"), call("c2"), result("c1"), said("done"))
    assert [item["type"] for item in back] == [
        "message", "reasoning", "function_call", "function_call", "function_call_output", "message",
    ]  # fmt: skip
    assert data_of(back) == ["BEFORE", "ON-CALL"]
    assert [item.get("call_id") for item in back] == [None, None, "c1", "c2", "c1", None]
    assert back[-1]["content"][0]["opaque"] == signed("ON-PART")


def test_a_conversation_that_kept_its_pieces_is_not_touched() -> None:
    vault = ul.MemoryVault()
    answer = [thought("T"), call("c1")]
    keep(vault, answer)
    assert home(vault, ASKED, *answer) == [ASKED, *answer]
    assert home(vault, ASKED) == [ASKED]


def test_one_call_id_for_two_things_is_two_answers() -> None:
    vault = ul.MemoryVault()
    oslo, rome = said("Oslo?", "user"), said("Rome?", "user")
    keep(vault, [thought("OSLO"), call("call_1", "Oslo")], oslo)
    keep(vault, [thought("ROME"), call("call_1", "Rome")], rome)
    assert data_of(home(vault, oslo, call("call_1", "Oslo"))) == ["OSLO"]
    assert data_of(home(vault, rome, call("call_1", "Rome"))) == ["ROME"]
    assert data_of(home(vault, oslo, call("call_1", "Bern"))) == []


def test_an_answer_to_a_conversation_that_is_unknown_is_not_kept() -> None:
    vault = ul.MemoryVault()
    park([thought("T"), call("c1")], vault, "")
    assert vault.empty


def test_a_call_without_its_id_is_known_in_its_conversation_alone() -> None:
    vault = ul.MemoryVault()
    keep(vault, [call("c1", opaque=signed("S"))])
    made = "call_ulm_0123456789"
    back = home(vault, ASKED, call(made), result(made))
    assert data_of(back) == ["S"]
    assert [item.get("call_id") for item in back] == [None, "c1", "c1"], "call and result have the call's own id again"
    assert data_of(home(vault, said("other", "user"), call(made))) == []


BEFORE = [ASKED, said("One."), said("go on", "user"), call("c0"), result("c0", "4 C")]


@pytest.mark.parametrize(
    ("before", "settings"),
    [
        ([said("other", "user"), *BEFORE[1:]], {}),
        ([ASKED, said("Two."), *BEFORE[2:]], {}),
        ([*BEFORE[:2], said("go off", "user"), *BEFORE[3:]], {}),
        ([*BEFORE[:3], call("c0", "Rome"), BEFORE[4]], {}),
        ([*BEFORE[:4], result("c0", "5 C")], {}),
        ([*BEFORE[2:]], {}),
        ([*BEFORE, said("and?", "user")], {}),
        (BEFORE, {"instructions": "You serve tenant B."}),
        (BEFORE, {}),
    ],
)
def test_whatever_differs_before_an_answer_makes_it_another_one(before: list[Node], settings: Node) -> None:
    """Two tenants who open with the same words, and get the same answer, have nothing to do with each other."""
    vault = ul.MemoryVault()
    keep(vault, [thought("A"), said("Same.")], *BEFORE, instructions="You serve tenant A.")
    assert data_of(home(vault, *BEFORE, said("Same."), instructions="You serve tenant A.")) == ["A"]
    assert data_of(home(vault, *before, said("Same."), **settings)) == []


def test_an_image_that_differs_makes_it_another_conversation() -> None:
    def shown(data: str) -> Node:
        return {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": data}]}

    vault = ul.MemoryVault()
    keep(vault, [thought("A"), said("A cat.")], shown("data:image/png;base64,AAAA"))
    assert data_of(home(vault, shown("data:image/png;base64,AAAA"), said("A cat."))) == ["A"]
    assert data_of(home(vault, shown("data:image/png;base64,BBBB"), said("A cat."))) == []


def test_a_conversation_is_known_however_it_is_written() -> None:
    one = thread_of({"input": "Hi"})
    assert one == thread_of({"input": [{"type": "message", "role": "user", "content": "Hi"}]})
    brief = thread_of({"input": [said("Be brief.", "system"), said("Hi", "user"), said("Yes?")]})
    assert brief == thread_of({"instructions": "Be brief.", "input": [said("Hi", "user"), said("Yes?")]})
    assert len({one, brief, thread_of({"input": "Ho"}), thread_of({"input": [said("Hi", "user"), said("Yes?")]})}) == 4
    assert thread_of({"input": []}) == ""


def test_many_messages_of_the_models_in_a_row_are_looked_through_in_bounded_steps() -> None:
    asked: list[str] = []

    class Counting(ul.MemoryVault):
        def get(self, key: str) -> list[Node] | None:
            asked.append(key)
            return super().get(key)

    vault = Counting()
    vault.put("anything", [])
    home(vault, ASKED, *[said(f"{number}") for number in range(2_000)])
    assert len(asked) < 200
