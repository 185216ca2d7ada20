"""Triage knows who changed an ACL, where this host's journal has it."""

from __future__ import annotations

import asyncio

import pytest

from console.cli import main as cli
from console.embedded.brokers import run_in_thread
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.model.parts import Part
from tests.support import worlds
from tests.support.paces import poll_often
from tests.support.triage_watch import bootstrap, watching

TAKEN = worlds.acl("User:app", "WRITE", "TOPIC", "orders", permission="DENY")


async def test_who_added_and_removed_an_acl(monkeypatch: pytest.MonkeyPatch) -> None:
    poll_often(monkeypatch, 0.2, Part.ACLS)  # ten seconds, of which none is needed
    with run_in_thread(ClusterSpec(brokers=1)) as cluster:
        cluster.call(lambda running: running.state.put_topic(new_topic("orders", striped([1], 1, 1), [1])))
        addresses = cluster.call(lambda running: running.addresses)
        async with watching(bootstrap(addresses.values()), journal=True) as it:
            await it.until(
                lambda _: it.observations is not None and "acls" in it.observations.last.snapshot.read_at, "ACLs"
            )
            for number, verb in enumerate(("deny", "revoke deny"), 1):
                command = f"{verb} User:app WRITE on topic orders; apply --yes --accept first-acl"
                assert await asyncio.to_thread(cli.run, ["run", "-b", cluster.bootstrap, "-e", command]) == 0
                key = TAKEN, "", "present" if verb == "deny" else None
                await it.until(lambda _, key=key: key in it.facts.authors, f"who did `{verb}`")
                assert it.facts.authors[key].number == number
            assert len(it.facts.authors) == 2
