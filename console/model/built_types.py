"""Types for msgspec, built before threads use them.

msgspec learns a type's fields when the type is first used. If a second thread uses the type meanwhile, it finds the
type half built, and the process crashes (SIGSEGV, msgspec 0.22): this happened when two threads read their first
journal at the same time. So one thread builds each type, and the others wait.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import msgspec

Form = TypeVar("Form")

_ALONE = threading.Lock()
_BUILT: set[Any] = set()


def built(form: Form) -> Form:
    """Return the type that was passed, after msgspec has built its fields; `msgspec.convert` and decoders in other
    threads may then use it.

    Args:
        form: a type that msgspec accepts; it may contain types that only a `dec_hook` can decode.
    """
    if form not in _BUILT:
        with _ALONE:
            # Build msgpack's decoder, which, unlike that of JSON, has no rules for the keys of dicts.
            msgspec.msgpack.Decoder(form)
            _BUILT.add(form)
    return form
