"""Load as a command: Streamlit's messages as we write and read them, and visitors on a real server."""

import time

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from experiments.__main__ import main
from experiments.tools import load
from experiments.tools.browser import PATIENCE, ROOT, fields, serving, wait_until
from experiments.tools.load import (
    AUTO_RERUN,
    NAVIGATION,
    PAGE_SHOWN,
    Report,
    Sample,
    Visitor,
    back,
    holding,
    pressed,
    rerun,
    ticking,
)


def test_what_a_visitor_says_is_what_streamlit_reads():
    message = BackMsg()
    message.ParseFromString(rerun("data=random&" + "x" * 300, "compare", states=pressed("$$ID-1-go")))
    asked = message.rerun_script
    assert (asked.query_string[:11], asked.page_name) == ("data=random", "compare")
    assert [(one.id, one.trigger_value) for one in asked.widget_states.widgets] == [("$$ID-1-go", True)]
    message.ParseFromString(rerun("", shown="hash", fragment="part"))
    asked = message.rerun_script
    assert (asked.page_script_hash, asked.fragment_id, asked.is_auto_rerun) == ("hash", "part", True)


def test_files_are_told_as_streamlit_reads_them():
    place = FileURLs(file_id="1", upload_url="/up", delete_url="/gone")
    message = BackMsg()
    message.ParseFromString(rerun("", states=holding("$$ID-1-files", [("a.png", 1234, place.SerializeToString())])))
    (widget,) = message.rerun_script.widget_states.widgets
    (file,) = widget.file_uploader_state_value.uploaded_file_info
    assert (widget.id, file.name, file.size, file.file_id) == ("$$ID-1-files", "a.png", 1234, "1")
    assert file.file_urls == place


def test_what_streamlit_says_is_what_a_visitor_reads():
    message = ForwardMsg()
    message.auto_rerun.interval, message.auto_rerun.fragment_id = 0.5, "part"
    ((number, value),) = fields(message.SerializeToString())
    assert number == AUTO_RERUN and ticking(value) == (0.5, "part")
    message.navigation.page_script_hash = "hash"
    ((number, value),) = fields(message.SerializeToString())
    assert number == NAVIGATION and dict(fields(value))[PAGE_SHOWN] == b"hash"


def test_a_report_tells_who_finished_and_how_long_a_click_took():
    visitors = [Visitor(k, "", 0.0, [float(k)], "finished" if k else "refused") for k in range(21)]
    samples = [Sample(0.0, 1.0, 4), Sample(1.0, 3.0, 6), Sample(2.0, 2.0, 5)]
    told = "\n".join(Report(visitors, 9.0, samples).lines)
    assert "20 finished" in told and "1 refused" in told and "p50 10.00 s, p95 19.00 s" in told
    assert "memory in MB: 1 before, 3 at most, 2 after" in told and "threads: 4 before, 6 at most, 5 after" in told


def test_the_drift_is_told_without_the_warming_up_and_without_the_end():
    samples = [Sample(float(k), 100.0 if k < 20 else 200.0 + k // 60 * 20, 9 + k % 2) for k in range(101)]
    told = Report([], 9.0, [*samples, Sample(101.0, 1.0, 1)]).drift
    assert "memory 200 → 220 (+10.0 %), 220 at most" in told and "10 at most" in told


def test_a_server_is_back_when_memory_and_threads_are():
    before = Sample(0.0, 400.0, 9)
    assert [back(before, Sample(1.0, *now)) for now in ((420.0, 11), (421.0, 9), (400.0, 12), (300.0, 9))] == [
        True,
        False,
        False,
        True,
    ]


@pytest.mark.long
def test_visitors_who_watch_and_who_bring_images_finish_on_a_real_server(capsys, monkeypatch):
    monkeypatch.setattr(load, "RUN", load.RUN.replace("max_iter=100", "max_iter=5"))
    monkeypatch.setattr(load, "OF", 2)
    monkeypatch.setattr(load, "MIX", {1: load.MIX[4]})
    monkeypatch.setattr(load, "SWEPT", 0.0)
    monkeypatch.setattr(load, "BACK", 5.0)
    assert main(["load", "--visitors", "2", "--arriving", "0"]) == 0
    told = capsys.readouterr().out
    assert "2 finished" in told and "of 3" in told  # three clicks: the images are one


FORGETFUL = """
import gc
import streamlit as st
from streamlit.runtime.app_session import AppSession
from ui.shell import admission as visitors

visitors.KEPT, visitors.CLEANUP.every = 0.0, 0.05
visitors.begin()
st.write(f"sessions: {sum(isinstance(one, AppSession) for one in gc.get_objects())}.")
"""


@pytest.mark.long
def test_the_session_of_a_closed_tab_is_forgotten_and_no_other(tmp_path):
    script = tmp_path / "forgetful.py"
    script.write_text(FORGETFUL, encoding="utf-8")
    with serving(script, PYTHONPATH=str(ROOT)) as server:
        stays, leaves = (Visitor(number, server.url, time.monotonic() + PATIENCE) for number in range(2))

        def sessions(visitor: Visitor, number: int) -> bool:
            return f"sessions: {number}.".encode() in visitor.ask(rerun("")).said

        with stays.connection() as stays.socket:
            assert sessions(stays, 1)
            with leaves.connection() as leaves.socket:
                assert sessions(leaves, 2)
            wait_until(lambda: sessions(stays, 1), PATIENCE)


@pytest.mark.parametrize("visitors", ["0", "201"])
def test_a_wrong_number_of_visitors_is_a_sentence(capsys, visitors):
    assert main(["load", "--visitors", visitors]) == 2
    assert "from 1 to 200" in capsys.readouterr().err
