"""KIP-133: ListConfigs and AlterConfigs."""

from __future__ import annotations

from console.wire.proposals import (
    kip133_configs,
)
from tests.wire.proposals_golden import Cases

CASES: Cases = [
    (
        kip133_configs.ListConfigsRequest(resources=(kip133_configs.Resource(resource_type=5, resource_name="1"),)),
        [("00000001", "one resource"), ("05", "resource_type: Broker"), ("0001 31", "resource_name: 1")],
    ),
    (
        kip133_configs.ListConfigsRequestV1(
            resources=(
                kip133_configs.NamedConfigs(resource_type=2, resource_name="t", config_names=None),
                kip133_configs.NamedConfigs(resource_type=7, resource_name="u", config_names=("k",)),
            )
        ),
        [
            ("00000002", "two resources"),
            ("02 0001 74", "Topic t"),
            ("ffffffff", "config_names: null, all"),
            ("07 0001 75", "User u"),
            ("00000001 0001 6b", "config_names: k"),
        ],
    ),
    *(
        (
            response(
                error_code=0,
                entities=(
                    kip133_configs.ResourceConfigs(
                        error_code=0,
                        resource_type=2,
                        resource_name="t",
                        configs=(
                            kip133_configs.Config(
                                config_name="k", config_value="v", read_only=True, is_default=False, is_sensitive=True
                            ),
                        ),
                    ),
                ),
            ),
            [
                ("0000", "error_code of the request"),
                ("00000001", "one entity"),
                ("0000", "its error_code"),
                ("02 0001 74", "Topic t"),
                ("00000001", "one config"),
                ("0001 6b 0001 76", "k, v"),
                ("01", "read_only"),
                ("00", "is_default"),
                ("01", "is_sensitive"),
            ],
        )
        for response in (kip133_configs.ListConfigsResponse, kip133_configs.ListConfigsResponseV1)
    ),
    (
        kip133_configs.AlterConfigsRequest(
            resources=(
                kip133_configs.AlteredResource(
                    resource_type=6,
                    resource_name="c",
                    configs=(kip133_configs.AlteredConfig(config_name="k", config_value="v"),),
                ),
            ),
            validate_only=True,
        ),
        [
            ("00000001", "one resource"),
            ("06 0001 63", "Client c"),
            ("00000001", "one config"),
            ("0001 6b 0001 76", "k, v"),
            ("01", "validate_only, at the very end"),
        ],
    ),
    (
        kip133_configs.AlterConfigsResponse(
            responses=(
                kip133_configs.ResourceError(resource_type=2, resource_name="t", error_code=44, error_message="no"),
            )
        ),
        [
            ("00000001", "one resource"),
            ("02 0001 74", "Topic t"),
            ("002c", "POLICY_VIOLATION (44)"),
            ("0002 6e6f", "error_message: no"),
        ],
    ),
]
