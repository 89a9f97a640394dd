"""EXPERIMENTS: the paper's, and the studies that it leaves open. An entry appears on the page and in the CLI."""

from collections.abc import Iterable

from adgm import METHODS
from experiments.selections import Params
from experiments.spec import Experiment, Panel, Variant
from features.datasets.oxford import LAST, SCENES
from features.datasets.turntable import BOTH

GAPS = tuple(range(10, 101, 10))
SIZES = (20, 10, 30)  # the paper's two figures first
NAMES = {"house": "House", "hotel": "Hotel", "cars": "Cars", "motorbikes": "Motorbikes"}


def methods(order: int, *, without: Iterable[str] = ()) -> tuple[str, ...]:
    """Every method that takes problems of this order. Pairwise, ADGM1 and ADGM2 are one: only the first is run."""
    left_out = {
        *without,
        *(["adgm2"] if order == 2 else []),
        *(key for key, entry in METHODS.items() if entry.products),
    }
    return tuple(key for key, entry in METHODS.items() if order in entry.orders and key not in left_out)


PAIRWISE, THIRD = methods(2, without=["dd", "lap"]), methods(3, without=["lap"])


def gaps(keys: Iterable[str], model: str) -> tuple[Panel, ...]:
    """10, 20 and 30 points against 30, frames 10 to 100 apart."""
    title, sweep = "{}: {} pts vs 30 pts", ("gap", "gap", GAPS, "Baseline")
    return tuple(
        Panel(title.format(NAMES[key], size), key, model, *sweep, dataset_params={"points": size})
        for key in keys
        for size in SIZES
    )


def outliers(keys: Iterable[str], model: str, values: Iterable[int]) -> tuple[Panel, ...]:
    sweep = ("numbers", "dataset.outliers", tuple(values), "# outliers")
    return tuple(Panel(NAMES[key], key, model, *sweep) for key in keys)


Sweep = tuple[str, tuple[float | str, ...], str]  # what varies, its values, the axis


def synthetic() -> tuple[Panel, ...]:
    """Random points under four disturbances, one at a time, and the turntable seen from two sides."""
    points = {"inliers": 15, "outliers": 5, "noise": 4.0, "rotation": 0.0, "scale": 1.0}
    sweeps: dict[str, Sweep] = {
        "deformation": ("dataset.noise", (0.0, 5.0, 10.0, 15.0, 20.0, 25.0), "Deformation σ (px)"),
        "outliers": ("dataset.outliers", (0, 5, 10, 15, 20), "# outliers"),
        "rotation": ("dataset.rotation", (0.0, 30.0, 60.0, 90.0, 135.0, 180.0), "Rotation (°)"),
        "scale": ("dataset.scale", (0.5, 0.75, 1.0, 1.5, 2.0), "Scale"),
    }
    fixed = {title: {k: v for k, v in points.items() if f"dataset.{k}" != sweep[0]} for title, sweep in sweeps.items()}
    random = tuple(
        Panel(f"Random points, model {model}: {title}", "random", model, "drawn", *sweep, dataset_params=fixed[title])
        for model in ("B", "C")
        for title, sweep in sweeps.items()
    )
    scene = {"points": 20, "landmarks": BOTH}
    views: dict[str, tuple[Sweep, Params]] = {
        "rotation": (("gap", (5, 10, 20, 30, 45), "Views apart (°)"), {**scene, "noise": 1.0}),
        "deformation": (("dataset.noise", (0.0, 2.0, 5.0, 10.0, 15.0), "Deformation σ (px)"), scene),
        "outliers": (
            ("dataset.points", (5, 10, 15, 20), "Left points, against all on the right"),
            {"landmarks": BOTH, "noise": 1.0},
        ),
    }
    return random + tuple(
        Panel(
            f"Turntable: {title}",
            "turntable",
            "C",
            "gap",
            *sweep,
            gap=10 if title == "rotation" else 20,
            dataset_params=params,
        )
        for title, (sweep, params) in views.items()
    )


def penalty() -> tuple[Panel, ...]:
    """One setting of ADGM at a time, on House 20 vs 30 (model B) and Cars with 10 outliers (model C)."""
    sweeps: dict[str, Sweep] = {
        "ρ0": ("method.rho0", (0.06, 0.2, 0.6, 2.0, 6.0, 20.0, 60.0, "paper", "auto"), "First penalty ρ0"),
        "β": ("method.growth", (1.1, 1.5, 2.0, 3.0, 5.0, 10.0), "Growth β"),
        "T1": ("method.warmup", (0, 50, 100, 200, 300, 500), "Iterations to settle T1"),
        "T2": ("method.patience", (5, 10, 25, 50, 100, 200), "Patience T2"),
        "start": ("method.start", ("uniform", "zeros", "random"), "Start"),
    }
    house, cars = {"points": 20}, {"outliers": 10}
    return tuple(
        panel
        for title, sweep in sweeps.items()
        for panel in (
            Panel(f"House: {title}", "house", "B", "gap", *sweep, gap=50, dataset_params=house),
            Panel(f"Cars: {title}", "cars", "C", "numbers", *sweep, dataset_params=cars),
        )
    )


PHOTO_METHODS = ("adgm", "mutual", "ratio", "mutual+magsac", "ratio+magsac")
VERIFIED = Variant("ADGM, verified by a map", "adgm", verified=True)
LOOKS = {"never": "{}", "where needed": "{}, again from a slant"}  # Oxford's parameter, and a panel's title


def photographs() -> tuple[Panel, ...]:
    """Oxford's scenes, the first photograph against each other one: the strongest points, then with a second look."""
    sweep = ("drawn", "dataset.number", tuple(range(2, LAST + 1)), "Second photograph")
    return tuple(
        Panel(title.format(scene), "oxford", "photo", *sweep, count=1, dataset_params=chosen)
        for slants, title in LOOKS.items()
        for scene in SCENES
        for chosen in [{"scene": scene, "points": 600, "slants": slants}]
    )


LEARNED = "aliked"
GRAPHLESS = Variant("The same without its graph, verified by a map", "lap", verified=True)
RIVALS_THERE = ("mutual", "mutual+magsac", "lightglue", "lightglue+magsac")
LEARNED_METHODS = ("adgm", VERIFIED.name, "lap", GRAPHLESS.name, *RIVALS_THERE)


def learned_photographs() -> tuple[Panel, ...]:
    """The same pairs on the points of a network."""
    sweep = ("drawn", "dataset.number", tuple(range(2, LAST + 1)), "Second photograph")
    return tuple(
        Panel(scene, "oxford", "photo", *sweep, count=1, dataset_params=chosen)
        for scene in SCENES
        for chosen in [{"scene": scene, "points": 600, "slants": "never", "detector": LEARNED}]
    )


BUILTIN = (
    Experiment(
        "table1",
        "Table 1: House and Hotel, model A, all pairs",
        tuple(Panel(NAMES[key], key, "A", "all") for key in ("house", "hotel")),
        methods(2),
        about="Errors, how often the global optimum is reached (by DD's proofs) and time, all 30 points.",
        paper="ADGM and DD make 0 % (House) and 0.19 % (Hotel) errors and always reach the global optimum, ADGM "
        "hundreds of times faster; MPM errs in 42 % and 21 %, RRWM, IPFP and SMAC in 71 to 91 %.",
        measures=("error", "optimum", "seconds"),
    ),
    Experiment(
        "model-b",
        "Model B: House and Hotel, frames 10 to 100 apart",
        gaps(("house", "hotel"), "B"),
        PAIRWISE,
        about="10, 20 and 30 points against 30: the objective beside the truth's, and accuracy.",
        paper="ADGM has the highest objective in almost all the tests.",
    ),
    Experiment(
        "third-order",
        "Third order: House and Hotel, frames 10 to 100 apart",
        gaps(("house", "hotel"), "third"),
        THIRD,
        about="The same grid with sampled triangles.",
        paper="ADGM1 and ADGM2 are alike, compete with BCAGM and outperform all others.",
        time_limit=120.0,
    ),
    Experiment(
        "model-c",
        "Model C: Cars and Motorbikes, 0 to 40 outliers",
        outliers(("cars", "motorbikes"), "C", range(0, 41, 5)),
        PAIRWISE,
        about="All inliers of both photographs, and outliers of the right one. A pair with fewer gives all it has.",
        paper="ADGM completely outperforms all the other methods.",
        measures=("objective", "accuracy"),
        time_limit=120.0,
    ),
    Experiment(
        "third-order-photos",
        "Third order: Cars and Motorbikes, 0 to 16 outliers",
        outliers(("cars", "motorbikes"), "third", range(0, 17, 2)),
        THIRD,
        about="The same photographs with sampled triangles.",
        paper="On Cars ADGM1 and ADGM2 beat BCAGM's objective in 7 of 9 cases; on Motorbikes ADGM1 in 5 of 9 (and ties "
        "in one), ADGM2 in 8 of 9.",
        measures=("objective", "accuracy"),
        time_limit=120.0,
    ),
    Experiment(
        "synthetic",
        "Synthetic: deformation, outliers, rotation and scale",
        synthetic(),
        PAIRWISE,
        about="Random points and the Turntable; runs without any download.",
    ),
    Experiment(
        "penalty",
        "ρ study: ρ0, β, T1, T2 and the start",
        penalty(),
        ("adgm1",),
        about="What the settings of the published algorithm do to the objective, to accuracy and to iterations.",
        paper="The paper only mentions these settings.",
        measures=("ratio", "accuracy", "iterations"),
    ),
    Experiment(
        "photos",
        "Photographs: Oxford, beside the classics",
        photographs(),
        (*PHOTO_METHODS, VERIFIED.name),
        about="600 SIFT points in each photograph, the same for every method; right is within 4 px of the known map.",
        measures=("right", "precision", "accuracy"),
        variants=(VERIFIED,),
    ),
    Experiment(
        "photos-learned",
        "Photographs: Oxford, on learned points, beside LightGlue",
        learned_photographs(),
        LEARNED_METHODS,
        about="600 ALIKED points in each photograph, the same for every method; right is within 4 px of the known map. "
        "Needs the extra 'learned'.",
        measures=("right", "precision", "accuracy"),
        variants=(VERIFIED, GRAPHLESS),
    ),
    Experiment(
        "gmbench",
        "The public benchmark gmbench",
        (Panel("Instances", "gmbench", "given", "numbers"),),
        ("adgm+", "adgm", "adgm1", "ipfp", "rrwm", "mpm"),
        about="154 instances of the field's own benchmark; beside its 20 methods: python -m experiments gmbench.",
        measures=("best", "accuracy", "seconds", "to_best"),
        time_limit=10.0,
        marks=(1.0, 10.0),
    ),
)
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in BUILTIN}
