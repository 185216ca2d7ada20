"""All read-only commands of kac, and calls of all tools of its MCP server; some name things that the cluster does not
have.
"""

import asyncio
import os
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters, stdio_client

from console.cli import main as cli
from tests.support.patience import PATIENCE

ABSENT = "not-there"
"""Name of a group, topic, user and transactional id that the cluster does not have."""
COMMANDS = (
    *(
        "list topics",
        "list brokers",
        "list groups",
        "list quotas",
        "list acls",
        "list scram",
        "list users",
        "list quorum",
        "list connectors",
        "list connect-workers",
        "list mirrors",
        "list mirror-groups",
        "list mirror-topics",
        f"whose topic {ABSENT}",
        f"watch topic {ABSENT}, group {ABSENT}, group *, broker *, connector {ABSENT}, schema {ABSENT}",
    ),
    *(f"describe {noun} {ABSENT}" for noun in ("group", "user", "client")),
    *(f"explain quota user={ABSENT} client={ABSENT}", "describe broker 1", "describe broker <default>"),
)
"""Statements of `kac run`."""
ARGUMENTS = (
    ("groups", "--describe", "--group", ABSENT),
    ("share-groups", "--describe", "--group", ABSENT),
    ("streams-groups", "--describe", "--group", ABSENT),
    ("groups", "--reset-offsets", "--group", ABSENT, "--topic", ABSENT, "--to-earliest", "--dry-run"),
    ("transactions", "describe", "--transactional-id", ABSENT),
    ("transactions", "list"),
    ("transactions", "find-hanging", "--broker-id", "1"),
    ("topics", "--describe", "--topic", ABSENT),
    ("analyze", ABSENT),
    ("redrive", ABSENT),
    ("compare", f"group:{ABSENT}", "group:neither"),
    ("connectors", "describe", "--connector", f"{ABSENT}/{ABSENT}"),
    ("snapshot",),
    ("export",),
    ("features", "describe"),
    ("leftovers",),
    ("doctor",),
    ("triage",),
    ("lint",),
    ("watch", "topic", ABSENT),
)
"""Commands with their own options; `look_at_everything` adds the cluster's address."""
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("verdict", {"seconds": 1}),
    *(
        ("list", {"kind": kind})
        for kind in (
            "topics",
            "brokers",
            "groups",
            "quotas",
            "acls",
            "users",
            "scram",
            "loggers",
            "connectors",
            "connect-plugins",
            "mirrors",
        )
    ),
    *(("describe", {"entity": f"{noun} {ABSENT}"}) for noun in ("topic", "group", "user", "client")),
    ("describe", {"entity": "broker 1", "rows": 1000}),
    ("effective_quota", {"user": ABSENT, "client": ABSENT}),
    ("explain", {"principal": f"User:{ABSENT}", "operations": "ALL", "resource": f"group {ABSENT}"}),
    ("lint", {}),
    ("events", {"seconds": 1}),
    ("history", {}),
    ("compare", {"left": f"group {ABSENT}", "right": f"topic {ABSENT}"}),
    ("compare", {}),
    ("offsets", {"topic": ABSENT}),
    ("offsets", {"topic": ABSENT, "at": "2h"}),
    ("moves", {}),
    ("propose", {"statements": f"reset group {ABSENT} to latest; delete group {ABSENT}"}),
)
"""Name and arguments of calls of the MCP server's tools; each tool at least once."""


async def look_at_everything(bootstrap: str) -> None:
    """Run all statements, commands and tool calls in turn; kac may refuse them. Raises AssertionError if a tool of the
    MCP server has no call here.
    """
    for statement in COMMANDS:
        await asyncio.to_thread(cli.run, ["run", "-b", bootstrap, "-e", statement])
    for command, *words in ARGUMENTS:
        await asyncio.to_thread(cli.run, [command, "-b", bootstrap, *words])
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "console", "mcp", "-b", bootstrap], env=dict(os.environ)
    )
    async with (
        asyncio.timeout(PATIENCE),
        stdio_client(server) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        named = {each.name for each in (await session.list_tools()).tools}
        assert named == {tool for tool, _ in CALLS}, "a tool is never asked"
        for tool, arguments in CALLS:
            await session.call_tool(tool, arguments)
