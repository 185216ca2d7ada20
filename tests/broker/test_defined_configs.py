"""Names and types of configs that releases define, of which the lake's harmless ones are made, against Kafka's jars."""

from __future__ import annotations

import pytest

from tests.support.kafka_jars import RELEASES, compiler, jars
from tests.support.real_clusters import by_release, or_skip
from tests.support.record_harmless_configs import defined_by, definitions


@pytest.mark.parametrize("release", by_release(RELEASES, "4.4"))
def test_what_a_release_defines_is_kept_with_its_type(release: str) -> None:
    with or_skip():
        compiler()
        jars(RELEASES[release])
    kept, found = definitions(), defined_by(release)
    assert len(found["broker"]) > 150
    lacks = {
        (section, name, type_)
        for section, names in found.items()
        for name, types in names.items()
        for type_ in types
        if type_ not in kept[section].get(name, ())
    }
    assert lacks == set()
