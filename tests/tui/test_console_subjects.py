"""Tests of the pane of schemas: subjects, what uses them, and two versions next to each other."""

import asyncio
import json
from collections.abc import Iterator

import pytest

from console.admin.link import Link
from console.embedded.brokers import ThreadedCluster
from console.model.parts import Part
from console.model.subjects import COMPATIBILITY
from tests.support import worlds
from tests.support.changing import make_topic
from tests.support.older_brokers import like
from tests.support.registry_server import RegistryServer, registry
from tests.tui.console_app import driven_on


def schema(*fields: dict[str, object]) -> str:
    return json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": fields})


ID, NOTE = {"name": "id", "type": "int"}, {"name": "note", "type": "string", "default": ""}
LONG = {"name": "id", "type": "long"}


@pytest.fixture
def schemas() -> Iterator[RegistryServer]:
    with registry() as running:
        running.register("orders-value", schema(ID))
        running.register("orders-value", schema(LONG, NOTE))
        running.register("shop.Refund", schema(ID))
        running.state.values["shop.Refund", COMPATIBILITY] = "NONE"
        yield running


cluster = worlds.cluster(like("4.4", brokers=1), after=lambda running: asyncio.run(_fill(running)), scope="module")


async def _fill(running: ThreadedCluster) -> None:
    link = Link(worlds.settings(running))
    await make_topic(link, "orders", partitions=1)
    await link.close()


@pytest.mark.parametrize("width", [80, 200])
async def test_subjects_and_what_the_newest_version_changes(
    cluster: ThreadedCluster, schemas: RegistryServer, width: int
) -> None:
    async with driven_on(cluster, size=(width, 30), schemas=schemas.settings) as it:
        await it.press("ctrl+y", shows=("orders-value", "(BACKWARD)", "NONE", "1 subject not checked"))
        await it.press("enter", shows=("version 1 and version 2", "/note", "skip it"))
        if width == 80:
            await it.shows("long can't be read as int")
        else:
            await it.shows("New readers, old records", "Old readers, new records", "long can't be read as int")
        await it.press("escape", "exclamation_mark", shows="shop.Refund")
        assert "orders-value" not in it.text.partition("shop.Refund")[0]


async def test_changes_are_staged_from_the_pane(cluster: ThreadedCluster, schemas: RegistryServer) -> None:
    async with driven_on(cluster, size=(160, 30), schemas=schemas.settings) as it:
        await it.press("ctrl+y", shows="orders-value")
        await it.press("e", shows="set schema orders-value compatibility=")
        await it.press(*"FULL", "enter", shows="Plan*1")
        await it.press("j", "x", shows="Plan*2")
        await it.press("7", shows=("schema shop.Refund", "compatibility", "FULL"))


async def test_without_a_registry_the_pane_says_where_one_is_named(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(120, 24)) as it:
        await it.press("ctrl+y", shows="the context names no schema registry")


async def test_a_registry_that_hangs_delays_no_other_pane(cluster: ThreadedCluster) -> None:
    with registry() as running:
        gone = running.settings
    async with driven_on(cluster, size=(160, 24), schemas=gone) as it:
        await it.press("ctrl+y", shows="the registry is not reached")
        await it.press("2", shows="orders")
        failed = {each.part for each in it.app.session.snapshot.failures}
        assert failed == {Part.SCHEMAS}
