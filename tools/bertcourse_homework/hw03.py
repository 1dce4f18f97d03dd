"""Homework 3: BPE, WordPiece, the fewest pieces, normalization, and what each language pays in tokens."""

from collections import Counter
from statistics import mean

from bertcourse.datasets.data import course_file, parallel_sentences
from bertcourse_homework.drawing import Drawing
from bertcourse_homework.engine import Answer, Call, exercise

ALL_THREE = "return the pair, the new spellings and the new counts: return pair, merged, updated"


@exercise("3.1", "bpe_step", points=3)
def bpe_step(answer: Answer) -> None:
    """The most frequent pair, ties broken alphabetically, merged without overlap, and only what changes counted."""
    before = {("s", "e"): 3, ("e", "t"): 5, ("n", "e"): 6, ("e", "w"): 4, ("i", "t"): 1, ("o", "n"): 5}
    step = answer({("s", "e", "t"): 3, ("n", "e", "t"): 2, ("n", "e", "w"): 4, ("i", "t"): 1}, before)
    step[0].is_a(tuple, ALL_THREE).equals(("n", "e"), "the pair that occurs most often")
    step[1].is_a(dict, ALL_THREE).equals(
        {("s", "e", "t"): 3, ("ne", "t"): 2, ("ne", "w"): 4, ("i", "t"): 1},
        "the pair becomes one symbol in every word, and the counts of words stay",
    )
    after = {("s", "e"): 3, ("e", "t"): 3, ("ne", "t"): 2, ("ne", "w"): 4, ("i", "t"): 1, ("o", "n"): 5}
    unseen = "the pairs of words that you do not see stay: change counts, do not count again"
    zeros = "a pair that no longer stands anywhere is left out"
    times = "a pair changes as often as its word occurs, not by 1"
    step[2].is_a(dict, ALL_THREE).equals(
        after,
        "the merged pair goes, and with it e t and e w at its right; ne t and ne w come",
        mistakes={
            unseen: {two: n for two, n in after.items() if two != ("o", "n")},
            zeros: after | {("n", "e"): 0, ("e", "w"): 0},
            times: before | {("e", "t"): 4, ("n", "e"): 4, ("e", "w"): 3, ("ne", "t"): 1, ("ne", "w"): 1},
            "the merge also takes the pairs beside it apart: e t and e w": before
            | {("ne", "t"): 2, ("ne", "w"): 4, ("n", "e"): 0},
            "the merge also makes new pairs: ne t and ne w": {two: n for two, n in after.items() if two[0] != "ne"},
        },
    )
    tied = {("b", "c"): 2, ("c", "d"): 2, ("a", "d"): 2, ("a", "c"): 2, ("d", "a"): 1}
    tie = answer(tied, dict(tied))
    tie[0].equals(
        ("a", "c"),
        "of equally frequent pairs the one that comes first in alphabetical order",
        mistakes={
            "of equally frequent pairs not the one that is met first, but the first in alphabetical order": ("b", "c"),
            "of equally frequent pairs the first in alphabetical order, not the last": ("c", "d"),
        },
    )
    answer({("ab", "c"): 1, ("a", "z"): 1}, {("ab", "c"): 1, ("a", "z"): 1})[0].equals(
        ("a", "z"),
        "alphabetical order is that of tuples: first symbols first",
        mistakes={"compare the symbols, not the joined text: (a, z) comes before (ab, c)": ("ab", "c")},
    )
    tie[1].equals(
        {("b", "c"): 2, ("c", "d"): 2, ("a", "d"): 2, ("ac",): 2, ("d", "a"): 1}, "merge the pair that you return"
    )
    run = answer({("a", "a", "a"): 1, ("b", "a", "a", "a", "a"): 1}, {("a", "a"): 5, ("b", "a"): 1})
    run[0].equals(("a", "a"), "a pair may be of two equal symbols")
    run[1].equals(
        {("aa", "a"): 1, ("b", "aa", "aa"): 1},
        "merge from the left, and do not use a symbol twice: a a a becomes aa a, a a a a becomes aa aa",
    )
    run[2].equals(
        {("aa", "a"): 1, ("b", "aa"): 1, ("aa", "aa"): 1},
        "take away a pair at each of its places: in a a a the pair (a, a) stands twice",
        mistakes={zeros: {("aa", "a"): 1, ("b", "aa"): 1, ("aa", "aa"): 1, ("a", "a"): 0, ("b", "a"): 0}},
    )
    parts = answer({("bt", "e"): 1, ("t", "e"): 3, ("x", "t", "e"): 1}, {("bt", "e"): 1, ("t", "e"): 4, ("x", "t"): 1})
    parts[0].equals(("t", "e"), "a pair is of two symbols")
    parts[1].equals(
        {("bt", "e"): 1, ("te",): 3, ("x", "te"): 1},
        "compare symbols, not text: in (bt, e) there is no pair (t, e)",
    )
    parts[2].equals({("bt", "e"): 1, ("x", "te"): 1}, "x t goes, x te comes")
    single = answer({("set",): 3, ("a",): 1}, {})
    single[0].equals(None, "if counts is empty, there is no pair: None in its place")
    single[1].equals({("set",): 3, ("a",): 1}, "without a pair the spellings stay as they were")
    single[2].equals({}, "without a pair the counts stay as they were")
    spellings = {tuple("_" + word): n for word, n in {"set": 1, "new": 2, "renew": 2, "reset": 1}.items()}
    counts, pairs = Counter(), []
    for word, n in spellings.items():
        counts.update(dict.fromkeys(zip(word, word[1:]), n))
    for _ in range(8):
        step = answer(spellings, dict(counts))
        pairs.append(step[0].is_a(tuple).value)
        spellings, counts = step[1].is_a(dict).value, step[2].is_a(dict).value
    Call(answer, "eight steps, from _set, _new, _renew and _reset", pairs).equals_stored("eight", "step after step")


MERGES = {  # how many of six places are merged, on average, under each mistake, with a dropout of 0.6
    "draw again for all places in each step: one that was dropped gets another chance in the next": 2.4,
    "merge one place in each step, not all places of its pair, and then look and draw again": 4.51,
    "keep a place if random() >= dropout": 5.04,
    "draw again for all places in each step, not in the first one only": 5.69,
}


@exercise("3.2", "bpe_encode", points=3)
def bpe_encode(answer: Answer) -> None:
    """BPE without dropout; with it, how often each number of merges occurs."""
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
    answer("abc", [("a", "b"), ("a", "bc")]).equals(
        ["ab", "c"], "compare pairs, not the joined text: (a, bc) was learned, (ab, c) was not"
    )
    every = answer("renew", merges, 1.0, 3)
    every.equals(["r", "e", "n", "e", "w"], "with a dropout of 1 every place is dropped, and the letters stay")
    cause = "make one generator from the seed, random.Random(seed), and draw from it alone"
    for seed in (1, 2, 3):
        first = answer("renewrenew", merges, 0.5, seed)
        answer("renewrenew", merges, 0.5, seed).equals(first.value, cause)
    readings = [answer("ab" * 6, [("a", "b")], 0.6, seed).is_a(list).value for seed in range(400)]
    found = Counter(tokens.count("ab") for tokens in readings)
    call = Call(answer, "bpe_encode('ab' * 6, [('a', 'b')], dropout=0.6), merges in each of 400 readings", dict(found))
    call.holds("different seeds give different tokens", lambda found: len(found) > 1, cause)
    call.holds(
        "all tokens are a, b or ab, and spell the word",
        lambda _: all("".join(tokens) == "ab" * 6 and {*tokens} <= {"a", "b", "ab"} for tokens in readings),
        "drop places, not letters",
    )
    call.holds(
        "about 5 % have no merge (0.6 to the power of 6)",
        lambda found: found.get(0, 0) < 0.11 * 400,
        "each place is dropped by itself, with a random number of its own, and only if none is left, stop",
    )
    merges = mean(tokens.count("ab") for tokens in readings)
    cause = min(MERGES, key=lambda cause: abs(MERGES[cause] - merges))
    call.holds(f"3.7 places of 6 are merged, on average; here {merges:.1f}", lambda _: abs(merges - 3.74) < 0.43, cause)


@exercise("3.3", "wordpiece", points=3)
def wordpiece(answer: Answer) -> None:
    """Longest match first, with word numbers."""
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
        "a word of more than `longest` letters is [UNK], however short its pieces are",
        mistakes={"a word of exactly `longest` letters is still cut": ["[UNK]", "[UNK]"]},
    )
    long[1].equals([0, 0, 0, 0, 1], "each piece has the number of its word")
    some = {"[UNK]", "see", "se", "##er", "##s", "boy", "seesaw"}
    stuck = answer(["seer", "sees"], some)
    stuck[0].equals(
        ["[UNK]", "see", "##s"],
        "a word that cannot be cut to its end is the single token [UNK]",
        mistakes={"a piece once taken stays: where see leads nowhere, do not try se": ["se", "##er", "see", "##s"]},
    )
    answer(["boyboy", "sees"], some)[0].equals(
        ["[UNK]", "see", "##s"], "inside a word only pieces with ## fit: boyboy is [UNK] if there is no ##boy"
    )
    answer(["seesaw", "sees", "seess"], some, 4)[0].equals(
        ["[UNK]", "see", "##s", "[UNK]"],
        "a word of more than `longest` letters is [UNK]",
        mistakes={
            "a word of more than `longest` letters is [UNK], even if the vocabulary has it": [
                *["seesaw", "see", "##s", "[UNK]"]
            ],
            "`longest` counts the letters of the word, not its pieces": ["seesaw", "see", "##s", "see", "##s", "##s"],
        },
    )
    again = answer(["boy", "boy", "x", "x"], vocabulary)
    again[0].equals(["boy", "boy", "[UNK]", "[UNK]"], "a word that occurs twice is cut twice")
    again[1].equals([0, 1, 2, 3], "a word that occurs twice has two numbers: use enumerate, not words.index")
    empty = answer([], vocabulary)
    empty[0].equals([], "no words, no tokens")
    empty[1].equals([], "no words, no numbers")
    real = set(course_file("checkpoints/course/vocab.txt").read_text(encoding="utf-8").splitlines())
    sentence = "queequeg unwillingly sharpened his harpoons on the pequod ☃ ."
    words = answer(sentence.split(), real)
    words[0].equals_stored("tokens", "the longest piece each time, also with the course's own vocabulary")
    words[1].equals_stored("word numbers", "for each token the number of its word")


@exercise("3.4", "fewest_pieces", points=3)
def fewest_pieces(answer: Answer) -> None:
    """Any shortest segmentation."""

    def cut(word: str, vocabulary: set[str], number: int, cause: str) -> None:
        """Check that a word is cut into the given number of pieces."""
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
    greedy = "the longest piece is not always the best, also from the end of the word: compare all ways to each place"
    cut("abcdef", {"abc", "##def", "##cdef", "a", "##b"}, 2, greedy)
    cut("abcdefghij", {"abc", "##defg", "##hij", "abcd", "##e", "##fg", "##f", "##ghij"}, 3, greedy)
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
    answer("हिन्दी हिंदी").equals(
        ["हिनदी", "हिदी"],
        "drop the characters of category Mn, and no others",
        mistakes={
            "drop what has category Mn, no more: the others of category M stay": ["हनद", "हद"],
            "tell a mark by its category, not by unicodedata.combining, which is 0 for some": ["हिनदी", "हिंदी"],
            "drop the marks of all scripts, by their category Mn": ["हिन्दी", "हिंदी"],
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

    def lines(axes: Drawing) -> list[list[float]]:
        """The lines that are drawn, whatever their names, the lowest first."""
        return sorted(axes.over(sizes, 4), key=sum)

    drawn.holds(
        "no line rises",
        lambda axes: all(line[0] >= line[1] >= line[2] for line in lines(axes)),
        "tokens divided by words, not the other way round",
    )
    drawn.holds(
        "no price is below 1 or above 8",
        lambda axes: all(1 <= y <= 8 for line in lines(axes) for y in line),
        "divide the number of tokens by the number of words, punctuation marks among them",
    )
    lowest = Call(answer, f"the lowest line of {drawn.text}", lines(drawn.value)[0])
    lowest.equals_stored(
        "lowest",
        "for each V the first V lines, vocabulary[:V], and tokens per word",
        tolerance=0.005,
        mistakes={
            "the first V lines of the vocabulary, vocabulary[:V], not the whole of it each time": [1.112] * 3,
            "normalize the text first: the vocabulary has no capitals": [3.846, 2.538, 1.99],
            "words are counted as normalize cuts them, punctuation marks among them": [3.635, 1.952, 1.24],
        },
    )
    found = Call(answer, drawn.text, lines(drawn.value))
    found.equals_stored(
        "lines",
        "a word that becomes [UNK] costs as many tokens as it has letters (Turkish and German have some)",
        tolerance=0.005,
    )

    def prices(axes: Drawing) -> dict[str, list[float]]:
        """The line of each language, found by its label: "English", or "English: 24 words"."""
        return {name: list(line.ys) for name in names for line in axes.lines if name in line.label}

    drawn.holds(
        "each line has its language for a label",
        lambda axes: set(names) == set(prices(axes)),
        "axes.plot(…, label=language)",
    )
    named = Call(answer, drawn.text, prices(drawn.value))
    named.equals_stored("prices", "each line has its own language's name, in the order of the lines", tolerance=0.005)
