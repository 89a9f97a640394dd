"""Two photographs.

SIFT points on both, the model for photographs, ADGM, and a map that checks the result. With your own pictures this is
`match("left.jpg", "right.jpg")`; here it is a photograph that comes with the package, and its turned copy.
"""

# %%
# What the map rejects is drawn as such.
from features import match
from features.recipe import Recipe

found = match(Recipe("portrait", model="photo", points="sift", point_params={"left": 150, "right": 150}))
found

# %%
# Every match has a confidence. Keep those that you want to rely on:
sure = found.pairs[found.confidence > 0.9]
print(len(sure), "of", len(found.pairs), "matches have a confidence above 0.9")
print(found.verification.verdict)
