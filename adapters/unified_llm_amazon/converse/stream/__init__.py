"""Streams of ConverseStream: events to canonical events and back."""

from .reader import ConverseReader
from .writer import ConverseWriter

__all__ = ["ConverseReader", "ConverseWriter"]
