"""A user's SCRAM credential is replaced by one of another mechanism, but its service keeps logging in with the old
mechanism.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # it has no __all__
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

USER, OTHER_USER = "svc-orders", "svc-audit"
OLD, NEW = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
LOGIN_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


async def _change(field: Field, *changes: UserScramCredentialAlteration) -> None:
    """Change the user's SCRAM credentials, and wait until the controller has done it."""
    admin = AdminClient({"bootstrap.servers": field.cluster.bootstrap, "client.id": "hardening"})

    def change() -> None:
        for each in changes:
            for done in admin.alter_user_scram_credentials([each]).values():
                done.result(20)

    await asyncio.to_thread(change)


@asynccontextmanager
async def _hardened(field: Field, *, old_is_removed: bool) -> AsyncIterator[Begin]:
    """Run two users' services, which log in with SCRAM-SHA-256. The yielded function gives a user a credential of
    SCRAM-SHA-512 with the same password, and restarts the user's clients with their unchanged settings.

    Args:
        old_is_removed: whether the credential of SCRAM-SHA-256 is removed.
    """
    await field.topic("orders", partitions=3)
    await field.topic("audit", partitions=3)
    password = await field.scram(USER)
    await field.scram(OTHER_USER)
    async with (
        field.producer("orders", rate=60, user=USER) as writer,
        field.consumer("orders", "billing", user=USER) as reader,
        field.producer("audit", rate=40, user=OTHER_USER),
        field.consumer("audit", "archive", user=OTHER_USER),
    ):
        await field.reads("billing", "orders")
        await field.reads("archive", "audit")

        async def begin() -> None:
            added = UserScramCredentialUpsertion(USER, ScramCredentialInfo(NEW, 8192), password.encode())
            removed = (UserScramCredentialDeletion(USER, OLD),) if old_is_removed else ()
            await _change(field, added, *removed)
            for each in (writer, reader):
                await each.stop()
                await each.start()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the user has no credential of the mechanism
    with which its service logs in.
    """
    async with _hardened(field, old_is_removed=True) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the user gets a second
    credential and keeps the one with which its service logs in.
    """
    async with _hardened(field, old_is_removed=False) as begin:
        yield begin


NIGHT = Night(
    name="a SCRAM credential of the other mechanism",
    source="https://github.com/bitnami/containers/issues/41415",
    story="A user exists, the password is right, and each login fails: brokers keep a credential for each SCRAM "
    "mechanism, and the user has one of SCRAM-SHA-512, while the client is set to another mechanism. The broker only "
    "says that the credentials are invalid. Connections from before the change go on until their service restarts.",
    make=_make,
    twin_story="The user gets a credential of SCRAM-SHA-512 besides its old one, and the same services restart.",
    twin=_twin,
    cause=Words((r"svc-orders", r"scram|credential", r"sha.?(256|512)|mechanism")),
    symptom=Words(
        (
            r"svc-orders|\borders\b|billing",
            r"\bno\b|nothing|stopp|empty|left|gone|lag|behind|log ?in|logs in|authenticat|credential|scram|lost",
        )
    ),
    step=Words((r"scram|credential|mechanism", r"sha.?(256|512)|mechanism|svc-orders")),
    wrong=(
        r"delete (topic|group|records)",
        r"reset group",
        r"(delete|drop|remove|unset)\b.{0,60}(scram|svc-orders|svc-audit)",
    ),
    security="logins",
    properties={
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config": LOGIN_MODULE,
    },
)
