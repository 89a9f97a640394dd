"""A folder of image pairs with their points and truth as a data set: `DATASETS["mine"] = pair_folder("pairs", "mine")`.

Every pair is a zip file as the page saves it ("Export and share"), or a folder of its own with left.* and right.*
(images), left_points.* and right_points.* (as `features.files.point_files` reads them), and truth.* if it is known;
labels that both point files have tell the truth, too. Pairs are numbered from 1, in the order of their names.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

from features.datasets.base import Dataset
from features.pairs import SIDES, Pair, View, as_points, as_truth, file_bytes, own_pair, read_pair
from features.parameters import Parameter, seed_parameter


def pair_folder(folder: str | Path, key: str, label: str | None = None) -> Dataset:
    """The data set; a ValueError if the folder holds no pair."""
    place = Path(folder)
    if not place.is_dir():
        raise ValueError(f"{place} is no folder.")
    found = [one for one in sorted(place.iterdir()) if one.suffix == ".zip" or _file(one, "left_points")]
    if not found:
        raise ValueError(f"{place} holds no pair: no zip file, and no folder with left_points.* in it.")
    number = Parameter("number", "Pair", "int", 1, "In the order of their names.", 1, len(found))
    return Dataset(
        key=key,
        label=label or key.replace("_", " ").capitalize(),
        description=f"{len(found)} pairs of your own.",
        builtin=False,
        parameters=(number, seed_parameter()),
        make=partial(_load, tuple(found)),
        count=len(found),
    )


def _load(found: tuple[Path, ...], *, images: bool, number: int, seed: int) -> Pair:
    from features.files.exports import open_pair  # which knows recipes, and those know data sets

    place = found[number - 1]
    if place.suffix == ".zip":
        pair = open_pair(file_bytes(place), place.name).pair
    else:
        points = tuple(_file(place, f"{side}_points") for side in SIDES)
        pictures = [_file(place, side) for side in SIDES]
        if points[1] is None:
            raise ValueError(f"{place.name} has left_points, but no right_points.")
        if None not in pictures:
            pair = read_pair(pictures[0], pictures[1], points=points, truth=_file(place, "truth"), detector=None)  # type: ignore[arg-type]
        else:
            left, right = (as_points(spots) for spots in points)
            pair = own_pair((None, None), (left, right), truth=as_truth(_file(place, "truth"), (len(left), len(right))))
    pair = replace(pair, name=f"{place.stem}")
    if images:
        return pair
    return replace(pair, left=View(None, pair.left.points), right=View(None, pair.right.points))


def _file(place: Path, stem: str) -> Path | None:
    """The one file of this name, whatever its ending."""
    return next((one for one in sorted(place.glob(f"{stem}.*"))), None)
