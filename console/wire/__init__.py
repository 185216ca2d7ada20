"""The protocol: kio's messages, frames, decoders of our own for large answers, and aiokafka's connections."""
