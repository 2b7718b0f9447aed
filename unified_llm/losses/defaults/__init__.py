"""Which lost values carry no information: documented defaults, what the library made, and echoes of the request.

The engine reports every value that it did not write. A reported value is dropped from the report

* in a request, if it is the source API's documented default and the target does the same without it;
* in an answer, if it is the source API's documented default, or repeats a setting of the request;
* anywhere, if it is null, or an identifier that the library made.

A value that is not the source's default, and requests what the target does anyway, is `approximated`. The data is
`defaults.toml`, loaded with the first lost value. Decision record 0027.
"""

from .weighing import Weighing, needs_no_field, significant

__all__ = ["Weighing", "needs_no_field", "significant"]
