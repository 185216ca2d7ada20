"""API keys and error numbers of the proposals' own formats."""

from typing import Final

# The API keys and error codes of the proposals' own formats: 10,000 to 10,099, far above those of Kafka.
#
# The batched describes keep Kafka's own keys, in versions that no Kafka release has, because they extend existing
# formats.

LOWEST: Final = 10_000
HIGHEST: Final = 10_099

# KIP-4
CREATE_TOPICS: Final = 10_000
DELETE_TOPICS: Final = 10_001
LIST_ACLS: Final = 10_002
ALTER_ACLS: Final = 10_003
# KIP-21
DESCRIBE_CONFIG: Final = 10_010
ALTER_CONFIG: Final = 10_011
# KIP-133
LIST_CONFIGS: Final = 10_020
ALTER_CONFIGS: Final = 10_021
# KIP-248
LIST_QUOTAS: Final = 10_030
DESCRIBE_QUOTAS: Final = 10_031
ALTER_QUOTAS: Final = 10_032

# Kafka's own keys, for the batched describes.
DESCRIBE_ACLS: Final = 29
DESCRIBE_CLIENT_QUOTAS: Final = 48

# KIP-21 names two errors without numbers.
INVALID_ENTITY_CONFIG: Final = 10_000
INVALID_ENTITY: Final = 10_001
# KIP-133 names an error that has no number in Kafka.
UNSUPPORTED_OPERATION: Final = 10_002
