"""The batched describes: DescribeAcls v4, DescribeClientQuotas v2."""

from __future__ import annotations

from console.wire.proposals import batched_describes as batched_acls
from console.wire.proposals import batched_describes as batched_quotas
from tests.wire.proposals_golden import Cases

CASES: Cases = [
    (
        batched_acls.DescribeAclsRequest(
            filters=(
                batched_acls.DescribeAclsFilter(
                    resource_type_filter=2,
                    resource_name_filter=None,
                    pattern_type_filter=3,
                    principal_filter="User:a",
                    host_filter=None,
                    operation=1,
                    permission_type=1,
                ),
            )
        ),
        [
            ("01 00 01", "existing fields: ResourceTypeFilter any, name null, PatternTypeFilter any"),
            ("00 00", "existing fields: principal and host null"),
            ("01 01", "existing fields: Operation any, PermissionType any"),
            ("02", "one filter"),
            ("02", "ResourceTypeFilter: topic"),
            ("00", "ResourceNameFilter: null"),
            ("03", "PatternTypeFilter: literal"),
            ("07 557365723a61", "PrincipalFilter: User:a"),
            ("00", "HostFilter: null"),
            ("01 01", "Operation any, PermissionType any"),
            ("00", "no tagged fields in the filter"),
            ("00", "no tagged fields in the request"),
        ],
    ),
    (
        batched_acls.DescribeAclsResponse(
            throttle_time_ms=0,
            filter_results=(
                batched_acls.DescribeAclsFilterResult(
                    error_code=0,
                    error_message=None,
                    resources=(
                        batched_acls.DescribeAclsResource(
                            resource_type=2,
                            resource_name="t",
                            pattern_type=3,
                            acls=(
                                batched_acls.AclDescription(
                                    principal="User:a", host="*", operation=3, permission_type=3
                                ),
                            ),
                        ),
                    ),
                ),
                batched_acls.DescribeAclsFilterResult(error_code=42, error_message="no", resources=()),
            ),
        ),
        [
            ("00000000", "ThrottleTimeMs"),
            ("03", "two results"),
            ("0000 00", "no error, message null"),
            ("02", "one resource"),
            ("02 02 74 03", "topic t, literal"),
            ("02", "one ACL"),
            ("07 557365723a61", "Principal: User:a"),
            ("02 2a", "Host: *"),
            ("03 03", "Operation read, PermissionType allow"),
            ("00 00 00", "no tagged fields in ACL, resource, result"),
            ("002a 03 6e6f", "INVALID_REQUEST (42), no"),
            ("01", "no resources"),
            ("00", "no tagged fields in the result"),
            ("00", "no tagged fields in the response"),
        ],
    ),
    (
        batched_quotas.DescribeClientQuotasRequest(
            strict=True,
            filters=(
                batched_quotas.DescribeClientQuotasFilter(
                    components=(batched_quotas.ComponentData(entity_type="user", match_type=0, match="a"),)
                ),
                batched_quotas.DescribeClientQuotasFilter(components=()),
            ),
        ),
        [
            ("01", "Strict, for all filters"),
            ("03", "two filters"),
            ("02", "one component"),
            ("05 75736572", "EntityType: user"),
            ("00", "MatchType: exact"),
            ("02 61", "Match: a"),
            ("00 00", "no tagged fields in component and filter"),
            ("01 00", "no components, no tagged fields in the filter"),
            ("00", "no tagged fields in the request"),
        ],
    ),
    (
        batched_quotas.DescribeClientQuotasResponse(
            throttle_time_ms=0,
            filter_results=(
                batched_quotas.DescribeClientQuotasFilterResult(
                    error_code=0,
                    error_message=None,
                    entries=(
                        batched_quotas.EntryData(
                            entity=(batched_quotas.EntityData(entity_type="user", entity_name=None),),
                            values=(batched_quotas.ValueData(key="k", value=1.0),),
                        ),
                    ),
                ),
                batched_quotas.DescribeClientQuotasFilterResult(error_code=42, error_message="no", entries=None),
            ),
        ),
        [
            ("00000000", "ThrottleTimeMs"),
            ("03", "two results"),
            ("0000 00", "no error, message null"),
            ("02", "one entry"),
            ("02", "one component"),
            ("05 75736572 00", "user, name null: the default"),
            ("00", "no tagged fields in the component"),
            ("02", "one value"),
            ("02 6b", "Key: k"),
            ("3ff0000000000000", "Value: 1.0 as IEEE 754"),
            ("00 00 00", "no tagged fields in value, entry, result"),
            ("002a 03 6e6f", "INVALID_REQUEST (42), no"),
            ("00", "Entries: null"),
            ("00", "no tagged fields in the result"),
            ("00", "no tagged fields in the response"),
        ],
    ),
]
