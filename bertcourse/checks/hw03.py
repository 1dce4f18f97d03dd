"""Homework 3: BPE, WordPiece, the fewest pieces, normalization, and what a language pays."""

from collections import Counter

from bertcourse.checks.drawing import Drawing
from bertcourse.checks.engine import Answer, Call, exercise
from bertcourse.datasets.data import course_file, parallel_sentences

PAIR_AND_WORDS = "return the pair and the new spellings: return pair, merged"


@exercise("3.1", "bpe_step", points=3)
def bpe_step(answer: Answer) -> None:
    """The most frequent pair, ties by the alphabet, merged without overlap."""
    step = answer({("s", "e", "t"): 3, ("n", "e", "t"): 2, ("n", "e", "w"): 4, ("i", "t"): 1})
    step[0].is_a(tuple, PAIR_AND_WORDS).equals(
        ("n", "e"),
        "the pair that occurs most often",
        mistakes={"each pair counts as often as its word occurs: add the word's count, not 1": ("e", "t")},
    )
    step[1].is_a(dict, PAIR_AND_WORDS).equals(
        {("s", "e", "t"): 3, ("ne", "t"): 2, ("ne", "w"): 4, ("i", "t"): 1},
        "the pair becomes one symbol in every word, and the counts stay",
    )
    tie = answer({("b", "c"): 2, ("c", "d"): 2, ("a", "d"): 2, ("a", "c"): 2, ("d", "a"): 1})
    tie[0].equals(
        ("a", "c"),
        "of equally frequent pairs the one that comes first in alphabetical order",
        mistakes={
            "of equally frequent pairs not the one that is met first, but the first in alphabetical order": ("b", "c"),
            "of equally frequent pairs the first in alphabetical order, not the last": ("c", "d"),
        },
    )
    answer({("ab", "c"): 1, ("a", "z"): 1})[0].equals(
        ("a", "z"),
        "alphabetical order is that of tuples: first symbols first",
        mistakes={"compare the symbols, not the joined text: (a, z) comes before (ab, c)": ("ab", "c")},
    )
    tie[1].equals(
        {("b", "c"): 2, ("c", "d"): 2, ("a", "d"): 2, ("ac",): 2, ("d", "a"): 1}, "merge the pair that you return"
    )
    run = answer({("a", "a", "a"): 1, ("a", "a", "a", "a"): 1})
    run[0].equals(("a", "a"), "a pair may be of two equal symbols")
    run[1].equals(
        {("aa", "a"): 1, ("aa", "aa"): 1},
        "merge from the left, and do not use a symbol twice: a a a becomes aa a, a a a a becomes aa aa",
    )
    parts = answer({("bt", "e"): 1, ("t", "e"): 3, ("x", "t", "e"): 1})
    parts[0].equals(("t", "e"), "a pair is of two symbols")
    parts[1].equals(
        {("bt", "e"): 1, ("te",): 3, ("x", "te"): 1},
        "compare symbols, not text: in (bt, e) there is no pair (t, e)",
    )
    single = answer({("set",): 3, ("a",): 1})
    single[0].equals(None, "if no word has two symbols, there is no pair: None in its place")
    single[1].equals({("set",): 3, ("a",): 1}, "without a pair the spellings stay as they were")
    spellings, pairs = {tuple("_" + word): n for word, n in {"set": 1, "new": 2, "renew": 2, "reset": 1}.items()}, []
    for _ in range(8):
        step = answer(spellings)
        pairs.append(step[0].is_a(tuple).value)
        spellings = step[1].is_a(dict).value
    Call(answer, "eight steps, from _set, _new, _renew and _reset", pairs).equals_stored("eight", "step after step")


def share(tokens: list[tuple[str, ...]], wanted: str) -> float:
    """How many of the readings are so, written with spaces."""
    return Counter(" ".join(each) for each in tokens)[wanted] / len(tokens)


@exercise("3.2", "bpe_encode", points=3)
def bpe_encode(answer: Answer) -> None:
    """BPE without dropout; the shares of its readings with it."""
    merges = [("s", "e"), ("n", "e"), ("ne", "w"), ("r", "e"), ("re", "new"), ("se", "t"), ("o", "n")]
    plain = answer("renew", merges)
    plain.is_a(list, "return a list of tokens").holds(
        "the tokens spell the word", lambda tokens: "".join(tokens) == "renew", "no letter gets lost or comes twice"
    )
    plain.equals(["renew"], "what was merged can be merged again: go on until no known pair is left")
    answer("reset", merges).equals(["re", "set"], "merge again and again, until no known pair is left")
    answer("sene", [("e", "n"), ("s", "e"), ("n", "e")]).equals(
        ["s", "en", "e"],
        "of all pairs that stand there, the one that was learned first, not the one that stands first",
        mistakes={"not the leftmost pair: the one that was learned first": ["se", "ne"]},
    )
    answer("xyz", merges).equals(["x", "y", "z"], "letters that no merge knows stay as they are")
    answer("t", merges).equals(["t"], "a word of one letter is one token")
    answer("aaaaa", [("a", "a")]).equals(["aa", "aa", "a"], "of equal pairs the leftmost is merged first")
    every = answer("renew", merges, 1.0, 3)
    every.equals(["r", "e", "n", "e", "w"], "with a dropout of 1 every place is dropped, and the letters stay")
    cause = "make one generator from the seed, random.Random(seed), and draw from it alone"
    for seed in (1, 2, 3):
        first = answer("renewrenew", merges, 0.5, seed)
        answer("renewrenew", merges, 0.5, seed).equals(first.value, cause)
    readings = []
    for seed in range(2000):
        call = answer("abab", [("a", "b")], 0.3, seed)
        readings.append(tuple(call.is_a(list).value))
    call = Call(
        answer, "bpe_encode('abab', [('a', 'b')], dropout=0.3), with 2,000 seeds", Counter(map(" ".join, readings))
    )
    call.holds("different seeds give different tokens", lambda found: len(found) > 1, cause)
    call.holds(
        "all readings are a b a b, ab a b, a b ab or ab ab",
        lambda found: set(found) <= {"a b a b", "ab a b", "a b ab", "ab ab"},
        "drop places, not letters",
    )
    none, both = share(readings, "a b a b"), share(readings, "ab ab")
    call.holds(
        "about 9 % have no merge (0.3 × 0.3)",
        lambda _: abs(none - 0.09) < 0.035,
        "keep a place if random() >= dropout"
        if none > 0.4
        else "each place is dropped by itself, not each pair for the whole word; and if none is left, stop",
    )
    call.holds(
        "about 64 % have both merges: a place that was dropped in one step gets another chance in the next",
        lambda _: abs(both - 0.637) < 0.055,
        "draw anew for all places in each step, and go on as long as a place is left",
    )


@exercise("3.3", "wordpiece", points=3)
def wordpiece(answer: Answer) -> None:
    """Longest match with word numbers."""
    vocabulary = {"[UNK]", "uns", "unsee", "##een", "##n", "##s", "see", "s", "boy", "##boy", "a", "##a"}
    seen = answer(["a", "unseen", "boys", "boy"], vocabulary)
    both = "return two lists: tokens, word_ids"
    seen[0].is_a(list, both).equals(
        ["a", "unsee", "##n", "boy", "##s", "boy"],
        "each time the longest piece that the vocabulary has; inside a word it begins with ##",
        mistakes={
            "from the left the longest piece, not the shortest": ["a", "uns", "##een", "boy", "##s", "boy"],
            "pieces inside a word begin with ##": ["a", "[UNK]", "boy", "s", "boy"],
        },
    )
    seen[1].is_a(list, both).equals(
        [0, 1, 1, 2, 2, 3],
        "for each token the number of its word",
        mistakes={"count words from 0": [1, 2, 2, 3, 3, 4], "a number for each token, not for each word": [0, 1, 2, 3]},
    )
    lost = answer(["seex", "see", "xsee", "boysa"], vocabulary)
    lost[0].equals(
        ["[UNK]", "see", "[UNK]", "boy", "##s", "##a"],
        "a word that cannot be cut to its end is the single token [UNK]",
        mistakes={
            "forget the pieces of a word that cannot be cut to its end": [
                "see",
                "[UNK]",
                "see",
                "[UNK]",
                "boy",
                "##s",
                "##a",
            ],
            "a word that cannot be cut is not left out: it is [UNK]": ["see", "boy", "##s", "##a"],
        },
    )
    lost[1].equals([0, 1, 2, 3, 3, 3], "an unknown word has a number, too")
    long = answer(["aaaa", "aaaaa"], vocabulary, 4)
    long[0].equals(
        ["a", "##a", "##a", "##a", "[UNK]"],
        "a word of more than `longest` letters is [UNK]",
        mistakes={"a word of exactly `longest` letters is still cut": ["[UNK]", "[UNK]"]},
    )
    long[1].equals([0, 0, 0, 0, 1])
    again = answer(["boy", "boy", "x", "x"], vocabulary)
    again[0].equals(["boy", "boy", "[UNK]", "[UNK]"], "a word that occurs twice is cut twice")
    again[1].equals([0, 1, 2, 3], "a word that occurs twice has two numbers: use enumerate, not words.index")
    empty = answer([], vocabulary)
    empty[0].equals([], "no words, no tokens")
    empty[1].equals([], "no words, no numbers")
    real = set(course_file("checkpoints/course/vocab.txt").read_text(encoding="utf-8").splitlines())
    sentence = "queequeg unwillingly sharpened his harpoons on the pequod ☃ ."
    words = answer(sentence.split(), real)
    words[0].equals_stored("tokens", "with the course's own vocabulary")
    words[1].equals_stored("word numbers")


@exercise("3.4", "fewest_pieces", points=3)
def fewest_pieces(answer: Answer) -> None:
    """Any shortest segmentation."""

    def cut(word: str, vocabulary: set[str], number: int, cause: str) -> None:
        """It is cut into so many pieces."""
        call = answer(word, vocabulary)
        call.is_a(list, "return a list of pieces")
        call.holds("there is a way, and it is found", lambda pieces: pieces != ["[UNK]"], cause)
        call.holds(
            "there is a list, with something in it", lambda pieces: len(pieces) > 0, "the whole word can be a piece"
        )
        call.holds(
            "only pieces inside the word begin with ##",
            lambda pieces: not pieces[0].startswith("##") and all(piece.startswith("##") for piece in pieces[1:]),
            "the first piece has no ##, all others have: start > 0",
        )
        call.holds(
            "the pieces spell the word",
            lambda pieces: "".join(piece.removeprefix("##") for piece in pieces) == word,
            "each piece begins where the one before it ends",
        )
        call.holds(
            "all pieces are in the vocabulary", lambda pieces: set(pieces) <= vocabulary, "look pieces up with their ##"
        )
        call.holds(f"there are as few pieces as possible, {number} here", lambda pieces: len(pieces) == number, cause)

    cut("seen", {"s", "seen", "##e", "##n"}, 1, "of all ways the shortest: here the whole word is a piece")
    greedy = "the longest piece now is not always the shortest way: compare all ways to each place"
    cut("abcdef", {"abcd", "abc", "##def", "##e", "##f"}, 2, greedy)
    cut("abcdef", {"abcd", "ab", "##cdef", "##ef", "##g"}, 2, "of two ways the shorter one")
    cut(
        "abcde",
        {"abcd", "a", "##b", "##cde"},
        3,
        "where the longest piece leads nowhere, a shorter one may lead to the end",
    )
    cut("aaaaaaa", {"a", "##a", "##aa", "##aaa", "aa"}, 3, "2 + 3 + 2 or 1 + 3 + 3 letters")
    answer("seex", {"s", "see", "##e"}).equals(["[UNK]"], "if there is no way to the end, the word is [UNK]")
    answer("ex", {"##e", "x", "##x"}).equals(["[UNK]"], "a piece with ## cannot begin a word")
    answer("xx", {"x"}).equals(["[UNK]"], "a piece without ## cannot stand inside a word")
    real = set(course_file("checkpoints/course/vocab.txt").read_text(encoding="utf-8").splitlines())
    words = ["disagreeableness", "unwillingly", "queequeg", "misunderstanding", "harpooneers"]
    counts = [len(answer(word, real).is_a(list).value) for word in words]
    Call(answer, f"the course's vocabulary, numbers of pieces of {words}", counts).equals_stored("real words", greedy)


@exercise("3.5", "normalize", points=3)
def normalize(answer: Answer) -> None:
    """Accents, case, white space, punctuation."""
    answer("The cat").is_a(list, "return a list of words").equals(["the", "cat"], "lower case, cut at spaces")
    answer("Déjà vu Zoë ÅNGSTRÖM").equals(
        ["deja", "vu", "zoe", "angstrom"],
        "decompose with NFD and drop the marks, of category Mn",
        mistakes={
            "a letter with an accent keeps its letter: decompose it first, with NFD": ["dj", "vu", "zo", "ngstrm"],
            "drop the accents: decompose with NFD, then leave out what has category Mn": [
                "déjà",
                "vu",
                "zoë",
                "ångström",
            ],
        },
    )
    answer("Straße, Øre, ΑΛΦΑ").equals(
        ["straße", ",", "øre", ",", "αλφα"],
        "letters that are not made of a letter and a mark stay: ß, ø, Greek",
        mistakes={"lower(), not casefold(): ß stays ß": ["strasse", ",", "øre", ",", "αλφα"]},
    )
    answer("Don't stop-me, (now)!").equals(
        ["don", "'", "t", "stop", "-", "me", ",", "(", "now", ")", "!"],
        "each punctuation mark is a word of its own, also inside a word",
    )
    answer("wait... what?!").equals(
        ["wait", ".", ".", ".", "what", "?", "!"], "marks that follow each other are a word each"
    )
    answer("“no” — yes… ¿qué?").equals(
        ["“", "no", "”", "—", "yes", "…", "¿", "que", "?"],
        "punctuation is more than ASCII's: unicodedata.category(character) begins with P",
        mistakes={
            "NFD, not NFKD, which also takes … apart": ["“", "no", "”", "—", "yes", ".", ".", ".", "¿", "que", "?"]
        },
    )
    answer("$5 + x_1 = <y> ^ `z` | ~a").equals(
        ["$", "5", "+", "x", "_", "1", "=", "<", "y", ">", "^", "`", "z", "`", "|", "~", "a"],
        "nine characters of ASCII count as punctuation though Unicode calls them symbols: $ + < = > ^ ` | ~",
    )
    answer("3€ №5 x²").equals(
        ["3€", "№5", "x²"],
        "other symbols stay where they are",
        mistakes={
            "NFD, not NFKD, which also replaces № and ²": ["3€", "no5", "x2"],
            "only punctuation is set apart: not € and №": ["3", "€", "№", "5", "x²"],
        },
    )
    answer(" two\t words\n\u00a0here ").equals(
        ["two", "words", "here"], "all white space is alike: split() without argument"
    )
    answer("").equals([], "an empty text has no words")


@exercise("3.6", "plot_prices", points=3)
def plot_prices(answer: Answer) -> None:
    """The student's own figure: tokens per word against the size of the vocabulary."""
    vocabulary = course_file("checkpoints/course/vocab.txt").read_text(encoding="utf-8").splitlines()
    names = {"English": "en", "German": "de", "Finnish": "fi", "Turkish": "tr"}
    texts = {name: "\n".join(parallel_sentences()[code][:12]) for name, code in names.items()}
    sizes = [200, 1000, 8192]
    drawn = answer(texts, vocabulary, sizes)
    drawn.is_plot(4, "a line for each of texts", sizes, "size", "axes.plot(sizes, prices)")

    def prices(axes: Drawing) -> dict[str, list[float]]:
        """Language to its line, whose label names it: "English", or "English: 24 words"."""
        return {name: list(line.ys) for name in names for line in axes.lines if name in line.label}

    drawn.holds(
        "each line has its language for a label",
        lambda axes: set(names) == set(prices(axes)),
        "axes.plot(…, label=language)",
    )

    drawn.holds(
        "no line rises",
        lambda axes: all(line[0] >= line[1] >= line[2] for line in prices(axes).values()),
        "tokens divided by words, not the other way round",
    )
    drawn.holds(
        "no price is below 1 or above 8",
        lambda axes: all(1 <= y <= 8 for line in prices(axes).values() for y in line),
        "divide the number of tokens by the number of words, punctuation marks among them",
    )
    drawn.holds(
        "English costs hardly more than a token a word with all 8,192",
        lambda axes: prices(axes)["English"][2] < 1.25,
        "normalize the text first: the vocabulary has no capitals",
    )
    drawn.holds(
        "English costs more than three tokens a word with 200",
        lambda axes: prices(axes)["English"][0] > 3,
        "the first V lines of the vocabulary: vocabulary[:V]",
    )
    found = Call(answer, drawn.text, {name: sorted(line, reverse=True) for name, line in prices(drawn.value).items()})
    found.equals_stored(
        "prices",
        "a word that becomes [UNK] costs as many tokens as it has letters (Turkish and German have some)",
        tolerance=0.005,
    )
