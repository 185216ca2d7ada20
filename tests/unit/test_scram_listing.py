"""Tests of reading SCRAM users: an error of one user does not hide other users (KIP-554)."""

from datetime import UTC, datetime, timedelta

from kio.schema.describe_user_scram_credentials.v0.response import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from kio.schema.errors import ErrorCode

from console.admin.scram import scram_listing
from console.answers.lists import list_kind
from console.answers.results import rows_of
from console.collecting.collect import observation
from console.language.grammar import parse
from console.language.verbs.listing import List
from console.model.changes import ScramUser
from console.model.cluster import ScramCredential, ScramListing
from console.model.codes import ScramMechanism
from console.model.failure import Failure
from console.model.snapshot import Snapshot, with_scram
from console.plan.current_state import current_state
from console.plan.edits import DeleteScram
from console.plan.staged import UNREAD, Described
from console.present.kinds import user_rows
from console.triage.events import differences

AT = datetime(2026, 1, 1, tzinfo=UTC)
LATER = AT + timedelta(minutes=1)
SHA_256 = ScramMechanism(1)
HAS = (ScramCredential(SHA_256, 4096),)
LOST = Failure("UNKNOWN_SERVER_ERROR", "the record is broken")


def answered(user: str, code: ErrorCode, message: str | None = None, iterations: int = 0) -> object:
    infos = (CredentialInfo(mechanism=1, iterations=iterations),) if iterations else ()  # type: ignore[arg-type]
    return DescribeUserScramCredentialsResult(user=user, error_code=code, error_message=message, credential_infos=infos)


def test_each_user_has_an_error_of_its_own() -> None:
    response = DescribeUserScramCredentialsResponse(
        throttle_time=timedelta(),  # type: ignore[arg-type]
        error_code=ErrorCode.none,
        error_message=None,
        results=(
            answered("carol", ErrorCode.none, iterations=4096),
            answered("bob", ErrorCode.unknown_server_error, "the record is broken"),
            answered("alice", ErrorCode.none, iterations=4096),
            answered("nobody", ErrorCode.resource_not_found),
        ),  # type: ignore[arg-type]
    )
    found = scram_listing(response)
    assert list(found.users) == ["alice", "carol"]
    assert {user: (why.name, why.message) for user, why in found.failures.items()} == {"bob": (LOST.name, LOST.message)}


def seen(listing: ScramListing, before: Snapshot | None = None, at: datetime = AT) -> Snapshot:
    return with_scram(before or Snapshot(), listing, at)


def test_what_was_known_of_a_user_stays_and_is_said_to_be_unread() -> None:
    first = seen(ScramListing({"alice": HAS, "bob": HAS}))
    then = seen(ScramListing({"alice": HAS}, {"bob": LOST}), first, LATER)
    assert then.scram == {"alice": HAS, "bob": HAS}
    assert [(each.part, each.entity) for each in then.failures] == [("scram", "bob")]
    assert not list(differences(first, then)), "nobody deleted it"
    other = seen(ScramListing({"alice": HAS, "bob": (ScramCredential(SHA_256, 8192),)}), then, LATER)
    assert [each.place.about for each in differences(then, other)] == [ScramUser("bob", SHA_256)], "it was known"
    again = seen(ScramListing({"alice": HAS, "bob": HAS}), seen(ScramListing({}, {"bob": LOST})), LATER)
    assert not again.failures
    assert [each.place.about for each in differences(seen(ScramListing({}, {"bob": LOST})), again)] == [
        ScramUser("alice", SHA_256)
    ], "nor made it"


def test_lists_name_the_user_and_keep_the_others_and_so_does_a_poll() -> None:
    known = seen(ScramListing({"alice": HAS}, {"bob": LOST}))
    assert [(row.user, row.scram) for row in user_rows(known)] == [("alice", "SCRAM-SHA-256"), ("bob", "?")]
    (statement,) = parse("list scram")
    assert isinstance(statement, List)
    table = list_kind(statement, known)
    assert [row["user"] for row in rows_of(table)] == ["alice"]
    assert [(each.entity, each.failure) for each in table.problems] == [("bob", LOST)]
    known = seen(ScramListing({"alice": HAS}, {"bob": LOST}), seen(ScramListing({"bob": HAS})), LATER)
    taken = observation(known, LATER, {})
    assert [each.entity_key for each in taken.state if each.entity_type == "scram"] == ["alice"]
    assert ("scram", "bob") in taken.failed
    assert ("scram", None) not in taken.failed


def test_only_the_user_that_could_not_be_read_is_unknown_to_a_plan() -> None:
    known = seen(ScramListing({"alice": HAS}, {"bob": LOST}))
    alice, bob = (DeleteScram(ScramUser(name, SHA_256)) for name in ("alice", "bob"))
    assert current_state(alice, Described(known)) == HAS[0]
    assert current_state(bob, Described(known)) is UNREAD
