"""Runs cases one by one and shrinks what fails to a small reproduction.

A case is named by its family, the seed and its number, and made of nothing else, so each can be made again alone. Each
has a limit of CPU time. An error that malformed input does not explain counts as a failure: `malformed.net` is off.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from unified_llm.engine import malformed

from .cases import FAMILIES, Case, Seeds
from .mutation import places, with_value, without

__all__ = ["Failure", "TooLong", "case_of", "failed", "failure_of", "numbered"]

CPU_SECONDS = 10.0
_SHRINKING_SECONDS = 20.0
# Of a hundred cases, how many are of each family.
_SHARES = {"documents": 45, "streams": 25, "canonical": 20, "transports": 10}


class TooLong(BaseException):
    """A case took more CPU time than any case may. (No `except Exception` on the way stops it.)"""


class Failure(NamedTuple):
    """What failed: `key` is the same for failures of one cause, `error` its traceback, `value` the shrunk mutant.

    `again` is the command that repeats it, where there is one.
    """

    title: str
    key: str
    error: str
    value: Any
    again: str = ""

    def __str__(self) -> str:
        again = f"  {self.again}\n" if self.again else ""
        return f"{self.key}\n  {self.title}\n  {_shown(self.value)}\n{again}{self.error}"


def numbered(number: int) -> str:
    """The family of a case by its number: the shares hold in every hundred of them."""
    place = number % 100
    for family, share in _SHARES.items():
        if place < share:
            return family
        place -= share
    raise AssertionError("the shares make a hundred")


def case_of(seeds: Seeds, seed: int, number: int, family: str | None = None) -> Case:
    """The case of this number."""
    family = family or numbered(number)
    return FAMILIES[family](random.Random(f"{seed} {family} {number}"), seeds)


def failure_of(seeds: Seeds, seed: int, number: int, family: str | None = None) -> Failure | None:
    """What is wrong with the case of this number, with the mutant as small as could be made; None if nothing is."""
    family = family or numbered(number)
    try:
        case = case_of(seeds, seed, number, family)
    except RecursionError:
        return None  # a mutant of a mutant that is too deep to be copied
    return failed(case, f"python -m fuzz --family {family} --seed {seed} --only {number}")


def failed(case: Case, again: str = "") -> Failure | None:
    """What is wrong with a case; None if nothing is."""
    key, error = _outcome(case, case.value)
    return Failure(case.title, key, error, _shrunk(case, key), again) if key else None


def _outcome(case: Case, value: Any) -> tuple[str, str]:
    """The name of what failed, and how; both empty if nothing did."""
    net, malformed.net = malformed.net, False
    try:
        with _limited():
            case.run(value)
    except (Exception, TooLong) as error:
        frames = [each for each in traceback.extract_tb(error.__traceback__) if "unified_llm" in each.filename]
        place = f"{frames[-1].filename.rpartition('unified_llm')[2]}:{frames[-1].name}" if frames else ""
        told = "".join(traceback.format_exception(error, limit=-6)[-8:])
        return f"{type(error).__name__} {place if isinstance(error, Exception) else ''}", told[-3_000:]
    finally:
        malformed.net = net
    return "", ""


@contextmanager
def _limited() -> Iterator[None]:
    """Stops what takes more than `CPU_SECONDS` of this process."""
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _stop(*_: Any) -> None:
    raise TooLong


def _shrunk(case: Case, key: str) -> Any:
    """The mutant without all that can be left out of it while it fails in the same place."""
    value, ends = case.value, time.monotonic() + _SHRINKING_SECONDS
    smaller = True
    while smaller and time.monotonic() < ends:
        smaller = False
        for other in _smaller(value):
            if time.monotonic() > ends:
                break
            try:
                found = _outcome(case, other)[0]
            except RecursionError:
                continue
            if found == key:
                value, smaller = other, True
                break
    return value


def _smaller(value: Any) -> Iterator[Any]:
    if type(value) is bytes:
        size = len(value) // 2
        while size:
            yield from (value[:start] + value[start + size :] for start in range(0, len(value), size))
            size //= 2
        return
    if type(value) is tuple:
        for index, each in enumerate(value):
            yield from ((*value[:index], other, *value[index + 1 :]) for other in _smaller(each))
        return
    if type(value) is not dict and type(value) is not list:
        return
    for path, node in sorted(places(value)[1:], key=lambda place: len(place[0])):
        yield without(value, path)
        if type(node) is str and len(node) > 8:
            yield with_value(value, path, "x")


def _shown(value: Any) -> str:
    """A mutant as ASCII, since it may hold what no terminal can print."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        try:
            text = ascii(value)
        except RecursionError:
            return "(too deep to print)"
    return text if len(text) < 2_000 else f"{text[:2_000]}... ({len(text)} characters)"


if not hasattr(signal, "setitimer"):  # pragma: no cover
    sys.exit("the fuzzers need signal.setitimer, which this system lacks")
