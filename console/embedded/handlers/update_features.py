"""UpdateFeatures (57), v0-2: finalizes features at other levels (KIP-584, KIP-778; FeatureControlManager).

Needs ALTER on the cluster.

Version notes:
- v1: safe and unsafe downgrades instead of one flag; validation only (KIP-778).
- v2: one error instead of results by feature.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.config_alter import ELR, take_min_isr_from_brokers
from console.embedded.context import RequestContext
from console.embedded.refusals import cluster_refusal_message
from console.embedded.spec import METADATA_VERSION
from console.model.feature_levels import why_no_way_back

_UPGRADE, _SAFE, _UNSAFE = 1, 2, 3
_ALL_OR_NONE_FROM = (4, 0)
_NAMES_BOTH_FROM = (4, 2)
_FAILED = "The update failed for all features since the following feature had an error: "
_NOT_SAFE = "Refusing to perform the requested downgrade because it might delete metadata information."
_NOT_UNSAFE = "Unsafe metadata downgrade is not supported in this version."


async def handle(request: Any, context: RequestContext) -> Any:
    """Apply all updates or none. Since 4.0 an error is reported once, before for each feature."""
    if not context.allowed("ALTER"):
        return _answer(context, ErrorCode.cluster_authorization_failed, cluster_refusal_message(context, "ALTER"), {})
    wanted = {update.feature: (update.max_version_level, _kind(update)) for update in request.feature_updates}
    reasons = {feature: _reason(context, feature, *wanted[feature]) for feature in sorted(wanted)}
    refused = [reason for reason in reasons.values() if reason]
    if not refused and not getattr(request, "validate_only", False):
        for feature, (level, _) in wanted.items():
            # With eligible leader replicas brokers may not have a min.insync.replicas of their own: the controller
            # needs one value.
            if feature == ELR and level and not context.state.features.get(ELR):
                take_min_isr_from_brokers(context.cluster)
            context.state.set_feature(feature, level)
    modern = context.cluster.release.number >= _ALL_OR_NONE_FROM
    if modern and refused:
        return _answer(context, ErrorCode.invalid_update_version, _FAILED + refused[0], {})
    results = {
        feature: (ErrorCode.invalid_update_version, reason) if reason else (0, "NONE" if modern else None)
        for feature, reason in reasons.items()
    }
    return _answer(context, 0, None if modern else "", results)


def _kind(update: Any) -> int:
    if hasattr(update, "allow_downgrade"):
        return _SAFE if update.allow_downgrade else _UPGRADE
    return int(update.upgrade_type)


def _reason(context: RequestContext, feature: str, level: int, kind: int) -> str | None:
    """Return why the feature can't have this level, None if it can."""
    release, now = context.cluster.release, context.state.features.get(feature, 0)
    begin = f"Invalid update version {level} for feature {feature}. "
    controller = f"Local controller {context.state.controller_id} "
    if kind not in (_UPGRADE, _SAFE, _UNSAFE):
        return begin + "The controller does not support the given upgrade type."
    if level < 0:
        return begin + "A feature version cannot be less than 0."
    modern = release.number >= _ALL_OR_NONE_FROM
    if feature not in release.supported:
        if level:
            return begin + controller + "does not support this feature."
        return begin + f"Feature {feature} not found." if modern else None
    low, high = release.supported[feature]
    if not low <= level <= high:
        return f"{begin}{controller}only supports versions {low}-{high}"
    if level >= now:
        return None
    if kind == _UPGRADE:
        return begin + (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or "
            "unsafe downgrade."
        )
    if feature == METADATA_VERSION and why_no_way_back(feature, level, now):
        refusal = _NOT_SAFE if kind == _SAFE else _NOT_UNSAFE
        if release.number >= _NAMES_BOTH_FROM:
            return f"Unsupported {METADATA_VERSION} downgrade from {now} to {level}. {refusal}"
        return f"Invalid {METADATA_VERSION} {level}. {refusal}"
    return None


def _answer(context: RequestContext, code: int, message: str | None, results: dict[str, tuple[int, str | None]]) -> Any:
    schema = context.schema
    fields: dict[str, Any] = {"error_code": code, "error_message": message}
    if hasattr(schema, "UpdatableFeatureResult"):
        fields["results"] = tuple(
            schema.UpdatableFeatureResult(feature=feature, error_code=error, error_message=reason)
            for feature, (error, reason) in results.items()
        )
    return context.answer(**fields)
