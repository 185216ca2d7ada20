"""Every message of the proposals comes back from its bytes as it was, and every byte of it is read."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from io import BytesIO
from types import UnionType
from typing import Any, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.index import api_key_map
from kio.serial import entity_reader, entity_writer

from console.wire.proposals import formats as api_keys
from console.wire.proposals.table import PROPOSED
from tests.support.examples import examples

_INTEGERS = {"int8": 8, "int16": 16, "int32": 32}
_MESSAGES = [
    pytest.param(entity, id=f"{m.api}-v{m.version}-{entity.__name__}")
    for m in PROPOSED.values()
    for entity in (m.request, m.response)
]


def _primitive(kind: str) -> st.SearchStrategy[Any]:
    if kind in _INTEGERS:
        bits = _INTEGERS[kind] - 1
        return st.integers(-(1 << bits), (1 << bits) - 1)
    if kind == "string":
        return st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
    return {"bool": st.booleans(), "float64": st.floats(allow_nan=False)}[kind]


def _values(type_: Any, kind: str | None) -> st.SearchStrategy[Any]:
    if get_origin(type_) is UnionType:
        (inner,) = (part for part in get_args(type_) if part is not type(None))
        return st.none() | _values(inner, kind)
    if get_origin(type_) is tuple:
        return st.lists(_values(get_args(type_)[0], kind), max_size=3).map(tuple)
    if is_dataclass(type_):
        return st.builds(type_, **{f.name: _values(f.type, f.metadata.get("kafka_type")) for f in fields(type_)})
    assert kind is not None
    return _primitive(kind)


@pytest.mark.parametrize("entity", _MESSAGES)
@given(data=st.data())
@examples(15, at_length=40, deadline=None)
def test_what_is_written_is_read(entity: type[Any], data: st.DataObject) -> None:
    message = data.draw(_values(entity, None))
    buffer = BytesIO()
    entity_writer(entity)(buffer, message)
    encoded = buffer.getvalue()
    assert entity_reader(entity)(encoded, 0) == (message, len(encoded))


def test_the_keys_are_beyond_kafkas_but_for_the_versions_that_extend_kafkas_apis() -> None:
    assert max(api_key_map) < api_keys.LOWEST
    extended = {(29, 4), (48, 2)}
    assert extended <= set(PROPOSED)
    assert all(
        api_keys.LOWEST <= key <= api_keys.HIGHEST for key, version in PROPOSED if (key, version) not in extended
    )


def test_only_the_batched_describes_are_flexible() -> None:
    assert {m.key for m in PROPOSED.values() if m.request.__flexible__ or m.response.__flexible__} == {29, 48}
    for m in PROPOSED.values():
        flexible = m.key in {29, 48}
        assert m.request.__header_schema__.__version__ == (2 if flexible else 1)
        assert m.response.__header_schema__.__version__ == (1 if flexible else 0)
