"""What the visitor chooses: the widgets, the gallery, uploads, and the address that keeps the choice."""
