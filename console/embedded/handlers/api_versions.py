"""ApiVersions (18), v0-5: the supported versions, and the cluster's features (KIP-35, KIP-511, KIP-584, KIP-1242).

A version above the highest is answered with v0 (KIP-511; `Dispatcher`), so that any client can begin.

Version notes:
- v1: throttle time.
- v3: flexible; the client's software name and version; features.
- v4: features whose lowest level is 0.
- v5: the cluster and the node that the client means; REBOOTSTRAP_REQUIRED from any other, after
  the login.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import error_answer
from console.embedded.context import RequestContext

_NO_TIME = timedelta(0)
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_ZERO_MINIMUM_FROM = 4
_NO_NODE = -1


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the advertised versions and the features, or INVALID_REQUEST for a software name that KIP-511 does not
    allow."""
    name = getattr(request, "client_software_name", None)
    version = getattr(request, "client_software_version", None)
    if code := _refused(request, context, name, version):
        return error_answer(request, context.messages, code)
    context.session.software = (name or "", version or "")
    schema, cluster = context.schema, context.cluster
    release, view = cluster.release, context.view
    fields: dict[str, Any] = {
        "error_code": 0,
        "api_keys": tuple(
            schema.ApiVersion(api_key=key, min_version=low, max_version=high)
            for key, (low, high) in sorted(cluster.served_by(context.broker_id).items())
        ),
    }
    if context.version >= 3:
        fields["supported_features"] = tuple(
            schema.SupportedFeatureKey(name=name, min_version=low, max_version=high)
            for name, (low, high) in release.supported.items()
            # Older clients reject a whole answer that has a feature with the lowest level 0.
            if low > 0 or context.version >= _ZERO_MINIMUM_FROM
        )
        fields["finalized_features"] = tuple(
            schema.FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in view.features.items()
        )
        fields["finalized_features_epoch"] = view.offset
    return context.answer(**fields)


def _refused(request: Any, context: RequestContext, name: str | None, version: str | None) -> int:
    """Return the code that the request is refused with, 0 for none."""
    if name is not None and not (_SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(version or "")):
        return ErrorCode.invalid_request
    cluster, node = getattr(request, "cluster_id", None), getattr(request, "node_id", _NO_NODE)
    if (cluster is None) is not (node == _NO_NODE):
        return ErrorCode.invalid_request
    is_another = (cluster, node) != (context.state.cluster_id, context.broker_id)
    if cluster is not None and is_another and context.session.authenticated:
        return ErrorCode.rebootstrap_required
    return 0
