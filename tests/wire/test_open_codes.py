"""Every response that kio has, read with its error codes open."""

from __future__ import annotations

from dataclasses import replace

import kio.schema.describe_configs.v4.response as describe_configs
import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader
from kio.static.constants import EntityType

from console.wire.bounds_check import MalformedFrame
from console.wire.frames import decode_body, open_reader, with_open_codes
from console.wire.schemas import BY_VERSION, response_type
from tests.wire.samples import sample, written

NEWER_THAN_KIO = 9999
VERSIONS = {
    api: [version for version, kinds in versions.items() if EntityType.response in kinds]
    for api, versions in BY_VERSION.items()
}
APIS = [api for api, versions in VERSIONS.items() if versions]


@pytest.mark.parametrize("api", APIS)
def test_an_error_code_that_kio_does_not_know_loses_nothing(api: str) -> None:
    for version in VERSIONS[api]:
        opened = with_open_codes(response_type(api, version))
        told = sample(opened, NEWER_THAN_KIO)
        data = written(opened, told)
        assert open_reader(response_type(api, version))(data, 0) == (told, len(data))


@pytest.mark.parametrize("api", APIS)
def test_a_known_error_code_reads_as_kio_reads_it(api: str) -> None:
    code = ErrorCode.not_controller
    for version in VERSIONS[api]:
        kio = response_type(api, version)
        data = written(kio, sample(kio, code))
        theirs, size = entity_reader(kio)(data, 0)
        ours, our_size = open_reader(kio)(data, 0)
        assert our_size == size == len(data)
        assert in_milliseconds(ours) == in_milliseconds(theirs).replace(repr(code), str(int(code)))


def in_milliseconds(entity: object) -> str:
    """Times that can't be null are read as numbers."""
    return repr(entity).replace("datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)", "1000")


def test_a_time_that_is_none_is_read() -> None:
    """Brokers send -1 for a transactional id without a transaction, at which kio raises."""
    kio = response_type("describe_transactions", 0)
    opened = with_open_codes(kio)
    told = sample(opened, 0)
    (state,) = told.transaction_states
    data = written(opened, replace(told, transaction_states=(replace(state, transaction_start_time=-1),)))
    with pytest.raises(Exception, match="negative timestamp"):
        entity_reader(kio)(data, 0)
    assert decode_body(kio, data).transaction_states[0].transaction_start_time == -1


def test_kio_itself_refuses_it() -> None:
    """The reason for all this: where kio learns to keep unknown codes, console.wire.frames can go."""
    kio = response_type("describe_configs", 4)
    data = written(with_open_codes(kio), sample(with_open_codes(kio), NEWER_THAN_KIO))
    with pytest.raises(ValueError, match="9999 is not a valid ErrorCode"):
        entity_reader(kio)(data, 0)
    assert decode_body(kio, data).results[0].error_code == NEWER_THAN_KIO


def test_a_part_without_error_codes_stays_kios_class() -> None:
    assert with_open_codes(describe_configs.DescribeConfigsSynonym) is describe_configs.DescribeConfigsSynonym
    assert with_open_codes(describe_configs.DescribeConfigsResult) is not describe_configs.DescribeConfigsResult


def test_an_open_response_is_still_kios() -> None:
    kio = response_type("metadata", 12)
    assert isinstance(decode_body(kio, written(kio, sample(kio, 0))), kio)


@pytest.mark.parametrize("kept", [0, 1, 5, 11])
def test_a_body_cut_short_is_malformed(kept: int) -> None:
    kio = response_type("describe_configs", 4)
    with pytest.raises(MalformedFrame, match="DescribeConfigsResponse v4"):
        decode_body(kio, written(kio, sample(kio, 0))[:kept])
