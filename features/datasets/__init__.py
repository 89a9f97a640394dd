"""Where pairs of images with points and truth come from. One line adds a data set to every place that offers them."""

from features.datasets.base import Dataset
from features.datasets.cells import CELLS
from features.datasets.gmbench import GMBENCH
from features.datasets.oxford import OXFORD
from features.datasets.photos import CARS, MOTORBIKES
from features.datasets.portrait import PORTRAIT
from features.datasets.random_points import RANDOM
from features.datasets.sequences import HOTEL, HOUSE
from features.datasets.turntable import TURNTABLE
from features.datasets.warp import WARP
from features.datasets.willow import WILLOW
from features.parameters import Parameter

BUILT_IN = (TURNTABLE, WARP, PORTRAIT, RANDOM, CELLS)
REAL = (HOUSE, HOTEL, CARS, MOTORBIKES, OXFORD, WILLOW, GMBENCH)
DATASETS: dict[str, Dataset] = {dataset.key: dataset for dataset in (*BUILT_IN, *REAL)}

__all__ = ["DATASETS", "Dataset", "Parameter"]
