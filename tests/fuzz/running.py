"""`make fuzz`: many mutants in several processes, with progress, and a small reproduction of what fails.

python -m fuzz --count 200000 --seed 7 --jobs 2       cases 0 to 199999 of seed 7
python -m fuzz --seed 7 --only 1234                   one case again, with its traceback
python -m fuzz --family streams --count 5000          one family alone
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
import warnings
from collections import Counter
from collections.abc import Iterator

from .cases import FAMILIES, Seeds
from .fuzzing import failure_of

_BATCH = 250
_EVERY = 15.0  # seconds between two lines of progress

_seeds: list[Seeds] = []


def _begin() -> None:
    warnings.simplefilter("ignore")  # validators of SDKs warn of what they take all the same
    _seeds.append(Seeds())


def _batch(work: tuple[int, range, str | None]) -> tuple[int, list[tuple[str, str]]]:
    """How many cases there were, and the causes of failures with their texts: mutants may be too deep to be sent."""
    seed, numbers, family = work
    found = (failure_of(_seeds[0], seed, number, family) for number in numbers)
    return len(numbers), [(failure.key, str(failure)) for failure in found if failure is not None]


def _batches(seed: int, count: int, family: str | None) -> Iterator[tuple[int, range, str | None]]:
    for start in range(0, count, _BATCH):
        yield seed, range(start, min(start + _BATCH, count)), family


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200_000, help="number of mutants (default 200000)")
    parser.add_argument("--seed", type=int, default=None, help="seed of all of them (default: from the clock)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one a CPU)")
    parser.add_argument("--family", choices=sorted(FAMILIES), help="one family alone (default: all, in their shares)")
    parser.add_argument("--only", type=int, help="the number of one case, to run it alone")
    given = parser.parse_args()
    seed = int(time.time()) if given.seed is None else given.seed
    if given.only is not None:
        _begin()
        failure = failure_of(_seeds[0], seed, given.only, given.family)
        print(failure or "nothing fails")
        return int(failure is not None)
    print(f"{given.count} mutants, seed {seed}, {given.jobs} processes", flush=True)
    began = told = time.monotonic()
    done = 0
    causes: Counter[str] = Counter()
    context = multiprocessing.get_context("spawn")
    with context.Pool(given.jobs, initializer=_begin) as pool:
        for count, failures in pool.imap_unordered(_batch, _batches(seed, given.count, given.family)):
            done += count
            for key, text in failures:
                if key not in causes:
                    print(f"\n{text}", flush=True)
                causes[key] += 1
            now = time.monotonic()
            if now - told > _EVERY:
                told = now
                rate, failed = done / (now - began), causes.total()
                print(f"{done:>8} of {given.count}, {rate:.0f} a second, {failed} failed", flush=True)
    for key, times in causes.most_common():
        print(f"{times} times: {key}")
    took = time.monotonic() - began
    print(f"\n{done} mutants of seed {seed} in {took:.0f} s: {causes.total()} failed, {len(causes)} causes")
    return int(bool(causes))
