"""Certificates of conversions, checked against the documents and the loss report alone (docs/verification.md)."""

from .law import certified
from .relations import RELATIONS
from .verdict import CODES, Problem, Verification
from .verify import verify

__all__ = ["CODES", "RELATIONS", "Problem", "Verification", "certified", "verify"]
