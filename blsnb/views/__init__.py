"""What a reader sees of a run: graph, timeline, inspector, documents.

The views read traces and know no engine. Modules are imported by their full name:
`live` needs anywidget and `figures` matplotlib, which nobody else pays for.
"""
