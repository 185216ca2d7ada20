"""Programs that nights start: services and tools that librdkafka's clients can't imitate."""
