"""Every word of a sentence with its sense, for lecture 5: the nearest of those that SemCor has, by MiniLM.

    python tools/studies/all_words.py    # two minutes, or as long as ``benchmark wsd`` the first time

The sentences are the textbook's (Jurafsky & Martin, figure 11.7) and one written for the lecture; lemmas and parts of
speech are given, as they are in the benchmark. Writes data/results/all_words.json.
"""

import json
from pathlib import Path

from bertcourse.bert import load_pretrained
from bertcourse.files import replace_files
from bertcourse.word_senses import PARTS_OF_SPEECH, word_vectors
from bertcourse_lab.benchmarks.word_senses import answers, nearest_senses
from bertcourse_lab.datasets.dictionary import word_senses, wordnet
from bertcourse_lab.datasets.registry import cache_folder
from bertcourse_lab.datasets.sense_corpora import sense_corpus
from bertcourse_lab.vector_cache import cached_word_vectors

RESULTS = Path(__file__).parents[2] / "data" / "results"
SENTENCES = [
    "an electric/electric/ADJ guitar/guitar/NOUN and bass/bass/NOUN player/player/NOUN stand/stand/VERB off/off/ADV to "
    "one side/side/NOUN",
    "the boy/boy/NOUN sat/sit/VERB on the bank/bank/NOUN and watched/watch/VERB the river/river/NOUN run/run/VERB to "
    "the sea/sea/NOUN",
]


def main() -> None:
    """Tag the sentences and store what was found."""
    model, tokenizer = load_pretrained("minilm")
    layers, corpus, dictionary = range(model.config.num_hidden_layers + 1), sense_corpus("semcor"), wordnet()
    settings = {"pooling": "stack", "only": corpus.positions(), "dtype": "float16", "cache": cache_folder() / "vectors"}
    vectors = cached_word_vectors(model, tokenizer, corpus.sentences, layers, **settings).array
    senses = nearest_senses(corpus, vectors[:, -4:].astype("float32").sum(axis=1))
    rows = []
    for text in SENTENCES:
        parts = [word.split("/") for word in text.split()]
        sentence, asked = [part[0] for part in parts], [i for i, part in enumerate(parts) if len(part) == 3]
        words = [tuple(parts[i][1:]) for i in asked]
        choices = word_senses(dictionary, words)
        first = {word: keys[0] for word, keys in choices.items()}
        entries = [entry for lemma, part in words for entry in dictionary.lemmas(lemma, PARTS_OF_SPEECH[part])]
        glosses = {entry.key(): entry.synset().definition() for entry in entries}
        found = answers(senses, word_vectors(model, tokenizer, [sentence], only=[asked]).array, words, first)
        tagged = [
            {
                "word": sentence[i],
                "sense": key,
                "number": choices[word].index(key) + 1,
                "of": len(choices[word]),
                "gloss": glosses[key],
                "seen": word in senses.means_,
            }
            for i, word, key in zip(asked, words, found)
        ]
        rows.append({"sentence": " ".join(sentence), "words": tagged})
    with replace_files(RESULTS, ["all_words.json"]) as draft:
        (draft / "all_words.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
