"""The upstream that needs no network and no key: `unified_llm_local.echo`.

Nothing in this package imports anything of `unified_llm` or of an adapter. It is the other end of the wire, written
from the providers' documents a second time, so that what our adapters write is judged by somebody else.
"""
