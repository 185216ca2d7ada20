"""A Kafka cluster in this process: real sockets, the real protocol, its own state. It does not import the client."""
