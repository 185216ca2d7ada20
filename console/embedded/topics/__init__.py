"""Topics and their partitions: what may be made of them, and Kafka's words for why not."""
