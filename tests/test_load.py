"""Load as a command: Streamlit's messages as we write and read them, and a visitor on a real server."""

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from experiments import load
from experiments.__main__ import main
from experiments.browser import fields
from experiments.load import AUTO_RERUN, NAVIGATION, PAGE_SHOWN, Report, Visitor, rerun, ticking


def test_what_a_visitor_says_is_what_streamlit_reads():
    message = BackMsg()
    message.ParseFromString(rerun("data=random&" + "x" * 300, "compare", pressed="$$ID-1-go"))
    asked = message.rerun_script
    assert (asked.query_string[:11], asked.page_name) == ("data=random", "compare")
    assert [(one.id, one.trigger_value) for one in asked.widget_states.widgets] == [("$$ID-1-go", True)]
    message.ParseFromString(rerun("", shown="hash", fragment="part"))
    asked = message.rerun_script
    assert (asked.page_script_hash, asked.fragment_id, asked.is_auto_rerun) == ("hash", "part", True)


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
    told = "\n".join(Report(visitors, 9.0, (1.0, 3.0, 2.0), (4, 6, 5)).lines)
    assert "20 finished" in told and "1 refused" in told and "p50 10.00 s, p95 19.00 s" in told
    assert "memory in MB: 1 before, 3 at most, 2 after" in told


def test_a_visitor_finishes_on_a_real_server(capsys, monkeypatch):
    monkeypatch.setattr(load, "RUN", load.RUN.replace("max_iter=100", "max_iter=5"))
    assert main(["load", "--visitors", "1"]) == 0
    assert "1 finished" in capsys.readouterr().out


@pytest.mark.parametrize("visitors", ["0", "201"])
def test_a_wrong_number_of_visitors_is_a_sentence(capsys, visitors):
    assert main(["load", "--visitors", visitors]) == 2
    assert "from 1 to 200" in capsys.readouterr().err
