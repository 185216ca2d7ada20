"""The protocol: kio's messages, frames, kac's own decoders for large answers, and aiokafka's connections."""
