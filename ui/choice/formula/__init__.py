"""A formula of the visitor's own: the editor, its sliders, and whether it tells right from wrong."""
