"""Programs that nights start: services and tools that do what librdkafka's clients would not do."""
