"""A kubectl for tests, run as a program: `get pods,services`, `get secret` and `port-forward` for one namespace.

Its cluster is the JSON file that KUBECONFIG names: ``namespace``, ``pods`` and ``services`` (name -> host of the
process behind it), ``cluster`` (Strimzi's), ``secrets`` (name -> key -> base64), ``context``. Its output, forwards and
exit codes are those of the real kubectl: a forward accepts connections, and reports on standard error if it can't reach
the target.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"


def main(words: list[str]) -> int:
    """Run one command line; return its exit code."""
    world = json.loads(Path(os.environ["KUBECONFIG"]).read_text())
    context, namespace = _option(words, "--context"), _option(words, "--namespace")
    if context is not None and context != world["context"]:
        return _ends(f'error: context "{context}" does not exist')
    if world.get("refuses"):
        return _ends("error: You must be logged in to the server (Unauthorized)")
    here: dict[str, Any] = world if namespace == world["namespace"] else {}
    if words[:2] == ["get", "pods,services"]:
        for kind in ("Pod", "Service"):
            for name in here.get(f"{kind.lower()}s", {}):
                print(kind, name, here["cluster"], sep="\t")
        return 0
    if words[:2] == ["get", "secret"]:
        keys = here.get("secrets", {}).get(words[2])
        if keys is None:
            return _ends(f'Error from server (NotFound): secrets "{words[2]}" not found')
        key = words[4].removeprefix("jsonpath={.data['").removesuffix("']}").replace("\\.", ".")
        print(keys.get(key, ""), end="")
        return 0
    if words[0] == "port-forward":
        assert _option(words, "--address") == LOOPBACK
        kind, _, name = words[1].partition("/")
        host = here.get(f"{kind}s", {}).get(name)
        if host is None:
            return _ends(f'Error from server (NotFound): {kind}s "{name}" not found')
        asyncio.run(_forward(name, host, int(words[2].removeprefix(":"))))
    return 0


async def _forward(name: str, host: str, port: int) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        print(f"Handling connection for {own}", flush=True)
        try:
            there = await asyncio.open_connection(host, port)
        except OSError:
            why = f"connect to port {port} inside namespace: connection refused"
            said = f'an error occurred forwarding {own} -> {port}: error forwarding port {port} to pod {name}: "{why}"'
            print(f"E1129 19:00:00.000000   12345 portforward.go:424] {said}", file=sys.stderr, flush=True)
            writer.close()
            return
        await asyncio.gather(_copy(reader, there[1]), _copy(there[0], writer))

    server = await asyncio.start_server(handle, LOOPBACK, 0)
    own = server.sockets[0].getsockname()[1]
    print(f"Forwarding from {LOOPBACK}:{own} -> {port}", flush=True)
    await server.serve_forever()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()


def _option(words: list[str], name: str) -> str | None:
    if name not in words:
        return None
    at = words.index(name)
    value = words[at + 1]
    del words[at : at + 2]
    return value


def _ends(why: str) -> int:
    print(why, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
