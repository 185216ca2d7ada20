"""The reversal of an event: the edits that restore its former values, or the reason why that is not possible. Pure."""

from __future__ import annotations

from console.model.acl import Acl
from console.model.changes import FeatureTarget, ScramUser, VoterTarget
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.plan import edits
from console.present.columns import clock
from console.present.events import details
from console.present.text import Line
from console.session.lake_staging import UNKNOWN, NoEdit, Wish, edit_text, only_in_file
from console.triage.config_changes import HIDDEN as UNTOLD
from console.triage.events import ID, Event, Kind, Place


def way_back(event: Event, known: Snapshot) -> list[Wish]:
    """Return a wish for each place that an event changed: the edit that restores the former value, or the reason why
    that is impossible. If kac does not know all places, return one wish with that reason.

    Args:
        known: a snapshot with the brokers' descriptions of the config keys.
    """
    if event.count > len(event.places):
        many = f"{event.count:,} places changed; {len(event.places):,} are known here: take it back by a pattern"
        return [Wish(NoEdit(many))]
    return [_wish(event, place, known) for place in event.places]


def event_lines(event: Event, known: Snapshot) -> list[Line]:
    """Return lines with the details of an event, and with the command that stages its reversal. known: as for
    `way_back`.
    """
    wishes = way_back(event, known)
    first = wishes[0].edit
    if isinstance(first, NoEdit):
        return [*details(event), [(f"no way back: {edit_text(first)}", "muted")]]
    more = f"  (+{len(wishes) - 1:,})" if len(wishes) > 1 else ""
    return [*details(event), [("⏎ ", "strong"), (edit_text(first) + more, "muted")]]


def _wish(event: Event, place: Place, known: Snapshot) -> Wish:
    value = UNKNOWN if event.became in (UNTOLD, "") and place.kind is not Kind.CONFIG else event.became
    return Wish(_edit_back(event, place, known), value, source=f"at {clock(event.until)}")


def _edit_back(event: Event, place: Place, known: Snapshot) -> edits.Edit | NoEdit:
    about, was = place.about, event.was
    match place.kind:
        case Kind.CONFIG if isinstance(about, ConfigResource):
            if UNTOLD in (was, event.became):
                return NoEdit("brokers do not tell the value: set it again with KEY=? or KEY=@FILE")
            if why := only_in_file(about, place.key, known):
                return NoEdit(why)
            return edits.UnsetConfig(about, place.key) if was is None else edits.SetConfig(about, place.key, was)
        case Kind.QUOTA if isinstance(about, QuotaEntity):
            return edits.UnsetQuota(about, place.key) if was is None else edits.SetQuota(about, place.key, float(was))
        case Kind.ACL if isinstance(about, Acl):
            return edits.RemoveAcl(about) if was is None else edits.AddAcl(about)
        case Kind.SCRAM if isinstance(about, ScramUser) and was is None:
            return edits.DeleteScram(about)
        case Kind.FEATURE if isinstance(about, FeatureTarget):
            return edits.SetFeature(about.name, int(was or 0))
        case Kind.VOTER if isinstance(about, VoterTarget) and was is None:
            from console.plan.kinds.voters import LeaveQuorum  # imported late: seldom needed

            return LeaveQuorum(about.id, about.directory_id)
        case _:
            return NoEdit(_no_way_back(event))


def _no_way_back(event: Event) -> str:
    about = event.kind.about
    if about.once_gone and (event.became is None or event.place.key == ID):
        return about.once_gone
    if event.kind is Kind.TOPIC and event.was is None:
        return "`delete topic` deletes it, with all its records"
    return about.no_way_back
