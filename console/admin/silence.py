"""Which of several brokers do not answer: all are asked at once, and one that answers shortens the time of the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from console.admin.errors import AdminError
from console.admin.link_errors import no_answer
from console.admin.settings import Address

OTHERS_SECONDS, OTHERS_TIMES = 2.5, 3
"""The seconds, and the times what the first broker took to answer, in which the others have to once one has: logins
over a slow line are slow for all."""


async def silent_nodes(
    nodes: Mapping[int, Address],
    ask: Callable[[Address], Awaitable[None]],
    failed: Callable[[Address, AdminError, float], AdminError],
    within: float,
) -> dict[int, AdminError]:
    """Return the errors of those that do not answer within so many seconds, or far sooner where another has.

    ask: asks one, and raises AdminError. failed: gets what was not answered in time, and gives the error of it.
    """
    loop = asyncio.get_running_loop()
    began, limit = loop.time(), within
    limits: dict[Address, asyncio.Timeout] = {}

    async def reason(address: Address) -> AdminError | None:
        nonlocal limit
        try:
            async with asyncio.timeout_at(began + limit) as limits[address]:
                await ask(address)
        except TimeoutError:
            return failed(address, no_answer([address], limit), limit)
        except AdminError as error:
            return error
        finally:
            del limits[address]
        sooner = max(OTHERS_SECONDS, OTHERS_TIMES * (loop.time() - began))
        if sooner < limit:
            limit = sooner
            for each in limits.values():
                each.reschedule(began + limit)
        return None

    reasons = await asyncio.gather(*map(reason, nodes.values()))
    return {id_: why for id_, why in zip(nodes, reasons, strict=True) if why is not None}
