"""Delegation tokens: creating, renewing and expiring one. No edit and no state contains the HMAC of a token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from console.model import tokens
from console.model.inheritance import Inheritance
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan import staged as plan_staged
from console.plan.amounts import duration_text, utc_time
from console.plan.edit_kind import Batch, EditKind, Reversal, Stage, each_line
from console.plan.edits import Edit
from console.plan.effective_values import NOTHING, DiffLine, EffectiveValue
from console.plan.kafka_tools import Command, option
from console.plan.requests import apart

# -- edits -------------------------------------------------------------------------------------------------------------


BROKERS_OWN, AT_ONCE = -1, -1
"""A period that the broker's configs decide, and the period with which a token expires at once."""


class MakeToken(Edit, frozen=True):
    """Create a delegation token."""

    owner: str = ""
    """The principal that will own the token; ``""`` for kac's own principal."""
    renewers: tuple[str, ...] = ()
    lifetime_ms: int = BROKERS_OWN
    """The maximum lifetime in milliseconds; `BROKERS_OWN` for the brokers' configured one."""

    @property
    def target(self) -> tokens.NewToken:
        """The new token; a plan has at most one for each owner."""
        return tokens.NewToken(self.owner)


class _TokenEdit(Edit, frozen=True):
    id: str
    period_ms: int

    @property
    def target(self) -> tokens.TokenTarget:
        """The token, by its id."""
        return tokens.TokenTarget(self.id)


class Renew(_TokenEdit, frozen=True):
    """Renew a token, so that it expires `period_ms` milliseconds from now; `BROKERS_OWN` for the brokers' configured
    period.
    """


class Expire(_TokenEdit, frozen=True):
    """Set the expiry of a token to `period_ms` milliseconds from now; `AT_ONCE` to expire it immediately."""


TokenEdit = Renew | Expire

# -- checks before staging ---------------------------------------------------------------------------------------------


def _check_read(draft: plan_staged.Draft) -> None:
    """Raise Refused if brokers do not allow requests about tokens on this connection."""
    for each in draft.snapshot.failures:
        if each.part == Part.TOKENS and not each.entity:
            raise plan_staged.Refused(each.failure.message or each.failure.name, each.failure.remedy)


# -- requests ----------------------------------------------------------------------------------------------------------


def _request(edit: MakeToken | TokenEdit) -> tokens.CreateToken | tokens.RenewToken | tokens.ExpireToken:
    if isinstance(edit, MakeToken):
        return tokens.CreateToken(edit.owner, edit.renewers, edit.lifetime_ms)
    return (tokens.RenewToken if isinstance(edit, Renew) else tokens.ExpireToken)(edit.id, edit.period_ms)


def _without(snapshot: Snapshot, edits: Sequence[Expire]) -> Snapshot:
    gone = {edit.id for edit in edits if edit.period_ms == AT_ONCE}
    return replace(snapshot, tokens={id_: each for id_, each in snapshot.tokens.items() if id_ not in gone})


_TOOL = "kafka-delegation-tokens"
_HMAC = ("--hmac", "…")


def _command(edit: MakeToken | TokenEdit, _line: DiffLine) -> Command:
    if isinstance(edit, MakeToken):
        renewers = (word for renewer in edit.renewers for word in option("--renewer-principal", renewer))
        owner = option("--owner-principal", edit.owner) if edit.owner else ()
        return Command((_TOOL, "--create", "--max-life-time-period", str(edit.lifetime_ms), *renewers, *owner))
    renews = isinstance(edit, Renew)
    action = ("--renew", "--renew-time-period") if renews else ("--expire", "--expiry-time-period")
    note = f"… is the HMAC of {edit.id}, which --describe shows"
    return Command((_TOOL, *action, str(edit.period_ms), *_HMAC), note=note)


# -- the kinds of edits ------------------------------------------------------------------------------------------------

LIVING = Batch(
    stage=Stage.ACCESS, steps=apart(_request), predict=lambda snapshot, _: snapshot, commands=each_line(_command)
)
EXPIRATIONS = Batch(stage=Stage.LOGINS_GONE, steps=apart(_request), predict=_without, commands=each_line(_command))


class _TokenKind(EditKind):
    state = tokens.DelegationToken

    def before(self, _edit: Edit, there: tokens.DelegationToken | None, _inheritance: Inheritance) -> EffectiveValue:
        return NOTHING if there is None else EffectiveValue(f"expires {utc_time(there.expires)}")


class _KnownTokenKind(_TokenKind):
    def judge(self, edit: TokenEdit, draft: plan_staged.Draft) -> plan_staged.Verdict:
        was = self.current(edit, draft)
        if was is None:
            hint = "List them: list tokens. A token of another owner is seen with Describe on DELEGATION_TOKEN."
            raise plan_staged.Refused(f"there is no token {edit.id}, or it may not be seen", hint)
        _check_read(draft)
        return plan_staged.Staged(edit, was)

    def current(self, edit: TokenEdit, seen: plan_staged.Described) -> plan_staged.Was:
        return seen.found(seen.snapshot.tokens.get(edit.id), Part.TOKENS)


class _MakeTokenKind(_TokenKind):
    edit = MakeToken
    verb = "create"
    batch = LIVING
    is_loss = False
    no_way_back = "which token was made is not written: token expire ID ends it"

    def judge(self, edit: MakeToken, draft: plan_staged.Draft) -> plan_staged.Verdict:
        for principal in (*([edit.owner] if edit.owner else []), *edit.renewers):
            type_, colon, name = principal.partition(":")
            if not (type_ and colon and name):
                raise plan_staged.Refused(f"'{principal}' is no principal", "Write it as User:alice.")
        _check_read(draft)
        return plan_staged.Staged(edit, None)

    def current(self, _edit: MakeToken, _seen: plan_staged.Described) -> plan_staged.Was:
        return None

    def after(self, edit: MakeToken, _there: plan_staged.Was, _inheritance: Inheritance) -> EffectiveValue:
        life = "the brokers' lifetime" if edit.lifetime_ms < 0 else f"at most {duration_text(edit.lifetime_ms)}"
        return EffectiveValue(f"{life}, renewed by {', '.join(edit.renewers)}" if edit.renewers else life)


class _RenewKind(_KnownTokenKind):
    edit = Renew
    verb = "renew"
    batch = LIVING
    is_loss = False

    def after(self, edit: Renew, _there: plan_staged.Was, _inheritance: Inheritance) -> EffectiveValue:
        if edit.period_ms <= 0:
            return EffectiveValue("expires after the brokers' period")
        return EffectiveValue(
            f"expires after {duration_text(edit.period_ms)}, or the brokers' period if that is shorter"
        )

    def reversal(self, _edit: Renew, was: plan_staged.Was, _recorded: Mapping[str, str]) -> Reversal:
        return Reversal((), was, "a token's time runs on: token expire ID in DURATION sets when it ends")


class _ExpireKind(_KnownTokenKind):
    edit = Expire
    verb = "expire"
    batch = EXPIRATIONS
    no_way_back = "a token that has expired is gone: token create makes another"

    def wanted(self, edit: Expire, now: tokens.DelegationToken | None) -> bool | None:
        return now is None if edit.period_ms == AT_ONCE else None

    def after(self, edit: Expire, _there: plan_staged.Was, _inheritance: Inheritance) -> EffectiveValue:
        return (
            NOTHING if edit.period_ms == AT_ONCE else EffectiveValue(f"expires after {duration_text(edit.period_ms)}")
        )

    def effects(self, edit: Expire, _draft: plan_staged.Draft) -> tuple[str, ...]:
        if edit.period_ms == AT_ONCE:
            return ("clients that log in with it are refused from now on",)
        # The controller removes expired tokens periodically; until then, brokers accept them (measured on real
        # brokers).
        late = "or later: brokers look for ended ones every delegation.token.expiry.check.interval.ms, by default 1 h"
        return (f"clients that log in with it are refused after {duration_text(edit.period_ms)}, {late}",)


KINDS = (_MakeTokenKind(), _RenewKind(), _ExpireKind())
