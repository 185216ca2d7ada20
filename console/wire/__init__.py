"""Kafka's binary protocol: kio's message classes, frames, kac's own decoders for large responses, and connections that
extend aiokafka's.
"""
