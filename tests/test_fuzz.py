"""Fuzzing as a habit: damaged files of every kind, each refused in a sentence or read, in a process of its own."""

import io
import lzma
import random
import zipfile

import numpy as np
import pytest

from dying_reader import dies_at_the_second, has_reserved_much
from experiments.__main__ import main
from experiments.tools import fuzz
from experiments.tools.fuzz import Kind, outcome, watched
from features.files.point_files import read_points


def test_two_hundred_damaged_files_are_read_or_refused_in_a_sentence():
    found, most = watched(list(fuzz.numbered(200, seed=0)))
    assert not [one for one in found if one.wrong]
    assert len(found) == 200 and most < fuzz.LARGE
    assert {one.told for one in found} == {"value", "sentence"}


def test_what_is_not_damaged_is_read():
    for name, kind in fuzz.kinds().items():
        for data in kind.seeds():
            assert kind.read(data) is not None, name


def test_the_same_number_is_the_same_file():
    for name in fuzz.kinds():
        assert fuzz.case(name, 3) == fuzz.case(name, 3) != fuzz.case(name, 4)


@pytest.mark.parametrize(
    "fault", [KeyError("x"), RecursionError(), MemoryError(), ValueError(""), ValueError("a" * 501)]
)
def test_any_other_outcome_is_wrong(monkeypatch, fault):
    def read(data: bytes) -> object:
        raise fault

    real = fuzz.kinds()
    monkeypatch.setattr(fuzz, "kinds", lambda: {name: Kind(kind.seeds, read) for name, kind in real.items()})
    assert outcome("points, text", 0, b"1 2").wrong


def test_a_reader_that_ends_its_process_is_told_and_the_rest_goes_on():
    cases = [("points, text", k) for k in range(3)]
    found, _ = watched(cases, dies_at_the_second)
    assert [found[0], found[2]] == [cases[0], cases[2]]
    assert found[1].wrong and "ended with 3" in found[1].told


def test_the_command_prints_a_table(monkeypatch, capsys):
    monkeypatch.setattr(fuzz, "watched", lambda cases: ([outcome(*one, fuzz.case(*one)) for one in cases], 0))
    assert main(["fuzz", "--cases", "14", "--seed", "5"]) == 0
    assert "14 cases, 0 wrong" in capsys.readouterr().out
    assert main(["fuzz", "--cases", "0"]) == 2


def test_a_text_of_letters_that_do_not_exist_is_refused():
    whole = fuzz.npz(xy=np.eye(2), labels=np.array(["a", "b"]))
    assert read_points(whole).labels == ("a", "b")
    for code in (0x110000, 0xD800, 0xFFFFFFFF):
        labels = np.array(["a", "b"])
        labels.view(np.uint32)[1] = code
        with pytest.raises(ValueError, match="no letters"):
            read_points(fuzz.npz(xy=np.eye(2), labels=labels))


def test_large_files_are_made_for_every_kind_and_refused_or_read(monkeypatch):
    monkeypatch.setattr(fuzz, "SIZES", (5.0, 5.3))
    for name in fuzz.kinds():
        data = fuzz.case(name, fuzz.LARGE_EVERY - 1)
        assert data == fuzz.case(name, fuzz.LARGE_EVERY - 1)
        assert not outcome(name, 0, data).wrong


@pytest.mark.long
def test_no_large_file_takes_much_memory():
    numbers = range(fuzz.LARGE_EVERY - 1, 4 * fuzz.LARGE_EVERY, fuzz.LARGE_EVERY)
    found, most = watched([(name, number) for name in fuzz.kinds() for number in numbers])
    assert not [one for one in found if one.wrong] and most < fuzz.LARGE


def test_what_is_packed_grows_inside():
    packed = fuzz.grown(lzma.compress(b"p 1 1 1 0\na 0 0 0 1\n"), 1_000_000, random.Random(0))
    assert len(packed) < 2000 and len(lzma.decompress(packed)) > 900_000
    packed = fuzz.grown(fuzz.npz(xy=np.eye(2)), 1_000_000, random.Random(0))
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert len(packed) < 5000 and len(archive.read("xy.npy")) > 900_000


@pytest.mark.long
def test_memory_is_that_of_the_reader_and_not_of_who_started_it():
    ballast = np.ones(40_000_000)  # 320 MB here, none there
    _, most = watched([("points, text", 0)])
    assert ballast.all() and 0 <= most < 100_000_000


@pytest.mark.long
def test_a_reader_may_take_as_much_as_is_said_whatever_its_program_has_reserved():
    found, most = watched([("points, text", 0)], has_reserved_much)
    assert found[0].told == "5e+07" and 390_000_000 <= most < fuzz.LARGE
