"""KIP-21: DescribeConfig and AlterConfig."""

from __future__ import annotations

from console.wire.proposals import (
    kip21_configs,
)
from tests.wire.proposals_golden import Cases

CASES: Cases = [
    (
        kip21_configs.DescribeConfigRequest(entities=(kip21_configs.Entity(entity_type="topic", entity_name="t"),)),
        [("00000001", "one entity"), ("0005 746f706963", "EntityType: topic"), ("0001 74", "EntityName: t")],
    ),
    (
        kip21_configs.DescribeConfigResponse(
            entities=(
                kip21_configs.DescribedEntity(
                    entity_type="client",
                    entity_name="c",
                    error_code=0,
                    config_entries=(kip21_configs.ConfigEntry(config_key="k", config_value="v"),),
                ),
            )
        ),
        [
            ("00000001", "one entity"),
            ("0006 636c69656e74", "EntityType: client"),
            ("0001 63", "EntityName: c"),
            ("0000", "ErrorCode"),
            ("00000001", "one ConfigEntry"),
            ("0001 6b 0001 76", "k, v"),
        ],
    ),
    (
        kip21_configs.AlterConfigRequest(
            entities=(
                kip21_configs.AlteredEntity(
                    entity_type="topic",
                    entity_name="t",
                    added_config_entries=(kip21_configs.ConfigEntry(config_key="k", config_value="v"),),
                    deleted_configs=("x", "y"),
                ),
            )
        ),
        [
            ("00000001", "one entity"),
            ("0005 746f706963", "EntityType: topic"),
            ("0001 74", "EntityName: t"),
            ("00000001", "one AddedConfigEntry"),
            ("0001 6b 0001 76", "k, v"),
            ("00000002", "two of DeletedConfig"),
            ("0001 78 0001 79", "x, y"),
        ],
    ),
    (
        kip21_configs.AlterConfigResponse(
            entities=(kip21_configs.EntityErrorCode(entity_type="topic", entity_name="t", error_code=10_000),)
        ),
        [
            ("00000001", "one entity"),
            ("0005 746f706963", "EntityType: topic"),
            ("0001 74", "EntityName: t"),
            ("2710", "InvalidEntityConfig, 10000 here"),
        ],
    ),
]
