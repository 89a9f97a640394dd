"""From pixels to points: images, detectors, descriptors, graphs over points."""
