"""The handlers' folder is its own table of contents: headers and index are what brokers of the releases advertise."""

from __future__ import annotations

import re

import pytest
from kio.schema.index import api_key_map

from console.embedded import handlers
from console.embedded.request_pipeline import advertised, handled_apis, handler
from console.embedded.spec import RELEASE_NAMES, release

PRODUCE = 0
"""Brokers advertise versions of it from 0 on, which old clients look for, and serve those from 3 on (KIP-896)."""
KEYS = {name: key for key, name in api_key_map.items() if name in handled_apis()}


@pytest.mark.parametrize("name", sorted(KEYS))
def test_a_handler_begins_with_its_api(name: str) -> None:
    key = KEYS[name]
    of_releases = [found[key] for each in RELEASE_NAMES if key in (found := advertised(release(each), proposals=False))]
    lowest, highest = min(low for low, _ in of_releases), max(high for _, high in of_releases)
    doc = handler(name, proposed=False).__doc__ or ""
    header = re.match(r"(\w+) \((\d+)\), v(\d+)(?:-(\d+))?: ", doc)
    assert header is not None, doc.splitlines()[0]
    api, number, first, last = header.groups()
    assert (api.lower(), int(number)) == (name.replace("_", ""), key)
    assert (int(first), int(last or first)) == (3 if key == PRODUCE else lowest, highest)


def test_the_index_has_every_api_by_its_key() -> None:
    found = {
        name: int(key) for key, name in re.findall(r"\b(\d+) ([a-z_]+)\b", handlers.__doc__.partition("By key:")[2])
    }
    assert found == KEYS
