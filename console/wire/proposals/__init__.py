"""The proposals' own formats, which no released Kafka has: KIP-4, 21, 133, 248 and the batched describes."""
