"""How a word is cut, to be walked: the lattice of the unigram model, and the trie of WordPiece's longest match."""

from collections.abc import Collection, Sequence

from bertcourse.figures.interactive import Figure, show_steps, significant
from bertcourse.figures.schematic import Schematic, paint, short, signed
from bertcourse.tokenization.unigram import Edge, Lattice

MOST_LETTERS = 16


def explore_lattice(lattice: Lattice) -> Figure:
    """Walk a word's lattice from left to right, arc by arc; the sum of the log-probabilities goes along.

    Under each dot stands the score of the best way to it, by which Viterbi finds the best way to the end.

    Args:
        lattice: of a word of at most 16 characters, each of which some token covers.

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
    ways = {"most probable": lattice.best_path(), "longest first": longest_first(edges, len(word))}
    data = {
        "word": word,
        "edges": [[edge.start, edge.end, edge.token] for edge in edges],
        "scores": significant([edge.log_prob for edge in edges], 7, "log-probabilities"),
        "best": significant(best, 7, "scores"),
        "ways": [[name, [edges.index(edge) for edge in way]] for name, way in ways.items()],
    }
    said = [f"{name}: {' '.join(e.token for e in way)} {score_of(way)}" for name, way in ways.items()]
    told = f"Lattice of {word}: {len(word) + 1} dots, {len(edges)} tokens that fit between two of them. "
    told += "; ".join(said) + "."
    return Figure(draw(word, edges, ways["most probable"], told), told, "lattice", data)


def score_of(way: Sequence[Edge]) -> str:
    """The log-probability of a segmentation, as it is written."""
    return signed(sum(edge.log_prob for edge in way), ".2f")


def best_scores(lattice: Lattice) -> list[float]:
    """For each dot the log-probability of the best way to it."""
    best = [0.0]
    for edges in lattice.edges_to[1:]:
        best.append(max(best[edge.start] + edge.log_prob for edge in edges))
    return best


def longest_first(edges: Sequence[Edge], length: int) -> list[Edge]:
    """From the left, the longest arc that starts at each dot that is reached."""
    way: list[Edge] = []
    while (place := way[-1].end if way else 0) < length:
        way.append(max((edge for edge in edges if edge.start == place), key=lambda edge: edge.end))
    return way


def draw(word: str, edges: Sequence[Edge], best: Sequence[Edge], told: str) -> Schematic:
    """The still picture: a dot between any two characters, an arc for each token, the best way thick.

    Args:
        word: its characters.
        edges: the tokens that fit.
        best: those of the best segmentation.
        told: what the picture shows.
    """
    step = 680 / len(word)
    highest = max(edge.end - edge.start for edge in edges)
    rise = min(0.45 * step, 230 / highest)
    floor = 24 + rise * highest
    figure = Schematic(740, round(floor + 44), told, size=12)
    for edge in sorted(edges, key=lambda edge: edge in best):
        reach, color = edge.end - edge.start, "hot" if edge in best else "plus"
        start, end = (short(30 + place * step) for place in (edge.start, edge.end))
        radii = f"{short(reach * step / 2)} {short(rise * reach)}"
        arc = f"M{start} {short(floor)}A{radii} 0 0 1 {end} {short(floor)}"
        width = 2.6 if edge in best else 1.1
        figure.put(f'<path d="{arc}" fill="none" stroke="{paint(color)}" stroke-width="{width}"/>')
        middle = (30 + (edge.start + edge.end) * step / 2, floor - rise * reach)
        label = f"{edge.token} {signed(edge.log_prob, '.1f')}"
        figure.box(middle[0] - 3.6 * len(label), middle[1] - 9, 7.2 * len(label), 18, "", "none", "paper", corner=2)
        figure.text(middle, label, color=color)
    for place in range(len(word) + 1):
        figure.box(30 + place * step - 4, floor - 4, 8, 8, color="none", fill="ink", corner=4, opacity=1)
    for place, letter in enumerate(word):
        figure.text((30 + (place + 0.5) * step, floor + 20), letter, "code", size=16)
    return figure


def trie_walk(word: str, vocabulary: Collection[str], inside: str = "##") -> Figure:
    """Step through the longest match: letter by letter as far as some token goes on, then back to the longest token.

    A ring marks a beginning that is a token itself; what is taken is filled. The vocabulary, laid out so that tokens
    share their beginnings, is a trie.

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
    taken = [token for _, _, token, _ in walks]
    told = f"WordPiece cuts {word}: {', '.join(token or 'nothing fits, so [UNK]' for token in taken)}. "
    told += " ".join(caption_of(word, walk, inside) for walk in walks)
    alt = f"The word {word} is cut into {' '.join(token or '[UNK]' for token in taken)}, a row for each piece."
    forms = []
    for width in (740, 360):
        left = 70
        cell = min(46.0, (width - left - 8) / len(word))
        figure = Schematic(width, 52 + 44 * len(walks), alt, size=13)
        for place, letter in enumerate(word):
            figure.text((left + (place + 0.5) * cell, 18), letter, "code", size=min(18, 0.62 * cell))
        for row, walk in enumerate(walks):
            figure.step(caption_of(word, walk, inside))
            draw_walk(figure, word, walk, left, 36 + 44 * row, cell)
        forms.append(figure)
    forms[0].narrow = forms[1]
    return show_steps(forms[0], told)


def longest_matches(word: str, vocabulary: Collection[str], inside: str) -> list[tuple[int, int, str, list[int]]]:
    """For each piece: where it begins, how far some token goes on, the token that is taken, and where tokens end.

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


def caption_of(word: str, walk: tuple[int, int, str, list[int]], inside: str) -> str:
    """What happens in one walk, in words."""
    start, reached, token, _ = walk
    prefix = inside if start else ""
    far = f"Tokens begin with {prefix}{word[start:reached]}" if reached > start else "No token begins so"
    stop = f", none with {prefix}{word[start : reached + 1]}" if reached < len(word) else ", and the word ends"
    if not token:
        return f"{far}{stop}. No token on the way: the whole word becomes [UNK]."
    return f"{far}{stop}. The longest token on the way is {token}."


def draw_walk(
    figure: Schematic, word: str, walk: tuple[int, int, str, list[int]], left: float, top: float, cell: float
) -> None:
    """A row: a box for each letter walked, a ring where a token ends, a cross where no token goes on."""
    start, reached, token, ends = walk
    size = min(15, 0.6 * cell)
    figure.text((left + start * cell - 8, top + 14), token or "[UNK]", "bold", "value" if token else "hot", "end", 13)
    for place in range(start, reached):
        x = left + place * cell
        is_taken, is_token = bool(ends) and place < ends[-1], place + 1 in ends
        color, fill = ("value" if is_token else "line"), ("value" if is_taken else "none")
        figure.box(x + 2, top, cell - 4, 28, "", color, fill, corner=6, line=2.4 if is_token else 1.2, opacity=0.22)
        figure.text((x + cell / 2, top + 14), word[place], "code", "ink" if is_taken else "soft", size=size)
    if reached < len(word):
        figure.text((left + (reached + 0.5) * cell, top + 14), "×", "bold", "hot", size=size + 2)
