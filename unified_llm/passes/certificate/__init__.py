"""The certificate of a conversion, made from what the engine noted of it."""

from .building import certificate, distinct

__all__ = ["certificate", "distinct"]
