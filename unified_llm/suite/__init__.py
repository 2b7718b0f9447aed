"""The compliance suite: the laws every adapter keeps, ours and foreign ones alike.

It contains no vendor's name and needs no test framework. The author of an adapter registers it, gathers records (dicts
with `id`, `protocol`, `kind` and `body`, or `events` for a stream), and asserts that each law returns no failure:

    from unified_llm import suite

    def test_identity():
        assert not suite.identity("acme-chat", records)

    def test_nothing_is_lost_in_silence():
        assert not suite.sensitivity(records, "another-protocol")
"""

from __future__ import annotations

from .canonical import canonical_round_trip
from .certificate import Problem, Verification, certified, verify
from .completeness import unclassified_fields, unclassified_types
from .compliance import all
from .defaults import documented_defaults, is_default, no_noise
from .fuzz import Fuzzed, fuzz
from .laws import edit, identity, injection, prefix_stability, sensitivity, specificity
from .outcome import Failure, Outcome, canonical, outcome, without_form
from .packaged import covering, records
from .signatures import foreign_minds, forgetful_minds, minds, minds_of_conversations
from .streams.content import streamed_content
from .streams.laws import (
    chunking,
    collecting,
    compare,
    decomposing,
    repeating,
    sse_bytes,
    truncation,
)
from .streams.silence import frame_sensitivity, stream_sensitivity
from .validity import valid

__all__ = [
    "Failure",
    "Fuzzed",
    "Outcome",
    "Problem",
    "Verification",
    "all",
    "canonical",
    "canonical_round_trip",
    "certified",
    "chunking",
    "collecting",
    "compare",
    "covering",
    "decomposing",
    "documented_defaults",
    "edit",
    "foreign_minds",
    "forgetful_minds",
    "frame_sensitivity",
    "fuzz",
    "identity",
    "injection",
    "is_default",
    "minds",
    "minds_of_conversations",
    "no_noise",
    "outcome",
    "prefix_stability",
    "records",
    "repeating",
    "sensitivity",
    "specificity",
    "sse_bytes",
    "stream_sensitivity",
    "streamed_content",
    "truncation",
    "unclassified_fields",
    "unclassified_types",
    "valid",
    "verify",
    "without_form",
]
