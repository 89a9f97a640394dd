"""In a real browser: a model is fitted on the Debug page, used on Match, and both runs go into a report."""

import re

import pytest

from experiments.tools.browser import Visit, serving
from features.recipe import Recipe

pytestmark = pytest.mark.browser
BAD = "data=random&data.inliers=8&data.outliers=6&data.noise=8.0&model=B&model.sigma2=1.0"


def percent(visit: Visit, label: re.Pattern[str]) -> tuple[float, str]:
    """A metric's value, and how it changed."""
    metric = visit.main.get_by_test_id("stMetric").filter(has_text=label)
    value = metric.get_by_test_id("stMetricValue").inner_text()
    return float(value.strip("% \n")), metric.get_by_test_id("stMetricDelta").inner_text()


@pytest.mark.long
def test_a_fit_improves_unseen_pairs_is_used_on_match_and_reported(browser, tmp_path):
    with serving() as server:
        visit = Visit(browser, f"{server.url}/?{BAD}&run=1")
        visit.finish()
        visit.press("Why? Open in Debug")
        visit.says(re.compile("terms differ|Ledger"))
        visit.settled()
        visit.main.get_by_role("radio", name="Fit").click()
        visit.settled()
        visit.press("Fit the model")
        visit.main.get_by_role("button", name="Use it on Match").wait_for()
        right, change = percent(visit, re.compile("test pairs"))
        gained = re.search(r"\+([\d.]+) points", change)
        assert right > 50 and gained is not None and float(gained[1]) > 20
        visit.press("Use it on Match")
        visit.ready()
        visit.wait_until(lambda: "sigma2" in visit.page.url and "sigma2=1.0" not in visit.page.url)
        words = dict(word.split("=") for word in visit.page.url.partition("?")[2].split("&"))
        assert Recipe.from_query(words).model_params["sigma2"] > 10
        visit.press("Start")
        visit.finish(2)
        visit.press("Why? Open in Debug")
        visit.says(re.compile("terms differ|Ledger"))
        visit.settled()
        visit.main.get_by_role("radio", name="Runs").click()
        visit.settled()
        visit.press("Report on 2 runs (HTML)")
        with visit.page.expect_download() as saved:
            visit.press("Save the report")
        saved.value.save_as(tmp_path / "report.html")
        report = browser.new_page()
        report.goto((tmp_path / "report.html").as_uri())
        assert report.locator("section").count() == 2
        pictures = report.locator("img").evaluate_all("images => images.map(image => image.complete && image.width)")
        assert len(pictures) == 4 and all(width > 300 for width in pictures)
        report.close()
        visit.close()
        assert not visit.errors
