"""Slides: ``bertcourse slides 01`` writes a reveal.js deck from a lecture's notebook and its stored outputs.

``outline`` decides which cells are shown and where a slide begins: by the notebook's marks, or by a rule where it has
none. ``markup`` turns Markdown and code into HTML. ``layout`` turns the cells into blocks and divides these into slides
that fit. ``argument`` says which of them say nothing. ``deck`` writes one HTML file that opens from disk, requests
nothing from any other host, and contains speaker notes and live figures.

reveal.js and the fonts are in the folder vendor, as their makers publish them: from reveal.js 6.0.2 the script, its
style sheet and the speaker view, 240 KB of 3.2 MB; from Source Sans 3 and Source Code Pro (@fontsource 5.3.1) the Latin
files, 60 KB. A package on PyPI that includes reveal.js (sphinx-revealjs 3.2.1, 5.6 MB) is an extension of another tool,
whose versions it would tie to ours.
"""

from bertcourse_slides.deck import find_lecture, review, write_deck

__all__ = ["find_lecture", "review", "write_deck"]
