"""The Experiments page in a real Chromium: run, stop, resume, read the report, click a point and open its pair."""

import contextlib
import re

import pytest

from experiments.tools.browser import Server, Visit

pytestmark = pytest.mark.browser


def done(visit: Visit) -> int:
    """How many units the progress bar counts."""
    found = re.search(r"([\d,]+) of [\d,]+ units", visit.main.get_by_test_id("stProgress").first.inner_text())
    return int(found[1].replace(",", "")) if found else 0


def synthetic(browser, server: Server) -> Visit:
    """A visitor who has chosen to run the synthetic experiment here."""
    visit = Visit(browser, server.url)
    visit.page.get_by_role("link", name="Experiments").click()
    visit.says("The paper's experiments, run again")
    visit.choose("Experiment", "Synthetic: deformation, outliers, rotation and scale")
    visit.main.get_by_text("Run here", exact=True).click()  # our own results are there to browse, too
    visit.says(re.compile(r"\d units|of [\d,]+ units"))
    return visit


@pytest.mark.long
def test_run_stop_resume_report_and_a_pair_behind_a_point(browser, server):
    visit = synthetic(browser, server)
    visit.main.get_by_role("button", name="Clear all").click()
    visit.says("Choose at least one method.")
    visit.main.get_by_role("combobox", name=re.compile("Methods")).click()
    visit.page.get_by_role("option", name="ADGM+ (many starts)").click()  # not done before anybody has looked
    visit.page.keyboard.press("Escape")
    visit.says(re.compile(r"116 units, 116 still to run: about \d.* with \d+ workers"))  # 58 settings, 2 pairs
    visit.main.get_by_role("spinbutton", name="Pairs per setting").fill("20")
    visit.page.keyboard.press("Enter")
    visit.says(re.compile(r"1,160 units, 1,160 still to run"))
    other = synthetic(browser, server)
    visit.press("Run")
    visit.wait_until(lambda: done(visit) > 3)
    other.choose("Experiment", "ρ study: ρ0, β, T1, T2 and the start")
    other.choose("Experiment", "Synthetic: deformation, outliers, rotation and scale")
    other.says("Another visitor is running an experiment on this server")
    assert other.main.get_by_role("button", name="Stop experiment").is_disabled()
    assert not other.errors
    other.close()

    visit.press("Stop experiment")
    resume = visit.main.get_by_role("button", name="Resume", exact=True)
    visit.wait_until(resume.is_enabled)
    stopped = done(visit)
    assert 3 < stopped < 1160
    resume.click()
    whole = 6 * 20 + 4  # the first diagram: six deformations of twenty pairs; four are under way in workers' hands
    while (now := done(visit)) <= max(stopped, whole):
        visit.wait_until(lambda now=now: done(visit) > now)
    visit.press("Stop experiment")
    visit.wait_until(resume.is_enabled)

    visit.settled()  # the curves stand still
    points = visit.main.locator('[data-testid="stEChartsChart"] svg path[transform^="matrix("]')
    visit.wait_until(lambda: points.count() == 6)  # deformations 0, 5 … 25
    behind = visit.page.get_by_text(re.compile("Random points, noise 20.0, seed")).first

    def opened() -> bool:
        """A chart that is just being drawn anew takes no click: then a visitor clicks once more."""
        points.nth(4).click()
        with contextlib.suppress(TimeoutError):
            visit.wait_until(behind.is_visible, 15)
        return bool(behind.is_visible())

    visit.wait_until(opened)

    visit.unfold("Report and tables")
    visit.settled()  # what is unfolded is drawn anew, and takes no click meanwhile
    asked, report = visit.main.get_by_text("Read the report here"), visit.main.frame_locator("iframe").last
    asked.click()
    heading = report.get_by_role("heading", name="How it was made")
    refused = visit.main.get_by_text(re.compile("please try again|This took longer"))

    def drawn() -> bool:
        """A busy server refuses to draw it, in a sentence: then a visitor asks once more."""
        if refused.count():
            asked.click()
            visit.settled()
            asked.click()
            visit.settled()
        return bool(heading.count())

    visit.wait_until(drawn)
    assert report.locator("img").count() >= 4

    visit.main.get_by_role("button", name="Open pair", exact=True).first.click()
    visit.ready()
    visit.wait_until(lambda: "data=random" in visit.page.url and "data.noise=20.0" in visit.page.url)
    visit.says(re.compile("Random points, 15 and 20"))
    visit.says(re.compile("· run 1$"))  # which is begun by itself
    assert not visit.errors
    visit.close()


def test_the_public_benchmark_shows_where_we_stand(browser, server):
    visit = Visit(browser, server.url + "/experiments")
    visit.says("The paper's experiments, run again")
    visit.choose("Experiment", "The public benchmark gmbench")
    visit.says("154/154")
    profile = visit.main.locator("img").last
    visit.wait_until(lambda: profile.evaluate("image => image.complete && image.naturalWidth > 300"))
    assert not visit.errors
    visit.close()
