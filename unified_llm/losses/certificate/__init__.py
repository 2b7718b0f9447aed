"""The certificate of a conversion: where each value went and came from."""

from .entries import ORIGINS, RULES, Disposition, Leaf, Made, Provenance, Rule
from .trace import Trace

__all__ = ["ORIGINS", "RULES", "Disposition", "Leaf", "Made", "Provenance", "Rule", "Trace"]
