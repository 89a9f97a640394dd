"""After a fault: the server dies in the middle of a run and comes back, and the page needs nobody's help."""

import re

import pytest

from experiments.tools.browser import Visit, serving

pytestmark = pytest.mark.browser
RUN = "?data=turntable&data.points=25&model=C&method=adgm1&method.tol=1e-300"
# What a page says while its server is away.
AWAY = re.compile(r"ERR_CONNECTION_|disconnected from server|[Nn]o response received|not responding|WebSocket")


@pytest.mark.long
def test_a_killed_server_comes_back_and_one_click_runs_the_same_choice_again(window, tmp_path):
    machine = {"ADGM_DATA_DIR": None, "XDG_CACHE_HOME": str(tmp_path)}
    with serving(**machine) as server:
        page = Visit(window, f"{server.url}/{RUN}")
        page.ready()
        page.choose("Pace", "10 iterations/s")  # stands in no address: the page itself remembers it
        page.press("Start")
        page.wait_until(lambda: page.iteration() >= 2)
        before = len(page.talk)
        server.crash()
    with serving(port=server.port, **machine) as again:
        page.wait_until(lambda: "finished" in page.talk[before:])
        page.ready()
        page.says(re.compile("Which point is which"))
        assert "data.points=25" in page.page.url and "method.tol=1e-300" in page.page.url
        page.says(re.compile(r"25 × \d+ points · Pairwise C"))
        assert page.page.get_by_role("combobox", name=re.compile("Pace$")).input_value() == "10 iterations/s"
        page.press("Start")
        page.wait_until(lambda: page.iteration() >= 2)
        assert not again.complaints()
    assert [one for one in page.errors if not AWAY.search(one)] == []
    page.close()
