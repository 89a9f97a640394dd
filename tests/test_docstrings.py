"""What every public name says of itself, and that its examples run."""

import doctest
import inspect
import re
import types

import pytest

import adgm
import features
from features.files.problem_files import open_problem
from features.judge.comparison import compare

PUBLIC = {f"adgm.{name}": getattr(adgm, name) for name in adgm.__all__}
PUBLIC |= {f"features.{name}": getattr(features, name) for name in features.__all__}
PUBLIC |= {one.__name__: one for one in (compare, open_problem)}
PUBLIC |= {f"Problem.{name}": getattr(adgm.Problem, name) for name in ("from_affinity", "from_costs")}
DESCRIBED = {name: one for name, one in PUBLIC.items() if callable(one) or isinstance(one, types.ModuleType)}
VALUES = {name for name in PUBLIC if name not in DESCRIBED}


def sections(text: str) -> set[str]:
    return set(re.findall(r"^(\w+)\n-{3,}$", inspect.cleandoc(text), re.M))


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_public_name_says_what_it_is_takes_and_gives_with_an_example(name):
    one = DESCRIBED[name]
    text = one.__doc__ or ""
    assert re.match(r"\S.*[.:]\n", text + "\n"), "a first line that is a sentence"
    assert ">>> " in text, "an example"
    if isinstance(one, types.ModuleType):
        return
    asked = [p for p in inspect.signature(one).parameters if p not in ("self", "cls")]
    needed = ({"Parameters", "Raises"} if asked else set()) | {"Examples"}
    needed -= {"Raises"} if one is adgm.State else set()  # a record of what is
    if inspect.isfunction(one) and inspect.signature(one).return_annotation not in (None, "None"):
        needed.add("Returns")
    assert needed <= sections(text)
    told = text.partition("Parameters\n")[2].partition("Raises\n")[0]
    assert [p for p in asked if not re.search(rf"\b{p}\b", told)] == [], "every parameter is described"


def test_values_are_said_in_the_reference():
    assert {"adgm.ANY", "adgm.METHODS", "adgm.__version__", "features.__version__"} <= VALUES


@pytest.mark.parametrize("name", DESCRIBED)
def test_the_examples_of_public_names_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    finder, runner = (
        doctest.DocTestFinder(recurse=False),
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE),
    )
    one = DESCRIBED[name]
    examples = [test for test in finder.find(one, name, globs={}) if test.examples]
    assert examples
    for test in examples:
        failures = []
        runner.run(test, out=failures.append)
        assert not runner.failures, "".join(failures)
