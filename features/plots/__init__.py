"""Pictures: the one palette, the pair with its lines, and figures for print."""
