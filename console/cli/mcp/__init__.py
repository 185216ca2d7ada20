"""``kac mcp``: serves an agent, which may read a cluster and propose changes. No code here can change a cluster."""
