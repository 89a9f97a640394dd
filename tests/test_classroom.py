"""Rooms in which a class answers: one answer each, nothing told before its time, and bounds that hold."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from test_learn import Visit
from ui.learn import lectern, phone, progress
from ui.learn.chapters import CHAPTERS
from ui.learn.classroom import CLOSED, CODE, GONE, HERE, QUESTIONS, Asked, Rooms, near, read_code
from ui.parts import links

COLOURS = Asked("colours", "Colours", "Which?", ("red", "green", "blue"))
NUMBER = Asked("number", "Numbers", "How many?")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def rooms(clock) -> Rooms:
    return Rooms(most=3, students=4, seconds=100, clock=clock)


def opened(rooms: Rooms, asked: Asked = COLOURS) -> str:
    code = rooms.open("lecturer").code
    rooms.ask("lecturer", asked)
    return code


def counted(rooms: Rooms) -> dict[str, int]:
    room = rooms.of("lecturer")
    assert room is not None
    return dict(room.counts())


def test_a_student_has_one_answer_and_may_change_it_until_the_answers_are_shown(rooms):
    code = opened(rooms)
    for student, answer in (("a", "red"), ("b", "red"), ("a", "blue"), ("a", "blue")):
        rooms.answer(code, student, "colours 0", answer)
    assert counted(rooms) == {"red": 1, "green": 0, "blue": 1}
    for stage in ("shown", "revealed"):
        rooms.show("lecturer", stage)
        with pytest.raises(ValueError, match=CLOSED):
            rooms.answer(code, "b", "colours 0", "blue")
        rooms.answer(code, "b", "colours 0", "red")  # the answer that is there already, as every drawing sends it
    assert counted(rooms) == {"red": 1, "green": 0, "blue": 1}
    rooms.clear("lecturer")
    assert counted(rooms) == {"red": 0, "green": 0, "blue": 0}
    rooms.answer(code, "b", "colours 0", "blue")  # of the round before
    assert counted(rooms)["blue"] == 0
    rooms.answer(code, "b", "colours 1", "blue")
    assert counted(rooms)["blue"] == 1


def test_students_are_told_nothing_before_the_lecturer_reveals_it(rooms):
    code = opened(rooms)
    rooms.show("lecturer", "shown")
    assert rooms.visit(code, "a").solution == ""
    rooms.show("lecturer", "revealed", "It is blue.")
    assert (rooms.visit(code, "a").stage, rooms.visit(code, "a").solution) == ("revealed", "It is blue.")
    rooms.ask("lecturer", NUMBER)
    assert (rooms.visit(code, "a").stage, rooms.visit(code, "a").solution) == ("open", "")


def test_an_earlier_question_keeps_its_answers_and_a_late_answer_goes_to_no_other(rooms):
    code = opened(rooms)
    rooms.answer(code, "a", "colours 0", "red")
    rooms.show("lecturer", "shown")
    rooms.ask("lecturer", NUMBER)
    rooms.answer(code, "b", "colours 0", "red")
    rooms.answer(code, "b", "number 0", 3)
    assert counted(rooms) == {"3.00": 1}
    rooms.ask("lecturer", COLOURS)
    assert counted(rooms)["red"] == 1
    assert rooms.visit(code, "a").stage == "shown"


def test_only_the_owner_changes_a_room_and_has_one(rooms):
    code = opened(rooms)
    rooms.answer(code, "a", "colours 0", "red")
    for stranger in ("a", "", "other"):
        rooms.show(stranger, "revealed", "mine")
        rooms.ask(stranger, NUMBER)
        rooms.clear(stranger)
        rooms.close(stranger)
        assert rooms.of(stranger) is None
    assert rooms.open("lecturer").code == code and rooms.visit(code, "a").asked == COLOURS
    assert counted(rooms)["red"] == 1 and rooms.visit(code, "a").stage == "open"
    rooms.close("lecturer")
    for call in (lambda: rooms.visit(code, "a"), lambda: rooms.answer(code, "a", "colours 0", "red")):
        with pytest.raises(ValueError, match="There is no room"):
            call()


def test_rooms_students_and_questions_are_bounded(rooms):
    code = opened(rooms)
    rooms.open("second"), rooms.open("third")
    with pytest.raises(ValueError, match="room for 3 classes"):
        rooms.open("fourth")
    for k in range(9):
        rooms.visit(code, f"visitor {k}")
    assert rooms.here(code) == 4
    for k in range(4):
        rooms.answer(code, f"student {k}", "colours 0", "red")
    with pytest.raises(ValueError, match="has its 4 students"):
        rooms.answer(code, "another", "colours 0", "red")
    rooms.answer(code, "student 0", "colours 0", "blue")  # who is in may still change it
    assert counted(rooms) == {"red": 3, "green": 0, "blue": 1}
    for k in range(3 * QUESTIONS):
        rooms.ask("lecturer", Asked(f"question {k}", "", "?", ("yes", "no")))
        rooms.answer(code, "a", f"question {k} 0", "yes")
    assert len(rooms.visit(code, "a").answers) == QUESTIONS


def test_a_room_is_deleted_when_its_lecturer_has_been_away_for_long(rooms, clock):
    code = opened(rooms)
    for _ in range(5):
        clock.now += 60
        assert rooms.of("lecturer") is not None
    clock.now += HERE + 1
    rooms.visit(code, "a")  # students do not keep it
    assert rooms.here(code) == 1
    clock.now += 60
    assert not rooms.expire() and rooms.here(code) == 0
    clock.now += 60
    assert rooms.expire() and not rooms.expire()
    with pytest.raises(ValueError, match="There is no room"):
        rooms.visit(code, "a")
    assert rooms.of("lecturer") is None
    assert not (rooms._rooms or rooms._used or rooms._seen or rooms._owners)


@pytest.mark.parametrize(
    "hostile", [None, "purple", "r" * 10_000, ["red"], {"red": 1}, True, float("nan"), float("inf"), 1e300, b"red"]
)
def test_what_is_no_answer_is_refused_in_a_sentence(rooms, hostile):
    code = opened(rooms)
    with pytest.raises(ValueError, match="no answer to the question"):
        rooms.answer(code, "a", "colours 0", hostile)
    rooms.ask("lecturer", NUMBER)
    if hostile is not True:  # 1, to Python
        with pytest.raises(ValueError, match="no answer to the question"):
            rooms.answer(code, "a", "number 0", hostile)
        assert counted(rooms) == {}


@pytest.mark.parametrize("size", [{"text": "x" * 401}, {"options": ("x",) * 13}, {"options": ("x" * 81,)}])
def test_a_question_that_is_too_long_is_refused(size):
    with pytest.raises(ValueError, match="at most 400 characters and 12 options"):
        Asked(**({"key": "k", "title": "t", "text": "?"} | size))


@given(some.text(max_size=60))
@settings(max_examples=60)
def test_a_typed_code_is_one_or_nothing(text):
    code = read_code(text)
    assert code == "" or CODE.fullmatch(code)


def test_codes_are_read_as_people_type_them(rooms):
    code = opened(rooms)
    assert CODE.fullmatch(code)
    assert read_code(f" {code[:2].lower()} {code[2:]}\n") == code
    assert [read_code(text) for text in ("", "KTM4", "KTM4O", "KTM4PP", "<b>KT", "K" * 100)] == [""] * 6


def test_numbers_are_listed_by_size_and_the_rare_ones_together(clock):
    rooms = Rooms(students=100, clock=clock)
    code = opened(rooms, NUMBER)
    for k in range(60):
        rooms.answer(code, f"s{k}", "number 0", min(k % 20, 12) - 2)
    rows = rooms.of("lecturer").counts()
    assert sum(count for _, count in rows) == 60
    assert rows[-1][0] == "others" and len(rows) == 9
    assert [float(name) for name, _ in rows[:-1]] == sorted(float(name) for name, _ in rows[:-1])
    assert near("3.34", 3.335, 0.011) and not near("3.35", 3.335, 0.011) and near("both", "both", 0)
    assert not near("others", 3.0, 0.5)


# ---- on the page ---------------------------------------------------------------------------------------------


@pytest.fixture
def server_rooms(monkeypatch, rooms) -> Rooms:
    for module in (lectern, phone):
        monkeypatch.setattr(module, "ROOMS", rooms)
    return rooms


def radio(visit: Visit, answer: str) -> None:
    visit.test.radio[0].set_value(answer)
    visit.run()


def test_a_class_answers_and_is_told_the_right_answer_at_the_end(server_rooms):
    lecturer = Visit(chapter="split")
    lecturer.press("Let the class answer")
    code = server_rooms.of(lecturer.test.session_state[progress.NAME]).code
    students = [Visit(**{"class": code}) for _ in range(3)]
    for student, answer in zip(students, ("rows", "columns", "columns"), strict=True):
        assert "which sums are all one?" in student.says()
        radio(student, answer)
        assert "is counted" in student.test.success[0].value
    radio(students[0], "both")
    lecturer.run()
    assert "3 here · 3 answers" in lecturer.says() and not lecturer.test.radio
    told = CHAPTERS["split"].told(CHAPTERS["split"].defaults)
    page = lambda visit: str([html.body for html in visit.test.get("html")])  # noqa: E731
    assert "✓" not in page(lecturer) and "<b>2</b>" not in page(lecturer)
    lecturer.press("Show answers")
    assert "<b>2</b>" in page(lecturer) and "✓" not in page(lecturer)
    students[0].run()
    assert "<b>2</b>" in page(students[0]) and "✓" not in page(students[0]) and told not in str(students[0].test)
    assert "Your answer: both" in students[0].says() and not students[0].test.radio
    lecturer.press("Reveal")
    assert "columns ✓" in page(lecturer) and lecturer.test.success[0].value == told
    students[0].run()
    assert students[0].test.info[0].value == told
    lecturer.press("Ask again")
    students[0].run()
    assert students[0].test.radio[0].value is None and not students[0].test.info
    lecturer.press("Next")
    students[0].run()
    assert CHAPTERS[list(CHAPTERS)[4]].poll.text(CHAPTERS["simplex"].defaults).partition(":")[2] in students[0].says()
    lecturer.press("Close the room")
    students[0].run()
    assert "There is no room" in students[0].test.warning[0].value


def test_numbers_are_answered_and_found_right_within_the_tolerance(server_rooms):
    lecturer, right = Visit(chapter="step"), CHAPTERS["step"].answer(CHAPTERS["step"].defaults)
    lecturer.press("Let the class answer")
    student = Visit(**{"class": server_rooms.of(lecturer.test.session_state[progress.NAME]).code})
    student.test.number_input[0].set_value(round(right, 2))
    student.run()
    lecturer.press("Show answers")
    lecturer.press("Reveal")
    assert f"{right:.2f} ✓" in str([html.body for html in lecturer.test.get("html")])


@pytest.mark.parametrize("code", ["zzzzz", "<script>", "K" * 5000, "ktm4p", "?&=", "КТМ4Р"])
def test_a_code_of_no_room_gets_a_sentence(server_rooms, code):
    visit = Visit(**{"class": code})
    assert [warning.value for warning in visit.test.warning] == [GONE]


def test_a_full_server_says_so(server_rooms):
    for name in "abc":
        server_rooms.open(name)
    lecturer = Visit(chapter="split")
    lecturer.press("Let the class answer")
    assert "room for 3 classes" in lecturer.test.warning[0].value and lecturer.test.radio


def test_a_reload_brings_back_the_name_once():
    visit = Visit(chapter="split")
    mine = visit.test.session_state[progress.NAME]
    for said, after in (
        ("x" * 17, mine),
        ("<b>0123456789</b", mine),
        (7, mine),
        ("0123456789abcdef", "0123456789abcdef"),
        ("fedcba9876543210", "0123456789abcdef"),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(progress.st, "session_state", visit.test.session_state)
            progress.recall({"name": said}, CHAPTERS)
            assert progress.name() == after


def test_the_code_for_phones_holds_the_link():
    qr = links.code_picture("http://127.0.0.1:8501/learn?class=KTM4P&x=<b>")
    assert 'src="data:image/svg+xml' in qr and "<b>" not in qr
    assert not re.search(r"http://(?!www\.w3\.org|127)", qr)
