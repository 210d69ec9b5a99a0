"""SVG pictures of runs, for readers without scripts."""
