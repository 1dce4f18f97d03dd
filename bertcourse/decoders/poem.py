"""Chapter 12: a text so short that a causal language model learns it by heart: Li Bai's poem, in words.

静夜思, from the eighth century: 床前明月光, 疑是地上霜. 举头望明月, 低头思故乡. The English is the course's own.
Its words recur ("my bed", "my head" and "my head" again), so that the last word alone does not say what comes next.
"""

from collections.abc import Sequence

POEM = (
    "Before my bed the moonlight is so clear ,",
    "I think that frost is lying on the floor .",
    "I lift my head and see the moon is near ,",
    "I bow my head and think of home once more .",
)


class WordVocabulary:
    """Words as tokens, after three special ones: padding, start of sequence and end of sequence.

    Args:
        texts: their words, separated by spaces, are numbered in order of appearance.

    >>> WordVocabulary(["the moon is the moon"]).encode("the moon")
    [1, 3, 4, 2]
    """

    pad_id, start_id, stop_id = 0, 1, 2

    def __init__(self, texts: Sequence[str] = POEM):
        self.tokens = ["[PAD]", "[SOS]", "[EOS]", *dict.fromkeys(word for text in texts for word in text.split())]
        self.token_ids = {token: number for number, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str, stop: bool = True) -> list[int]:
        """[SOS], the words, and [EOS] unless the text is to go on; a word that the vocabulary lacks is refused."""
        if unknown := [word for word in text.split() if word not in self.token_ids]:
            raise ValueError(f"each word must be one of the vocabulary's {len(self) - 3}; got {unknown[0]!r}.")
        ids = [self.start_id, *(self.token_ids[word] for word in text.split())]
        return [*ids, self.stop_id] if stop else ids

    def decode(self, ids: Sequence[int]) -> str:
        """The words up to [EOS]; [SOS] and padding are left out."""
        ids = list(ids)
        end = ids.index(self.stop_id) if self.stop_id in ids else len(ids)
        return " ".join(self.tokens[number] for number in ids[:end] if number > self.stop_id)
