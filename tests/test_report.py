"""Reports: means against a plain recount, tables in three formats, figures, an HTML file that needs nothing else."""

import csv
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from experiments import report, results, runner, store, summary
from experiments.__main__ import main
from experiments.spec import Experiment, Panel
from experiments.store import Content

EXPERIMENT = Experiment(
    "tiny",
    "Tiny <script>alert(1)</script> & co",
    (
        Panel(
            "noise",
            "random",
            "B",
            "drawn",
            "dataset.noise",
            (0.0, 20.0, 40.0),
            "Deformation σ (px)",
            count=3,
            dataset_params={"inliers": 6, "outliers": 2},
        ),
        Panel("start", "random", "C", "drawn", "method.seed", (0, 1), count=2, dataset_params={"inliers": 5}),
        Panel("single", "random", "A", "drawn", count=3, dataset_params={"inliers": 6, "outliers": 0}),
    ),
    ("adgm1", "adgm2", "dd"),
    measures=("ratio", "accuracy", "optimum"),
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "tiny.jsonl"
    first = EXPERIMENT.panels[0], EXPERIMENT.panels[2]
    runner.run(Experiment("tiny", EXPERIMENT.title, first, EXPERIMENT.methods, measures=EXPERIMENT.measures), file)
    return file


@pytest.fixture(scope="module")
def content(path) -> Content:
    return store.read(path)


@pytest.fixture(scope="module")
def rows(content):
    return summary.enriched(content, summary.declared(content))


def test_means_and_errors_are_those_of_a_plain_recount(content, rows):
    for (panel, x, method), point in summary.points(rows, "accuracy").items():
        mine = [r for r in content.rows.values() if (r["panel"], r["x"], r["method"]) == (panel, x, method)]
        values = [100 * r["correct"] / r["possible"] for r in mine]
        assert point.count == len(values) == 3
        assert point.mean == pytest.approx(np.mean(values))
        assert point.error == pytest.approx(np.std(values, ddof=1) / np.sqrt(3))


def test_objectives_are_similarities_for_b_and_their_ratio_is_to_the_truth(rows):
    for row in rows:
        if row["panel"] == "noise":
            assert row["objective"] == pytest.approx(-row["energy"])
            assert summary.objective_ratio(row) == pytest.approx(row["energy"] / row["truth_energy"])
            assert 0 < row["best"] <= 1


def test_the_objective_of_a_cost_is_the_papers_largest_minus_cost():
    from adgm import solve
    from features.datasets import DATASETS
    from features.judge.metrics import measure, objectives
    from features.models import MODELS

    pair = DATASETS["random"].load(images=False, inliers=5, outliers=2, noise=9.0, seed=1)
    problem = MODELS["C"].build(pair)
    result = solve(problem)
    columns = np.stack([problem.contract([np.zeros(problem.n), one], 0) for one in np.eye(problem.n)], axis=1)
    n1, n2 = problem.shape
    i, j = np.divmod(np.arange(problem.n), n2)
    compatible = (i[:, None] != i) & (j[:, None] != j)
    affinity = np.where(compatible, columns.max() - columns, 0.0)
    x = result.assignment.astype(float)
    found = objectives(problem, measure(pair, problem, result.assignment, "cost"))
    assert found[0] == pytest.approx(x @ affinity @ x)
    truth = np.zeros((n1, n2))
    truth[np.arange(n1), pair.truth] = 1
    assert found[1] == pytest.approx(truth.ravel() @ affinity @ truth.ravel())


def test_the_optimum_is_decided_by_proofs_then_by_bounds_then_by_better_matchings(rows):
    assert summary.is_optimum(5.0, 5.0, 5.0, 4.0) is True
    assert summary.is_optimum(5.1, 5.0, 5.0, 4.0) is False
    assert summary.is_optimum(5.0, None, 5.0, 5.0) is True
    assert summary.is_optimum(5.0, None, 4.0, -np.inf) is False
    assert summary.is_optimum(5.0, None, 5.0, 4.0) is None
    dd = [row for row in rows if row["method"] == "dd"]
    assert dd and all(row["optimum"] for row in dd if row["proved"])


def test_times_of_other_machines_are_left_out(content):
    rows = {key: dict(row) for key, row in content.rows.items()}
    foreign = next(iter(rows))
    rows[foreign] |= {"machine": "another", "seconds": 1e6}
    mixed = summary.enriched(Content(content.runs, content.machines, rows), summary.declared(content))
    assert max(point.mean for point in summary.points(mixed, "seconds").values()) < 1e3


def test_standings_compare_the_same_pairs_and_ties_are_ties(content):
    experiment = summary.declared(content)
    rows = summary.enriched(content, experiment)
    table = summary.standings(rows, experiment, "accuracy", without=["dd"])
    assert len(table) == 4
    for standing in table:
        assert standing.pairs == 3
        assert standing.first == ("adgm1", "adgm2")  # pairwise they are one algorithm
    thinner = [row for row in rows if row["method"] != "adgm2" or row["key"] != rows[1]["key"]]
    assert min(standing.pairs for standing in summary.standings(thinner, experiment, "accuracy")) >= 2


def test_methods_that_are_gone_are_left_out(content):
    runs = [{**run, "experiment": {**run["experiment"], "methods": ["adgm1", "gone"]}} for run in content.runs]
    rows = {key: {**row, "method": "gone"} if row["method"] == "dd" else row for key, row in content.rows.items()}
    old = Content(tuple(runs), content.machines, rows)
    experiment = summary.declared(old)
    assert experiment.methods == ("adgm1",)
    assert {row["method"] for row in summary.enriched(old, experiment)} == {"adgm1"}


def test_worst_first(rows):
    place = ("noise", 40.0, "adgm1")
    found = summary.worst_first(rows, place, "accuracy")
    values = [row["correct"] / row["possible"] for row in found]
    assert len(found) == 3 and values == sorted(values)


def test_tables_say_the_same_in_every_format(content, rows):
    experiment = summary.declared(content)
    for table in report.tables(experiment, rows):
        width = len(table.header)
        markdown = [line for line in table.markdown().splitlines() if line.startswith("|")]
        assert all(line.count(" | ") == width - 1 for line in (markdown[0], *markdown[2:]))
        latex = table.latex()
        assert latex.count(r" \\") == len(table.lines) + 1
        assert all(line.count(" & ") == width - 1 for line in latex.splitlines() if line.endswith(r"\\"))
        for line in table.lines:
            assert any(line[0] in row for row in markdown)
    accuracy = summary.points(rows, "accuracy")
    lines = list(csv.DictReader(io.StringIO(report.long_csv(experiment, rows))))
    for line in lines:
        if line["measure"] == "accuracy":
            x = float(line["setting"]) if line["setting"] else None
            assert float(line["mean"]) == accuracy[line["panel"], x, line["method"]].mean


def test_the_best_of_a_column_is_bold_and_lower_errors_are_better():
    panel = Panel("p", "random", "A", "drawn")
    means = {"error": {("p", None, "adgm1"): summary.Point(1.0, 0, 2), ("p", None, "dd"): summary.Point(3.0, 0, 2)}}
    study = Experiment("p", "P", (panel,), ("adgm1", "dd"))
    table = report.table(study, panel, "p", {"Error (%)": ("error", None)}, ["adgm1", "dd"], means)
    assert table.bold == {(0, 1)}
    assert "**1.00**" in table.markdown() and r"\textbf{1.00}" in table.latex()


def test_figures_have_a_column_per_panel_and_a_row_per_measure(content, rows):
    experiment = summary.declared(content)
    (figure,) = report.figures(experiment, rows).values()
    assert len(figure.axes) == len(experiment.measures) * 1  # the panel without settings has no curve
    assert [axes.get_ylabel() for axes in figure.axes] == ["Objective ratio", "Accuracy (%)", "Global optimum (%)"]
    assert figure.axes[-1].get_xlabel() == "Deformation σ (px)"


class Outline(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.tags, self.sources = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.sources += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_stands_alone_and_is_safe(content):
    page = report.page(content)
    outline = Outline(page)
    assert not outline.open
    assert "script" not in outline.tags and "&lt;script&gt;" in page
    assert outline.sources and all(source.startswith("data:image/png;base64,") for source in outline.sources)
    for word in ("Seeds", "Versions", "numpy", "Machines", next(iter(content.machines)), "Time limit"):
        assert word in page


def test_the_command_writes_everything_and_names_it(path, tmp_path, capsys):
    assert main(["report", str(path), "-o", str(tmp_path / "out")]) == 0
    names = {line.rpartition("/")[2] for line in capsys.readouterr().out.split()}
    assert names == {file.name for file in (tmp_path / "out").iterdir()}
    assert {"report.html", "tables.md", "tables.tex", "means.csv", "random-points.png", "random-points.pdf"} <= names


def test_commands_fail_with_a_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, says in (
        (["run", "table9"], "There is no experiment 'table9'"),
        (["run", "nothing.toml"], "cannot be read"),
        (["run", "synthetic", "--methods", "magic"], "methods has 'magic'"),
        (["run", "synthetic", "--sample", "0"], "expected at least 1"),
        (["report", "nothing"], "There are no results 'nothing'"),
    ):
        assert main(arguments) == 2
        assert says in capsys.readouterr().err


def test_list_and_example_and_estimate(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert all(re.search(rf"^{name} ", out, re.M) for name in ("table1", "synthetic", "penalty"))
    assert main(["example"]) == 0
    assert "[[panel]]" in capsys.readouterr().out
    assert main(["run", "synthetic", "--sample", "1", "--estimate"]) == 0
    assert re.match(r"[\d,]+ units, [\d,]+ of them still to run: about \d+", capsys.readouterr().out)


@pytest.mark.long
def test_the_shipped_results_are_told_as_their_rows_have_them(tmp_path):
    written = results.write(tmp_path).read_text(encoding="utf-8")
    shipped = (store.SHIPPED / "README.md").read_text(encoding="utf-8")
    assert written == shipped, "python -m experiments results writes another file"
    assert {path.name for path in store.SHIPPED.glob("*.png")} == set(re.findall(r"!\[[^]]*\]\(([^)]+)\)", shipped))
    for path in store.SHIPPED.glob("*.jsonl.gz"):
        assert path.name.removesuffix(".jsonl.gz") in shipped
        assert store.read(path).dropped == 0
