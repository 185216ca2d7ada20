"""Reads the lag of a group for tests."""

from console.admin.groups import poll_groups
from console.admin.link import Link
from console.model.cluster import GroupLag


async def group_lag(link: Link, name: str) -> GroupLag:
    """Return the lag of a group, in records, read from the brokers. Raises KeyError if they don't describe the
    group.
    """
    polls = await poll_groups(link, [name])
    assert name in polls.lags, polls.lag_failures
    return polls.lags[name]
