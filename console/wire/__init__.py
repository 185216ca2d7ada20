"""The protocol: kio's messages, framing, and connections that carry them."""
