"""The table of releases in docs/versions.md is what was tried on real brokers last."""

from __future__ import annotations

from console.embedded.spec import RELEASE_NAMES, release
from console.model.feature_levels import feature_levels
from console.model.releases import release_of
from tests.contract.recorded import FOLDER
from tests.support import record_dynamic_keys, record_feature_levels, versions
from tests.support.kafka_jars import NEWEST


def test_the_table_is_fresh() -> None:
    fresh = versions.in_page(versions.PAGE.read_text(encoding="utf-8")) == versions.table(versions.kept())
    assert fresh, "run: python -m tests.support.versions (or with the releases that changed)"


def test_every_release_was_tried_in_everything() -> None:
    found = versions.kept()
    assert set(found) == set(versions.RELEASES)
    assert all(set(rows) == set(versions.TRIED) for rows in found.values()), "run: python -m tests.support.versions"


def test_the_newest_release_is_in_every_table() -> None:
    """What a release brings is known where it is run: its keys, its levels, its definitions, and what it answers."""
    assert RELEASE_NAMES[-1] == NEWEST
    assert NEWEST in record_dynamic_keys.RELEASES
    assert versions.RELEASES[NEWEST] in record_feature_levels.READ
    assert (FOLDER / f"{NEWEST}.json.xz").is_file()
    supported = release(NEWEST).supported
    known = feature_levels()
    assert {name: max(known[name]) for name in supported if name in known} == {
        name: most for name, (_, most) in supported.items() if name in known
    }
    assert release_of(release(NEWEST).apis, supported) == NEWEST
