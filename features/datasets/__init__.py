"""Where pairs of images with points and truth come from. One line adds a data set to every place that offers them."""

from features.datasets.photos import CARS, MOTORBIKES
from features.datasets.random_points import RANDOM
from features.datasets.sequences import HOTEL, HOUSE
from features.datasets.turntable import TURNTABLE
from features.datasets.warp import WARP
from features.pairs import Dataset, Parameter

DATASETS: dict[str, Dataset] = {
    dataset.key: dataset for dataset in (TURNTABLE, WARP, RANDOM, HOUSE, HOTEL, CARS, MOTORBIKES)
}

__all__ = ["DATASETS", "Dataset", "Parameter"]
