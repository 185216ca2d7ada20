"""Plans that are sent in tests as the apply flow sends them, without its questions."""

from __future__ import annotations

from console.plan.reconcile import DEFAULTS, ApplyOptions, ApplyReport
from console.session.apply_run import ApplyRun
from console.session.applying import send_plan
from console.session.session import Session


async def apply_plan(session: Session, options: ApplyOptions = DEFAULTS) -> ApplyReport:
    """Send a session's plan. Returns its report; raises as `send_plan` does."""
    report = (await send_plan(session, ApplyRun(options))).report
    assert report is not None
    return report
