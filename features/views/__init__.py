"""Several views: from images or point sets to tracks (`match_views`), step by step (`ViewsRun`), and their files."""

from features.views.found import Views
from features.views.matching import match_views
from features.views.recipe import ViewsRecipe
from features.views.run import Step, ViewsRun
from features.views.sets import VIEW_SETS
from features.views.view_set import ViewSet

__all__ = ["VIEW_SETS", "Step", "ViewSet", "Views", "ViewsRecipe", "ViewsRun", "match_views"]
