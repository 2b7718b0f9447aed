"""Certificates of conversions, checked against the documents and the loss report alone (docs/verification.md)."""

from .law import certified
from .relations import RELATIONS
from .verify import CODES, Problem, Verification, verify

__all__ = ["CODES", "RELATIONS", "Problem", "Verification", "certified", "verify"]
