"""Message formats that only proposals define and no released Kafka has: those of KIP-4, 21, 133 and 248, and the
batched describes.
"""
