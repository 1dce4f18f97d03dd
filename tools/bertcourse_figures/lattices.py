"""How a word is cut, as a walk: through the unigram model's lattice, and the trie of WordPiece's longest match."""

from collections.abc import Collection, Sequence

from bertcourse.tokenization.unigram import Edge, Lattice
from bertcourse_figures.interactive import Figure, data_uri, place_of, significant
from bertcourse_figures.schematic import NARROW, WIDE, Schematic, paint, short, signed

MOST_LETTERS = 16


def explore_lattice(lattice: Lattice, start: str = "") -> Figure:
    """Walk a word's lattice from left to right, edge by edge, with a running sum of the log-probabilities.

    An edge is a bar from the node where its token begins to the node where it ends. On demand, the score of the best
    path to each node is shown under it; with these scores, Viterbi finds the best path to the end.

    Args:
        lattice: of a word of at most 16 characters, each of which some token covers.
        start: the path that is drawn at first, "most probable" or "longest first"; "" for none.

    Raises:
        ValueError: the word is too long, empty, or has a character that no token covers.

    Source: Kudo 2018, "Subword Regularization", section 3.
    """
    word, edges = lattice.word, lattice.edges
    if not 1 <= len(word) <= MOST_LETTERS or any(edge.token is None for edge in edges):
        raise ValueError(
            f"the word must have 1 to {MOST_LETTERS} characters, all of them in tokens; got {word!r}, of {len(word)}."
        )
    best = best_scores(lattice)
    paths = {"most probable": lattice.best_path(), "longest first": longest_first(edges, len(word))}
    data = {
        "word": word,
        "edges": [[edge.start, edge.end, edge.token] for edge in edges],
        "lanes": lanes(edges),
        "scores": significant([edge.log_prob for edge in edges], 7, "log-probabilities"),
        "best": significant(best, 7, "scores"),
        "paths": [[name, [edges.index(edge) for edge in path]] for name, path in paths.items()],
        "start": place_of(start, ["", *paths], "start"),
    }
    said = [f"{name}: {' '.join(e.token for e in path)} {score_of(path)}" for name, path in paths.items()]
    told = f"Lattice of {word}: {len(word) + 1} nodes, {len(edges)} tokens that fit between two of them. "
    told += "; ".join(said) + "."
    return Figure(draw(word, edges, paths["most probable"], told), told, "lattice", data)


def lanes(edges: Sequence[Edge]) -> list[int]:
    """How high each edge is drawn, so that no two overlap: short ones lowest.

    >>> lanes([Edge(0, 1, "a", -1.0), Edge(1, 2, "b", -1.0), Edge(0, 2, "ab", -1.0)])
    [0, 0, 1]
    """
    filled: list[list[Edge]] = []
    found = {}
    for edge in sorted(edges, key=lambda edge: (edge.end - edge.start, edge.start)):
        lane = next(
            (i for i, others in enumerate(filled) if all(edge.start >= o.end or edge.end <= o.start for o in others)),
            len(filled),
        )
        if lane == len(filled):
            filled.append([])
        filled[lane].append(edge)
        found[edge] = lane
    return [found[edge] for edge in edges]


def score_of(path: Sequence[Edge]) -> str:
    """The log-probability of a segmentation, as it is printed."""
    return signed(sum(edge.log_prob for edge in path), ".2f")


def best_scores(lattice: Lattice) -> list[float]:
    """For each node, the log-probability of the best path to it."""
    best = [0.0]
    for edges in lattice.edges_to[1:]:
        best.append(max(best[edge.start] + edge.log_prob for edge in edges))
    return best


def longest_first(edges: Sequence[Edge], length: int) -> list[Edge]:
    """The path from the left that always takes the longest edge from the node it has reached."""
    path: list[Edge] = []
    while (place := path[-1].end if path else 0) < length:
        path.append(max((edge for edge in edges if edge.start == place), key=lambda edge: edge.end))
    return path


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
        through = {lane for edge, lane in zip(edges, heights, strict=True) if edge.start < place < edge.end}
        free = [floor - 14 - 42 * (lane + 1) + 4 for lane in range(max(heights) + 1) if lane not in through]
        lines = "".join(f"M{short(x)} {top}v42" for top in free)
        figure.put(f'<path d="{lines}M{short(x)} {floor - 10}v10" stroke="{paint("line")}" stroke-width="1"/>')
        figure.box(x - 5, floor - 5, 10, 10, color="none", fill="ink", corner=5, opacity=1)
    for edge, lane in zip(edges, heights, strict=True):
        color, fill, line = ("hot", "hot", 2.4) if edge in best else ("soft", "panel", 1)
        left, top = 30 + edge.start * step + 3, floor - 14 - 42 * (lane + 1) + 6
        label = f"{edge.token}\n{signed(edge.log_prob, '.1f')}"
        wide = (edge.end - edge.start) * step - 6
        figure.box(left, top, wide, 38, label, color, fill, line=line)
    for place, letter in enumerate(word):
        figure.text((30 + (place + 0.5) * step, floor + 26), letter, "code", size=20)
    return figure


def trie_walk(word: str, vocabulary: Collection[str], inside: str = "##") -> Figure:
    """Step through the longest match: letter by letter as far as any token goes, then back to the longest token.

    A thick border marks a prefix that is itself a token; the token that is taken is filled. Where the walk ends, a
    branch shows a token that continues differently: the vocabulary, laid out so that tokens share prefixes, is a trie.

    Args:
        word: normalized.
        vocabulary: the tokens.
        inside: what tokens inside a word begin with.

    Raises:
        ValueError: the word is too long to be drawn, or empty.

    Source: Wu et al. 2016; the walk is that of Song et al. 2021, "Fast WordPiece Tokenization", section 2.
    """
    if not 1 <= len(word) <= MOST_LETTERS:
        raise ValueError(f"the word must have 1 to {MOST_LETTERS} letters to be drawn; got {word!r}, of {len(word)}.")
    walks = longest_matches(word, vocabulary, inside)
    branches = [branch(word, walk, vocabulary, inside) for walk in walks]
    told = f"WordPiece cuts {word}: {', '.join(walk[2] or 'nothing fits, so [UNK]' for walk in walks)}. "
    captions = [caption_of(word, walk, other, inside) for walk, other in zip(walks, branches, strict=True)]
    told += " ".join(captions)
    alt = f"The word {word} is cut into {' '.join(walk[2] or '[UNK]' for walk in walks)}, a row for each piece."
    forms = []
    for width in (WIDE, NARROW):
        left = 92 if width == WIDE else 70
        cell = min(46.0, (width - left - 8) / len(word))
        tops = [40.0]
        for other in branches:
            tops.append(tops[-1] + (82 if other else 50))
        figure = Schematic(width, round(tops[-1] + (34 if width == WIDE else 72)), alt, size=14)
        for place, letter in enumerate(word):
            figure.text((left + (place + 0.5) * cell, 18), letter, "code", size=min(20, 0.7 * cell))
        draw_legend(figure, tops[-1] + 10, width)
        for walk, other, caption, top in zip(walks, branches, captions, tops):
            figure.step(caption)
            draw_walk(figure, word, walk, other, left, top, cell)
        forms.append(figure)
    data = {"captions": captions, "narrow": data_uri(forms[1]), "start": 1}
    return Figure(forms[0], told, "steps", data)


def branch(word: str, walk: tuple[int, int, str, list[int]], vocabulary: Collection[str], inside: str) -> str:
    """The shortest token that departs from the word where the walk ends, alphabetically the first; "" for none.

    >>> branch("unfit", (0, 3, "un", [2]), ["un", "unfair", "unfold"], "##")
    'unfair'
    """
    start, reached, _, _ = walk
    if reached in (start, len(word)):
        return ""
    walked = (inside if start else "") + word[start:reached]
    others = [token for token in vocabulary if token.startswith(walked) and token != walked]
    return min(others, key=lambda token: (len(token), token), default="")


def longest_matches(word: str, vocabulary: Collection[str], inside: str) -> list[tuple[int, int, str, list[int]]]:
    """For each piece: where it begins, how far some token reaches, the token that is taken, and where tokens end.

    The token is "" where none fits, which ends the word.

    >>> longest_matches("unfit", {"un", "unfair", "##f", "##fit"}, "##")
    [(0, 3, 'un', [2]), (2, 5, '##fit', [3, 5])]
    """
    beginnings = {token[:end] for token in vocabulary for end in range(1, len(token) + 1)}
    walks, start = [], 0
    while start < len(word):
        prefix, reached = inside if start else "", start
        while reached < len(word) and prefix + word[start : reached + 1] in beginnings:
            reached += 1
        ends = [end for end in range(start + 1, reached + 1) if prefix + word[start:end] in vocabulary]
        walks.append((start, reached, prefix + word[start : ends[-1]] if ends else "", ends))
        if not ends:
            break
        start = ends[-1]
    return walks


def caption_of(word: str, walk: tuple[int, int, str, list[int]], other: str, inside: str) -> str:
    """What happens in one walk, in words."""
    start, reached, token, _ = walk
    prefix = inside if start else ""
    such = f" (such as {other})" if other else ""
    far = f"Tokens begin with {prefix}{word[start:reached]}{such}" if reached > start else "No token begins so"
    stop = f", none with {prefix}{word[start : reached + 1]}" if reached < len(word) else ", and the word ends"
    if not token:
        return f"{far}{stop}. No token on the path: the whole word becomes [UNK]."
    return f"{far}{stop}. The longest token on the path is {token}."


def draw_walk(
    figure: Schematic,
    word: str,
    walk: tuple[int, int, str, list[int]],
    other: str,
    left: float,
    top: float,
    cell: float,
) -> None:
    """Draw a row: a box for each letter walked, a cross where no token goes on, and below it the branch not taken.

    Args:
        figure: the drawing to add to.
        word, walk: as in ``longest_matches``.
        other: a token that continues differently, or "".
        left, top: the row's corner.
        cell: a letter's width.
    """
    start, reached, token, ends = walk
    size = min(18, 0.66 * cell)
    where = (left + start * cell - 8, top + 16)
    figure.text(where, token or "[UNK]", "bold", "value" if token else "hot", "end", min(16, 0.6 * cell + 3))
    for place in range(start, reached):
        x = left + place * cell
        is_taken, is_token = bool(ends) and place < ends[-1], place + 1 in ends
        color, fill = ("value" if is_token else "soft"), ("value" if is_taken else "none")
        figure.box(x + 2, top, cell - 4, 32, "", color, fill, corner=6, line=3 if is_token else 1.2, opacity=0.22)
        figure.text((x + cell / 2, top + 16), word[place], "code", "ink", size=size)
    if reached < len(word):
        figure.text((left + (reached + 0.5) * cell, top + 16), "×", "bold", "hot", size=size + 6)
    if not other:
        return
    known = reached - start + (len(other) - len(other.lstrip("#")) if start else 0)
    rest = other[known:]
    joint, y = left + reached * cell - cell / 2, top + 58
    figure.arrow((joint, top + 32), (joint, y), (joint + cell / 2 + 2, y), head=False, width=1.2)
    x = left + reached * cell
    for letter in rest:
        figure.box(x + 2, y - 13, cell - 4, 26, "", "line", "none", corner=6, line=1.2)
        figure.text((x + cell / 2, y), letter, "code", "soft", size=0.85 * size)
        x += cell
    figure.text((x + 8, y), other, color="soft", anchor="start", size=min(14, 0.5 * cell + 3))


def draw_legend(figure: Schematic, top: float, width: int) -> None:
    """Draw the legend: what filled, thick, white and × mean."""
    signs = ["taken", "a token ends here", "walked in vain", "no token goes on"]
    x, y = 10.0, top + 8
    for number, text in enumerate(signs):
        if number == 3:
            figure.text((x + 9, y), "×", "bold", "hot", size=20)
        else:
            color, fill = ("value" if number == 1 else "soft"), ("value" if number == 0 else "none")
            figure.box(x, y - 9, 18, 18, "", color, fill, corner=4, line=3 if number == 1 else 1.2, opacity=0.22)
        figure.text((x + 25, y), text, anchor="start", color="soft", size=14)
        x += 42 + 7.4 * len(text)
        if width < 400 and number == 1:
            x, y = 10.0, y + 26
