"""From pixels to potentials: images, keypoints, graphs, models and data sets, ending in an `adgm.Problem`."""
