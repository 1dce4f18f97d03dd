"""How the unigram model cuts a word: a walk through the lattice of all its segmentations."""

from collections.abc import Mapping, Sequence

from bertcourse_figures.interactive import Figure, place_of, significant
from bertcourse_figures.schematic import Schematic, paint, short, signed

MOST_LETTERS = 16

Edge = tuple[int, int, str, float]  # the nodes that a token joins, the token, its log-probability


def explore_lattice(
    word: str, edges: Sequence[Edge], best: Sequence[float], paths: Mapping[str, Sequence[str]], start: str = ""
) -> Figure:
    """Walk a word's lattice from left to right, edge by edge, with a running sum of the log-probabilities.

    An edge is a bar from the node where its token begins to the node where it ends. On demand, the score of the best
    path to each node is shown under it; with these scores, Viterbi finds the best path to the end.

    Args:
        word: at most 16 characters.
        edges: (start, end, token, log-probability) of each token that fits between two nodes.
        best: for each node, the log-probability of the best path to it.
        paths: segmentations to choose from, by name, each as its tokens; the first is the most probable one.
        start: the path that is drawn at first; "" for none.

    Raises:
        ValueError: the word is too long or empty, a path is no segmentation of it, or there is no such start.

    Source: Kudo 2018, "Subword Regularization", section 3.
    """
    if not 1 <= len(word) <= MOST_LETTERS:
        raise ValueError(f"the word must have 1 to {MOST_LETTERS} characters; got {word!r}, of {len(word)}.")
    edges = [tuple(edge) for edge in edges]
    walks = {name: walk_of(tokens, edges) for name, tokens in paths.items()}
    data = {
        "word": word,
        "edges": [[start, end, token] for start, end, token, _ in edges],
        "lanes": lanes(edges),
        "scores": significant([log_prob for *_, log_prob in edges], 7, "log-probabilities"),
        "best": significant(best, 7, "scores"),
        "paths": [[name, [edges.index(edge) for edge in walk]] for name, walk in walks.items()],
        "start": place_of(start, ["", *paths], "start"),
    }
    said = [f"{name}: {' '.join(paths[name])} {score_of(walk)}" for name, walk in walks.items()]
    told = f"Lattice of {word}: {len(word) + 1} nodes, {len(edges)} tokens that fit between two of them. "
    told += "; ".join(said) + "."
    return Figure(draw(word, edges, next(iter(walks.values())), told), told, "lattice", data)


def walk_of(tokens: Sequence[str], edges: Sequence[Edge]) -> list[Edge]:
    """The edges of a segmentation.

    >>> walk_of(["a", "bc"], [(0, 1, "a", -1.0), (1, 2, "b", -1.0), (1, 3, "bc", -2.0)])
    [(0, 1, 'a', -1.0), (1, 3, 'bc', -2.0)]
    """
    walk: list[Edge] = []
    for token in tokens:
        place = walk[-1][1] if walk else 0
        fitting = [edge for edge in edges if edge[0] == place and edge[2] == token]
        if not fitting:
            raise ValueError(f"a path must be made of edges; none is {token!r} from node {place} on.")
        walk += fitting
    return walk


def lanes(edges: Sequence[Edge]) -> list[int]:
    """How high each edge is drawn, so that no two overlap: short ones lowest.

    >>> lanes([(0, 1, "a", -1.0), (1, 2, "b", -1.0), (0, 2, "ab", -1.0)])
    [0, 0, 1]
    """
    filled: list[list[Edge]] = []
    found = {}
    for edge in sorted(edges, key=lambda edge: (edge[1] - edge[0], edge[0])):
        free = (i for i, others in enumerate(filled) if all(edge[0] >= o[1] or edge[1] <= o[0] for o in others))
        lane = next(free, len(filled))
        if lane == len(filled):
            filled.append([])
        filled[lane].append(edge)
        found[edge] = lane
    return [found[edge] for edge in edges]


def score_of(path: Sequence[Edge]) -> str:
    """The log-probability of a segmentation, as it is printed."""
    return signed(sum(log_prob for *_, log_prob in path), ".2f")


def draw(word: str, edges: Sequence[Edge], best: Sequence[Edge], told: str) -> Schematic:
    """The still picture: a node between any two characters, a bar for each token, the best path in orange.

    Args:
        word: the word.
        edges: the tokens that fit.
        best: those of the best segmentation.
        told: what the picture shows.
    """
    step, heights = 680 / len(word), lanes(edges)
    floor = 14 + 42 * (max(heights) + 1)
    figure = Schematic(740, floor + 48, told, size=min(15, 0.3 * step))
    for place in range(len(word) + 1):
        x = 30 + place * step
        through = {lane for (start, end, *_), lane in zip(edges, heights, strict=True) if start < place < end}
        free = [floor - 14 - 42 * (lane + 1) + 4 for lane in range(max(heights) + 1) if lane not in through]
        lines = "".join(f"M{short(x)} {top}v42" for top in free)
        figure.put(f'<path d="{lines}M{short(x)} {floor - 10}v10" stroke="{paint("line")}" stroke-width="1"/>')
        figure.box(x - 5, floor - 5, 10, 10, color="none", fill="ink", corner=5, opacity=1)
    for edge, lane in zip(edges, heights, strict=True):
        start, end, token, log_prob = edge
        color, fill, line = ("hot", "hot", 2.4) if edge in best else ("soft", "panel", 1)
        left, top = 30 + start * step + 3, floor - 14 - 42 * (lane + 1) + 6
        label = f"{token}\n{signed(log_prob, '.1f')}"
        wide = (end - start) * step - 6
        figure.box(left, top, wide, 38, label, color, fill, line=line)
    for place, letter in enumerate(word):
        figure.text((30 + (place + 0.5) * step, floor + 26), letter, "code", size=20)
    return figure
