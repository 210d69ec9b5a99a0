"""Views of a run: graph, timeline, inspector, documents.

The views read traces and know no engine. Modules are imported by their full name:
Only `live` loads anywidget, and only `figures` matplotlib.
"""
