"""Tagged fields of newer brokers are passed over (KIP-482), at every depth of every response."""

from __future__ import annotations

import struct

import pytest
from kio.static.constants import EntityType

from console.wire.bounds_check import MalformedFrame
from console.wire.frames import decode_body, with_open_codes
from console.wire.schemas import BY_VERSION, response_type
from console.wire.tagged_fields import without_unknown_tags
from tests.wire.samples import sample, written

VERSIONS = {
    api: [version for version, kinds in versions.items() if EntityType.response in kinds]
    for api, versions in BY_VERSION.items()
}
APIS = [api for api, versions in VERSIONS.items() if versions]
UNKNOWN_TAG = b"\x63\x02\xff\xff"  # tag 99, two bytes


@pytest.mark.parametrize("api", APIS)
def test_a_message_of_known_fields_is_kept_as_it_is(api: str) -> None:
    for version in VERSIONS[api]:
        entity = with_open_codes(response_type(api, version))
        data = written(entity, sample(entity, 9999))
        assert without_unknown_tags(entity, data + b"what follows") == (data, len(data))


def test_an_unknown_field_at_every_depth_loses_nothing() -> None:
    """DescribeConfigs v4 by hand: one topic, one key, one synonym, a field of tomorrow in each of them."""
    tag = b"\x01" + UNKNOWN_TAG
    synonym = b"\x02s" + b"\x021" + b"\x05" + tag
    key = b"\x02k" + b"\x021" + b"\x00" + b"\x05" + b"\x00" + b"\x02" + synonym + b"\x03" + b"\x00" + tag
    topic = struct.pack(">h", 9999) + b"\x00" + b"\x02" + b"\x02t" + b"\x02" + key + tag
    body = struct.pack(">i", 7) + b"\x02" + topic + tag
    response = decode_body(response_type("describe_configs", 4), body)
    (result,) = response.results
    (config,) = result.configs
    assert (result.error_code, result.resource_name) == (9999, "t")
    assert (config.name, config.value, config.config_source, config.config_type) == ("k", "1", 5, 3)
    assert (config.synonyms[0].name, config.synonyms[0].value, config.synonyms[0].source) == ("s", "1", 5)


def test_a_known_tagged_field_stays_beside_an_unknown_one() -> None:
    """ApiVersions v3: no keys; tag 1 is the epoch of the finalized features, 99 is from tomorrow."""
    body = struct.pack(">h", 0) + b"\x01" + struct.pack(">i", 0)
    tags = b"\x02" + b"\x01\x08" + struct.pack(">q", 42) + UNKNOWN_TAG
    assert decode_body(response_type("api_versions", 3), body + tags).finalized_features_epoch == 42


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_tagged_field_cut_short_is_malformed(cut: int) -> None:
    body = struct.pack(">h", 0) + b"\x01" + struct.pack(">i", 0) + b"\x01" + UNKNOWN_TAG
    with pytest.raises(MalformedFrame):
        decode_body(response_type("api_versions", 3), body[:-cut])


def test_a_size_without_end_is_malformed() -> None:
    body = struct.pack(">h", 0) + b"\x01" + struct.pack(">i", 0) + b"\x01" + b"\x63" + b"\xff" * 6
    with pytest.raises(MalformedFrame):
        decode_body(response_type("api_versions", 3), body)
