"""Chapter 3: what the public functions refuse; each check says what was expected, what came, and what to do."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral, Real

MOST_TOKENS = 0x10FFFF  # the fast trainers write a symbol as one character


def check_text(text: str, name: str = "text") -> None:
    """Refuse anything that is not a str, or holds a lone surrogate: half a character, which no UTF-8 file can hold."""
    if not isinstance(text, str):
        raise TypeError(
            f"{name} must be a str; got {type(text).__name__}. Decode bytes first (data.decode()), and call encode for "
            f"each text of a list."
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name} must be valid Unicode; character {error.start} is the lone surrogate {text[error.start]!a}. "
            f'Read the text again, or replace it: text.encode(errors="replace").decode().'
        ) from None


def check_texts(texts: Iterable[str]) -> Iterator[str]:
    """The texts one by one, each checked; a single str is refused, as it would be read as one-letter texts."""
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise TypeError(f"texts must be a list of str; got one {type(texts).__name__}. Write [text].")
    for text in texts:
        check_text(text)
        yield text


def check_mapping(name: str, value: Mapping, what: str) -> None:
    """Refuse anything that is not a mapping; ``what`` says what it should map, and to what."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must map {what}; got {type(value).__name__}.")


def check_word_counts(word_counts: Mapping[str, int]) -> dict[str, int]:
    """Refuse a corpus that nothing can be learned from.

    Returns:
        The same words with their counts as Python ints, whose sums do not overflow as NumPy's do.
    """
    check_mapping("word_counts", word_counts, "words to counts, as count_words(texts) does")
    if not word_counts:
        raise ValueError("the corpus must have at least one word; got none. Was the file empty?")
    for word, count in word_counts.items():
        if not isinstance(word, str) or not isinstance(count, Integral):
            raise TypeError(f"word_counts must map str to int; got {word!r}: {count!r}.")
        if not word or count < 1:
            raise ValueError(f"a word must have a character and occur at least once; got {word!r} with count {count}.")
    check_text("".join(word_counts))
    return {word: int(count) for word, count in word_counts.items()}


def check_number(name: str, value: float, least: float, kind: type = Integral) -> None:
    """Refuse a setting that is not a number of this kind (Integral or Real), is not finite, or is below ``least``."""
    kind_name = "whole" if kind is Integral else "finite"
    message = f"{name} must be a {kind_name} number and at least {least}; got {value!r}."
    if not isinstance(value, kind):
        raise TypeError(message)
    if not least <= value < math.inf:
        raise ValueError(message)


def check_sizes(
    vocab_size: int | None, alphabet: Sequence[str], num_merges: int | None = None, min_frequency: int = 1
) -> tuple[int, int]:
    """Refuse sizes that set no limit, or leave no room for the alphabet that words are spelled with.

    Returns:
        ``vocab_size`` and ``num_merges``, each at most ``MOST_TOKENS``, which is what None stands for.
    """
    if num_merges is None and vocab_size is None:
        raise ValueError("give num_merges or vocab_size: how far to go.")
    vocab_size, num_merges = (MOST_TOKENS if size is None else size for size in (vocab_size, num_merges))
    for name, size in (("vocab_size", vocab_size), ("num_merges", num_merges), ("min_frequency", min_frequency)):
        check_number(name, size, least=0)
    if vocab_size < len(alphabet):
        least = f"{len(alphabet)} special tokens and single characters that every word is spelled with"
        raise ValueError(f"vocab_size must have room for the {least}; got {vocab_size}.")
    return min(vocab_size, MOST_TOKENS), min(num_merges, MOST_TOKENS)


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a setting that is not one of its choices."""
    if value not in choices:
        names = " or ".join(f'"{choice}"' for choice in choices)
        raise ValueError(f"{name} must be {names}; got {value!r}.")


def check_tokens(tokens: Sequence[str], needed: Sequence[str]) -> None:
    """Refuse a vocabulary that is not a list of distinct tokens, one line each, or that lacks one of ``needed``."""
    is_list = isinstance(tokens, Sequence) and not isinstance(tokens, str)
    if not is_list or not all(isinstance(token, str) for token in tokens):
        raise TypeError(
            f"the vocabulary must be a list of str, the token of id 0 first; got {tokens!r:.80}. Make a dict of ids "
            f"one by sorted(vocab, key=vocab.get)."
        )
    first_ids: dict[str, int] = {}
    for i, token in enumerate(tokens):
        if not token or "\n" in token or "\r" in token:
            bad = repr(token) if token else "empty"
            raise ValueError(f"a token must be a line of at least one character; token {i} is {bad}. Leave it out.")
        if first_ids.setdefault(token, i) != i:
            raise ValueError(f"a token must have one id; {token!r} has {first_ids[token]} and {i}. Remove one.")
    check_text("".join(tokens), "the vocabulary")
    if missing := [token for token in needed if token not in first_ids]:
        raise ValueError(f"the vocabulary must have {', '.join(missing)}. Add it, or name the token it has instead.")


def check_merges(merges: Sequence[tuple[str, str]]) -> None:
    """Refuse anything that is not a list of pairs of tokens."""
    for merge in merges if isinstance(merges, Sequence) else [merges]:
        is_pair = isinstance(merge, (tuple, list)) and len(merge) == 2
        if not is_pair or not all(isinstance(token, str) for token in merge):
            raise TypeError(f"merges must be pairs of tokens, as train_bpe returns them; got {merge!r}.")


def check_pieces(pieces: Sequence[tuple[str, float]]) -> None:
    """Refuse anything that is not a unigram model: pairs of a token and a finite log-probability, at least one."""
    if not pieces:
        raise ValueError("pieces must hold at least one token with its log-probability; got none.")
    for piece in pieces:
        if isinstance(piece, str) or len(piece) != 2 or not isinstance(piece[0], str) or not isinstance(piece[1], Real):
            raise TypeError(f"pieces must be pairs of a token and a log-probability; got {piece!r}. See train_unigram.")
        if not math.isfinite(piece[1]):
            raise ValueError(f"log-probabilities must be finite; got {piece[1]} for {piece[0]!r}.")
