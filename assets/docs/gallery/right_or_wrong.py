"""Does a model tell right from wrong?

Before any solver runs: what does the model charge for edges that are laid right, and for others? Where the two overlap,
no method can help.
"""

# %%
# Model B compares lengths of edges; points moved by 2 px, then by 15 px.
import numpy as np
from matplotlib.figure import Figure

from features.explain.separation import separations
from features.recipe import Recipe

figure = Figure(figsize=(8, 3), layout="constrained")
for axes, noise in zip(figure.subplots(1, 2), (2.0, 15.0), strict=True):
    recipe = Recipe("random", {"inliers": 20, "noise": noise}, model="B")
    part = separations(recipe, recipe.pair())[0]
    width = np.diff(part.edges)
    for counts, colour, label in ((part.right, "#009E73", "right"), (part.wrong, "#D55E00", "wrong")):
        axes.bar(part.edges[:-1], counts / counts.sum(), width, align="edge", alpha=0.6, color=colour, label=label)
    axes.set_title(f"noise {noise:g} px: AUC {part.auc:.2f}")
    axes.set_xlabel("cost of an edge")
    axes.legend(frameon=False)
figure

# %%
print(part.verdict)
