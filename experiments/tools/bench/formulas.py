"""What a model costs as a formula: building it from its text beside building the ready model, and reading it."""

from time import process_time

from experiments.tools.bench.solver import Reading, best_of, reading
from features.datasets import DATASETS
from features.explain.separation import separations
from features.formulas.ready import READY
from features.formulas.text import parse
from features.models import MODELS
from features.pairs import Pair
from features.recipe import Recipe


def readings() -> list[Reading]:
    """Processor time, the best of a few; every build is of a fresh pair, so that no tuples are kept from the last."""
    rows = []
    for key, text in READY.items():
        times = {"third": 3, "affine": 2}.get(key, 30)
        ready, mine = (best_of(times, lambda: MODELS[one].build(fresh()), process_time) for one in (key, text))  # noqa: B023
        name, note = f"build model {key} from its text / ready", f"{1e3 * mine:.3g} ms"
        rows.append(reading(name, mine / ready, "×", "< 2", note))
    long = "edges " + " + ".join(f"exp(-(d1 - d2)^2 / s{k})" for k in range(15))
    seconds = best_of(9, lambda: parse(long), process_time)
    rows.append(reading("read a formula of 130 nodes", 1e3 * seconds, "ms", "< 20"))
    pair = fresh()
    for key in ("C", "third"):
        recipe = Recipe("random", model=READY[key])
        seconds = best_of(3, lambda: separations(recipe, pair), process_time)  # noqa: B023
        rows.append(reading(f"right and wrong of model {key} as a slider moves", 1e3 * seconds, "ms", "< 300"))
    return rows


def fresh() -> Pair:
    """The same 20 and 30 points, as another object."""
    return DATASETS["random"].load(images=False, inliers=20, outliers=10, noise=3.0, seed=1)
