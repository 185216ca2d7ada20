"""KIP-248: ListQuotas, DescribeQuotas, AlterQuotas."""

from __future__ import annotations

from console.wire.proposals import (
    kip248_quotas,
)
from tests.wire.proposals_golden import Bytes, Cases

_USER = kip248_quotas.QuotaConfigResource(type=5, name="a")
_CHILD = kip248_quotas.QuotaConfigResource(type=6, name="<default>")
_NO_CHILD = kip248_quotas.QuotaConfigResource(type=0, name=None)
_PAIR: Bytes = [
    ("05 0001 61", "quota_config_resource: User a"),
    ("06 0009 3c64656661756c743e", "child_quota_config_resource: Client <default>"),
]

CASES: Cases = [
    (
        kip248_quotas.ListQuotasRequest(quota_config_resource=kip248_quotas.QuotaConfigResource(type=6, name=None)),
        [("06", "type: Client"), ("ffff", "name: null, all clients")],
    ),
    (
        kip248_quotas.ListQuotasResponse(
            throttle_time_ms=5, error_code=31, error_message="no", quota_config_entity_names=()
        ),
        [
            ("00000005", "throttle_time_ms: 5"),
            ("001f", "CLUSTER_AUTHORIZATION_FAILED (31)"),
            ("0002 6e6f", "error_message: no"),
            ("00000000", "no names"),
        ],
    ),
    (
        kip248_quotas.DescribeQuotasRequest(
            resources=(
                kip248_quotas.WantedQuotas(
                    quota_config_resource=_USER, child_quota_config_resource=_NO_CHILD, config_names=None
                ),
                kip248_quotas.WantedQuotas(
                    quota_config_resource=_USER, child_quota_config_resource=_CHILD, config_names=("k",)
                ),
            )
        ),
        [
            ("00000002", "two resources"),
            ("05 0001 61", "User a"),
            ("00 ffff", "no child: Unknown, null"),
            ("ffffffff", "config_name: null, all"),
            *_PAIR,
            ("00000001 0001 6b", "config_name: k"),
        ],
    ),
    (
        kip248_quotas.DescribeQuotasResponse(
            throttle_time_ms=0,
            resources=(
                kip248_quotas.DescribedQuotas(
                    quota_config_resource=_USER,
                    child_quota_config_resource=_CHILD,
                    configs=(
                        kip248_quotas.DescribedConfig(
                            error_code=0,
                            error_message=None,
                            config_entries=(
                                kip248_quotas.ConfigEntry(
                                    config_name="k",
                                    config_value="1",
                                    read_only=False,
                                    is_default=True,
                                    is_sensitive=False,
                                ),
                            ),
                        ),
                    ),
                ),
            ),
        ),
        [
            ("00000000", "throttle_time_ms"),
            ("00000001", "one resource"),
            *_PAIR,
            ("00000001", "one config"),
            ("0000 ffff", "no error, no message"),
            ("00000001", "one config_entry"),
            ("0001 6b 0001 31", "k, 1"),
            ("00 01 00", "read_only, is_default, is_sensitive"),
        ],
    ),
    (
        kip248_quotas.AlterQuotasRequest(
            validate_only=True,
            resources=(
                kip248_quotas.AlteredQuotas(
                    quota_config_resource=_USER,
                    child_quota_config_resource=_CHILD,
                    configs=(kip248_quotas.QuotaConfig(config_name="k", config_value="1"),),
                ),
            ),
        ),
        [
            ("01", "validate_only, first"),
            ("00000001", "one resource"),
            *_PAIR,
            ("00000001", "one config"),
            ("0001 6b 0001 31", "k, 1"),
        ],
    ),
    (
        kip248_quotas.AlterQuotasResponse(
            throttle_time_ms=0,
            resources=(
                kip248_quotas.AlteredQuotasResult(
                    quota_config_resource=_USER,
                    child_quota_config_resource=_CHILD,
                    configs=(kip248_quotas.QuotaResult(error_code=42, error_message="no", config_name="k"),),
                ),
            ),
        ),
        [
            ("00000000", "throttle_time_ms"),
            ("00000001", "one resource"),
            *_PAIR,
            ("00000001", "one config"),
            ("002a", "INVALID_REQUEST (42)"),
            ("0002 6e6f", "error_message: no"),
            ("0001 6b", "config_name, behind its error"),
        ],
    ),
]
