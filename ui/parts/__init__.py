"""Parts that several pages share: the canvas, tables, charts, downloads."""
