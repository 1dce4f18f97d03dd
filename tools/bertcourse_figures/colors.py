"""The colours of the course, which colour-blind readers can tell apart."""

# Okabe & Ito 2008, "Color Universal Design", without its yellow, which is too pale for lines.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]
