"""``kac mcp``: what an agent may ask of a cluster, and propose for it. Nothing here has a way to change one."""
