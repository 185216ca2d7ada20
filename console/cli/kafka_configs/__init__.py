"""`kac configs`: the command line of Kafka's kafka-configs, run with kac's client."""
