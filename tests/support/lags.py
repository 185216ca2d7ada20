"""The lag of a group."""

from console.admin.groups import poll_groups
from console.admin.link import Link
from console.model.cluster import GroupLag


async def group_lag(link: Link, name: str) -> GroupLag:
    """Return the lag of a group, read from the brokers. Fail if they don't describe it."""
    polls = await poll_groups(link, [name])
    assert name in polls.lags, polls.lag_failures
    return polls.lags[name]
