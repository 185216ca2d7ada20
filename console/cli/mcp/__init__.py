"""``kac mcp``: an agent's questions about a cluster, and its proposals for it. No code here can change a cluster."""
