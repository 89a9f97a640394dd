"""What a chapter is (text and a few functions), and the frame that all of them share: predict, run, compare."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import streamlit as st

from features.pairs import Pair
from features.recipe import Recipe
from ui.jobs.scheduler import POOL
from ui.learn import formula
from ui.learn.exercises import WORD
from ui.parts.escape import literal
from ui.shell import admission, presenter, warmup

Value = int | float | str
Answer = str | float | bool
Values = Mapping[str, Any]
SHORT = 36  # characters of all options that stand in one line
PREPARED: set[tuple[Any, ...]] = set()  # chapters with the values of their controls: as many as there are


@dataclass(frozen=True)
class Control:
    """One thing to change: a slider over the options, or a choice of words."""

    name: str
    label: str
    options: tuple[Value, ...]
    default: Value
    help: str = ""
    kind: Literal["slider", "words"] = "slider"
    task: str = ""  # a sentence that asks to use it: left out where a link locks it
    steps: bool = False  # with buttons for one step back and forth
    carries: str = ""  # a control that such a step moves on when this one is at its end
    later: bool = False  # only after the prediction
    beside: bool = False  # shares a row with the others that do
    text: Callable[[Any], str] = str

    def __post_init__(self) -> None:
        if self.default not in self.options:
            raise ValueError(f"the default of {self.name} is {self.default!r}, which is none of its options")

    def read(self, text: str) -> Value:
        """The option that a link names; the default if there is none."""
        return next((option for option in self.options if str(option) == text), self.default)


@dataclass(frozen=True)
class Question:
    """What is asked, and what is said to an answer. The right one is never written down: it comes from the numbers.

    With `options` one of them is the answer; with `number` a number within `tolerance`; with neither it is what the
    student has made of the picture.
    """

    text: str
    hint: str
    because: str  # after a right answer, and on the sheet with answers; {answer} is the answer, see `Chapter.numbers`
    options: tuple[str, ...] = ()
    number: bool = False
    tolerance: float = 0.0
    button: Literal["Check", "Run"] = "Check"
    depends: tuple[str, ...] = ()  # values whose change makes it another question
    then: Mapping[str, Value] = field(default_factory=dict)  # what the controls show after the prediction

    def accepts(self, given: Answer, right: Answer) -> bool:
        if self.number:
            return abs(float(given) - float(right)) <= self.tolerance
        return given == right


@dataclass(frozen=True)
class Poll:
    """The question as a class answers it on phones, where the page's own is about what is made of the picture."""

    text: Callable[[Values], str]
    options: tuple[str, ...]
    answer: Callable[[Values], str]
    told: Callable[[Values], str]
    depends: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sheet:
    """The chapter on paper, where nothing can be dragged, moved or pressed."""

    figure: Callable[[Values], str]  # HTML, see `ui.learn.figures`
    task: str
    question: str = ""  # the page's own if empty


@dataclass(frozen=True)
class Talk:
    """The chapter in a lecture."""

    minutes: int
    say: str  # what to do and to say, in the order in which it is done
    short: int = 0  # minutes in a lecture of ten minutes; 0: left out


@dataclass(frozen=True)
class Chapter:
    """A step of the course. `picture(state)` draws; `answer(values)` and `says(values)` come from the run's numbers."""

    key: str
    title: str
    claim: str  # one sentence
    task: str  # what is shown, and the first thing to do; followed by the tasks of its controls
    formula: str
    source: str  # where the paper has it
    question: Question
    code: str
    picture: Callable[["ChapterState"], None]
    answer: Callable[[Values], Answer]
    sheet: Sheet
    talk: Talk
    poll: Poll | None = None
    recipe: Callable[[Values], Recipe] | None = None  # its problem, as Match opens it
    brings: Callable[[Values], Pair] | None = None  # the pair that the recipe is about, where no data set has it
    film: Callable[[Values], list[Any]] | None = None  # its run as pictures, where it is not the recipe's
    board: Callable[[Values], Mapping[str, Any]] | None = None  # data of its picture, where the browser computes it
    controls: tuple[Control, ...] = ()
    free: Mapping[str, str] = field(default_factory=dict)  # what the picture itself lets one change, as text
    former: Callable[[Mapping[str, str]], Mapping[str, str]] = lambda words: words  # reads addresses of former times
    lit: Callable[[Values], str] | None = None  # the parts of the formula that matter now
    says: Callable[[Values], str] | None = None  # one line of numbers beside the controls
    reveals: Callable[[Values], str] | None = None  # another one, after the prediction
    outcome: Callable[[Values], str] | None = None  # what a run comes to, beside what was predicted; else the solution
    solution: Callable[[Values], str] | None = None  # the right answer in words, where the answer itself has none
    numbers: Callable[[Values], Mapping[str, Any]] | None = None  # that the question's `because` names
    work: Callable[[Values], object] | None = None  # what takes a while, and is remembered: done before it is drawn
    needs: Callable[[Values], str] | None = None  # the stage of `adgm.warmup` without which that cannot be done
    exercise: str = ""  # the code of a lecturer's exercise that asks about this chapter, see `ui.learn.builder`
    begins: Mapping[str, str] = field(default_factory=dict)  # values that the exercise begins with, as in an address
    reveals_answer: bool = True  # in presenter mode: not to everybody who has an exercise's link

    def prepare(self, values: Values) -> None:
        """Everything that is solved for these values."""
        self.answer(values)
        if self.work:
            self.work(values)

    @property
    def defaults(self) -> dict[str, Any]:
        return {one.name: one.default for one in self.controls} | dict(self.free)

    @property
    def place(self) -> str:
        """Tells the chapter, or an exercise about it, from the others."""
        return f"{self.key} {self.exercise}".strip()

    def read(self, words: Mapping[str, str]) -> dict[str, Any]:
        """The values that an address names."""
        words = self.former(words)
        read = {one.name: one.read(words[one.name]) for one in self.controls if one.name in words}
        return read | {name: words[name] for name in self.free if name in words}

    @property
    def start(self) -> dict[str, Any]:
        """The values that it opens with."""
        return self.defaults | self.read(self.begins)

    def to_do(self, locked: Callable[[str], bool]) -> str:
        """The task, without the controls that are locked."""
        tasks = (one.task for one in self.controls if one.task and not locked(one.name))
        return " ".join([self.task, *tasks])

    def right(self, values: Values) -> str:
        """The right answer in words."""
        if self.solution:
            return self.solution(values)
        answer = self.answer(values)
        return f"{answer:.2f}" if self.question.number else str(answer)

    def comes_to(self, values: Values) -> str:
        """What the run says."""
        return self.outcome(values) if self.outcome else self.right(values)

    def told(self, values: Values) -> str:
        """The right answer and the reason, for people."""
        numbers = self.numbers(values) if self.numbers else {}
        text = self.question.because.format(answer=self.right(values), **numbers)
        return text[0].upper() + text[1:] if text[0].isascii() else text


class ChapterState:
    """A student's place at a chapter: the values of its controls, and whether the prediction has been made."""

    def __init__(self, chapter: Chapter) -> None:
        self.chapter = chapter
        notes = st.session_state.setdefault("learn", {}).setdefault(chapter.place, {})
        self.notes: dict[str, Any] = notes
        here = st.session_state.get("learn chapter", chapter.key) == chapter.key
        if "values" not in notes and here:
            self.follow_address()
        self.values: dict[str, Any] = notes.get("values", chapter.start)

    def follow_address(self) -> None:
        """Take the values that the address names, if it is one of this chapter, and its own for the others."""
        words = st.query_params.to_dict()
        here = words.get("chapter", self.chapter.key if self.chapter.exercise else "") == self.chapter.key
        own = {name: text for name, text in words.items() if not (self.chapter.exercise and presenter.locked(name))}
        self.values = self.notes["values"] = self.chapter.start | (self.chapter.read(own) if here else {})

    @property
    def checked(self) -> bool:
        """Whether a prediction has been made."""
        return "answer" in self.notes or self.done or presenter.hidden("question")

    @property
    def right(self) -> bool:
        """Whether the question as it stands has been answered rightly."""
        return bool(self.notes.get("good")) and self.notes["for"] == self.asked_for()

    @property
    def done(self) -> bool:
        """Whether it ever was."""
        return bool(self.notes.get("done"))

    def key(self, name: str) -> str:
        return f"learn {self.chapter.place} {name}"

    def set(self, name: str, value: Any) -> None:
        self.values[name] = value

    @property
    def words(self) -> dict[str, str]:
        """The address of this chapter in this state."""
        plain, code = self.chapter.start, self.chapter.exercise
        return (
            {"chapter": self.chapter.key}
            | ({WORD: code} if code else {})
            | {name: str(value) for name, value in self.values.items() if value != plain.get(name)}
        )

    # ---- controls ----------------------------------------------------------------------------------------------

    def draw_controls(self) -> None:
        controls = [control for control in self.chapter.controls if not presenter.hidden(control.name)]
        beside = [control for control in controls if control.beside]
        for control in controls:
            if not control.beside:
                self._control(control)
        for place, control in zip(st.columns(len(beside)) if beside else (), beside, strict=True):
            with place:
                self._control(control)
        held = [control.label for control in controls if presenter.locked(control.name)]
        if held and not presenter.active():
            st.caption(f":material/lock: Set by the link that opened this page: {', '.join(held)}")

    def _control(self, control: Control) -> None:
        shut = presenter.locked(control.name) or (control.later and not self.checked)
        if not control.steps:
            self._draw(control, shut)
            return
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="learn-steps"):
            self._step(control, -1, "Step back", ":material/skip_previous:", shut)
            self._draw(control, shut)
            self._step(control, 1, "Step forward", ":material/skip_next:", shut)

    def _draw(self, control: Control, shut: bool) -> None:
        key = self.key(control.name)
        now = st.session_state[key] = self.values[control.name]
        shared: dict[str, Any] = {
            "key": key,
            "help": control.help or None,
            "disabled": shut,
            "format_func": control.text,
            "on_change": self._changed,
            "args": (control.name,),
        }
        if control.kind == "words":
            st.segmented_control(control.label, control.options, default=now, required=True, **shared)
        else:
            st.select_slider(control.label, control.options, now, **shared)

    def _changed(self, name: str) -> None:
        self.values[name] = st.session_state[self.key(name)]

    def _step(self, control: Control, by: int, label: str, icon: str, shut: bool) -> None:
        change = self.stepped(control, by)
        st.button(
            label,
            key=self.key(f"{control.name} {by}"),
            icon=icon,
            disabled=shut or not change,
            on_click=self.values.update,
            args=(change,),
        )

    def stepped(self, control: Control, by: int) -> dict[str, Any]:
        """What a step changes: the next option; at the end the first one again, and a step of what it carries."""
        at = control.options.index(self.values[control.name]) + by
        if 0 <= at < len(control.options):
            return {control.name: control.options[at]}
        carried = next((one for one in self.chapter.controls if one.name == control.carries), None)
        further = self.stepped(carried, by) if carried and not presenter.locked(carried.name) else {}
        return further and {control.name: control.options[at % len(control.options)], **further}

    # ---- the question ------------------------------------------------------------------------------------------

    def ask(self) -> None:
        """The question, a place for the answer, and what the numbers say to it."""
        asked, key = self.chapter.question, self.key("answer")
        st.markdown(f"**{literal(asked.text)}**")
        with st.container(horizontal=True, vertical_alignment="bottom", key="asking"):
            if asked.options:
                st.radio(
                    asked.text,
                    asked.options,
                    index=None,
                    format_func=literal,
                    key=key,
                    horizontal=sum(map(len, asked.options)) < SHORT,
                    label_visibility="collapsed",
                )
            elif asked.number:
                st.number_input(
                    asked.text, value=None, step=0.01, format="%.2f", key=key, label_visibility="collapsed", width=150
                )
            icon = ":material/play_arrow:" if asked.button == "Run" else ":material/check:"
            st.button(asked.button, key=self.key("check"), type="primary", icon=icon, on_click=self._check)
            if presenter.active() and self.chapter.reveals_answer:
                st.button("Reveal", key=self.key("reveal"), icon=":material/visibility:", on_click=self.reveal)
        self.reply()

    def _check(self) -> None:
        asked = self.chapter.question
        given = st.session_state.get(self.key("answer")) if asked.options or asked.number else True
        self.notes["missing"] = given is None
        if given is None:
            return
        right = self.chapter.answer(self.values)
        good = asked.accepts(given, right)
        self.notes |= {"answer": given, "good": good, "for": self.asked_for(), "revealed": False}
        if good:
            self.notes["done"] = True
        self._after_the_first()

    def reveal(self) -> None:
        """Give the right answer in place of the student."""
        self.notes |= {
            "answer": self.chapter.answer(self.values),
            "good": True,
            "for": self.asked_for(),
            "done": True,
            "missing": False,
            "revealed": True,
        }
        self._after_the_first()

    def _after_the_first(self) -> None:
        if not self.notes.get("seen"):
            self.notes["seen"] = True
            self.values.update(self.chapter.question.then)

    def asked_for(self) -> list[Any]:
        return [self.values[name] for name in self.chapter.question.depends]

    def reply(self) -> None:
        """What the numbers say to the answer that was given."""
        if self.notes.get("missing"):
            st.info("Predict first: choose an answer, a guess will do.", icon=":material/psychology_alt:")
        elif "answer" in self.notes and self.notes["for"] == self.asked_for():
            said = self.compared()
            if self.notes["good"]:
                st.success(said + self.chapter.told(self.values), icon=":material/check_circle:")
            else:
                st.info(said + self.chapter.question.hint, icon=":material/lightbulb:")

    def compared(self) -> str:
        """The prediction beside what the run says; where nothing is run, a wrong answer alone."""
        asked, given = self.chapter.question, self.notes["answer"]
        if self.notes.get("revealed"):
            return ""
        given = f"{given:.2f}" if asked.number else given
        if asked.button == "Run":
            return f"You predicted {given}; the run says {self.chapter.comes_to(self.values)}. "
        given = literal(given) if self.chapter.exercise and asked.options else given
        return f"You said {given}. " if isinstance(given, str) and not self.notes["good"] else ""


def prepared(state: ChapterState) -> None:
    """Solve what the chapter shows, in a place of the pool and once for all visitors: a class turns a page together."""
    chapter, values = state.chapter, dict(state.values)
    if stage := chapter.needs(values) if chapter.needs else "":
        warmup.begin().wait(stage)
    choice = (chapter.key, *(values[control.name] for control in chapter.controls))
    if choice not in PREPARED:
        try:
            with st.spinner("Solving it …"):
                POOL.perform(partial(chapter.prepare, values), admission.current())
        except ValueError as refused:
            st.warning(str(refused), icon=":material/hourglass_top:")
            st.stop()
        PREPARED.add(choice)


def show(chapter: Chapter, ask: Callable[["ChapterState"], None] = ChapterState.ask) -> ChapterState:
    """The chapter: its claim, the picture on the left; formula, controls and question on the right."""
    state = ChapterState(chapter)
    prepared(state)
    task = "" if presenter.hidden("task") else formula.explained(chapter.to_do(presenter.locked))
    st.html(f'<p class="claim">{formula.explained(chapter.claim)}</p><p class="task">{task}</p>')
    left, right = st.columns([14, 8] if presenter.active() else [13, 8], gap="medium")
    with right, st.container(key="learn-side", gap="small"):
        lit = chapter.lit(state.values) if chapter.lit else ""
        if not presenter.hidden("formula"):
            st.html(f'<div class="from">{formula.html(chapter.formula, lit)}<small>{chapter.source}</small></div>')
        state.draw_controls()
        if not presenter.hidden("numbers"):
            if chapter.says:
                st.markdown(chapter.says(state.values))
            if chapter.reveals and state.checked and (told := chapter.reveals(state.values)):
                st.markdown(told)
        if not presenter.hidden("question"):
            ask(state)
    with left, st.container(key="learn-picture"):
        chapter.picture(state)
    return state
