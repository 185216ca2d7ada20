"""A Kafka cluster within this process: it has real sockets, Kafka's protocol and a state of its own. It does not import
kac's client.
"""
