"""STUDIES: declared experiments with a summary of their own. An entry is a command of `python -m experiments`."""

from collections.abc import Callable

from matplotlib.figure import Figure

from experiments.store import Content
from experiments.studies import gmbench, photos, rivals, stuck, views

STUDIES = {
    "gmbench": (gmbench, "the public benchmark: our methods beside the 20 published ones, on its instances"),
    "photos": (photos, "graph matching and the classics on Oxford's photographs, on the same points"),
    "rivals": (rivals, "every method on a fixed sample of real pairs: who wins where"),
    "views": (views, "several views: what makes tracks of the same pairs, and pylibmgm where it is installed"),
    "stuck": (stuck, "how often ADGM+, ADGM and its fixed penalties reach the best known energy"),
}

# What the page tells of a study beside its curves: Markdown, and a picture of what no curve shows.
SUMMARIES: dict[str, Callable[[Content], tuple[str, Figure | None]]] = {
    "gmbench": gmbench.summary,
    "photos": lambda content: (photos.text(content), None),
}
