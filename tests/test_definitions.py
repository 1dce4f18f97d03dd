"""What a lecture's page defines is what the package has: one definition, shown in the notebook, imported after it.

A cell tagged ``definition`` holds functions, classes and tables that the chapter has as well. They are compared
as syntax trees, without docstrings and without annotations of arguments and results: the module documents what the
lecture explains, and nothing else differs.
"""

import ast
from pathlib import Path

import pytest

from bertcourse_lab.lectures import read_notebook

ROOT = Path(__file__).parent.parent
# What each lecture's page must define, and where the package has it: a definition that disappears is noticed.
PAGES: dict[str, tuple[str, set[str]]] = {
    "00_static_embeddings": (
        "static_embeddings",
        {
            *("count_neighbours", "ppmi", "svd_vectors", "thinned", "train_word2vec", "analogy_answers", "weat"),
            *("RecurrentNetwork", "RecurrentLanguageModel", "train_language_model", "OneAnswer"),
        },
    ),
    "01_self_attention": ("self_attention", {"simple_self_attention", "scaled_dot_product_attention", "causal_mask"}),
    "02_multi_head_attention": (
        "self_attention multi_head_attention bert/model bert/weights",
        {
            *("BertEmbeddings", "split_heads", "merge_heads", "MultiHeadAttention", "FeedForward", "EncoderBlock"),
            *("TransformerEncoder", "EncoderOutput", "BertModel", "BertOutput", "initialize"),
            *("HUGGING_FACE_NAMES", "renamed", "padding_mask", "sinusoidal_positions"),
        },
    ),
    "03_tokenization": (
        "tokenization",
        {
            *("count_pairs", "merge", "learn_merges", "apply_merges", "decode_words", "GPT2_WORD"),
            *("longest_match", "decode_pieces", "Edge", "lattice", "best_path", "expected_counts"),
            "sampling_probabilities",
        },
    ),
    "04_pretraining": (
        "pretraining bert/model",
        {
            *("hide", "masks_per_row", "smallest_of_each_row", "mask_tokens"),
            *("sentence_pairs", "fill", "truncate", "collate", "batches"),
            *("MLMHead", "BertForPreTraining", "losses", "train"),
        },
    ),
    "05_word_senses": ("word_senses", {"unit", "word_vectors", "NearestSense"}),
    "06_anisotropy": (
        "anisotropy",
        {
            *("paired_cosines", "rows_by_name", "mean_vectors", "expected_cosine", "self_similarity"),
            *("dimension_contributions", "Standardizer"),
        },
    ),
    "07_fine_tuning": ("fine_tuning", {"SequenceClassifier", "fine_tune"}),
    "08_named_entities": (
        "named_entities",
        {"TokenClassifier", "write_tags", "token_tags", "may_follow", "steps", "viterbi"},
    ),
    "09_question_answering": (
        "question_answering bert/windows",
        {
            *("SpanPredictor", "best_span", "normalize_answer", "exact_match", "answer_f1", "answer_tokens"),
            *("LowRankLinear", "add_low_rank", "add_difference", "window_starts", "span_windows", "best_answer"),
        },
    ),
    "10_retrieval": (
        "retrieval",
        {
            *("words_of", "inverted_index", "BM25", "rank", "reciprocal_rank", "ndcg", "fuse", "rerank"),
            *("late_interaction", "contrastive_loss", "BiEncoder", "CrossEncoder"),
        },
    ),
    "11_beyond_bert": (
        "beyond_bert",
        {
            *("LENGTHS", "choose_spans", "mask_spans", "borders", "SpanBoundaryHead", "span_losses"),
            *("with_guesses", "electra_losses", "turn", "local_mask", "narrowed", "Attention", "FeedForward"),
        },
    ),
    "12_decoders": (
        "decoders",
        {
            *("CausalLanguageModel", "next_token_loss", "train_language_model", "keep_top_k", "keep_top_p"),
            *("next_token_distribution", "generate", "attend_with_cache", "WithCache", "CrossAttention"),
            *("DecoderBlock", "TransformerDecoder", "EncoderDecoder", "translation_loss", "translate", "corrupt"),
        },
    ),
}


def bare(node: ast.AST) -> str:
    """A statement without docstrings and annotations, as text that can be compared.

    >>> bare(ast.parse("def f(x: int) -> int:\\n    '''One more.'''\\n    return x + 1"))
    'def f(x):\\n    return x + 1'
    """
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(part) is not None:
            part.body = part.body[1:] or [ast.Pass()]
        if isinstance(part, ast.FunctionDef):
            part.returns = None
        if isinstance(part, ast.arg):
            part.annotation = None
    return ast.unparse(node)


def definitions(source: str) -> dict[str, str]:
    """The functions, classes and tables of a program, by name."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = bare(node)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = bare(node.value)
    return found


def of_page(lecture: str) -> dict[str, str]:
    """What the cells of a lecture that are tagged as definitions define."""
    cells = read_notebook(ROOT / "notebooks" / f"{lecture}.ipynb").cells
    shown = [cell.source for cell in cells if "definition" in cell.metadata.get("tags", [])]
    return definitions("\n".join(shown))


def of_package(places: str) -> dict[str, str]:
    """What modules define, or all modules of a package; several places are separated by spaces."""
    paths = [ROOT / "bertcourse" / place for place in places.split()]
    files = [file for path in paths for file in (sorted(path.glob("*.py")) or [path.with_suffix(".py")])]
    return definitions("\n".join(file.read_text(encoding="utf-8") for file in files))


def differences(page: dict[str, str], package: dict[str, str], expected: set[str]) -> list[str]:
    """Where a page and the package are not of one mind."""
    found = [f"the page does not define {name}" for name in sorted(expected - page.keys())]
    for name in sorted(page):
        if name not in package:
            found.append(f"the package does not have {name}")
        elif page[name] != package[name]:
            found.append(f"{name} is another one in the package:\n{page[name]}\n\n{package[name]}")
    return found


@pytest.mark.parametrize("lecture", PAGES)
def test_page_and_package_have_one_definition(lecture):
    place, expected = PAGES[lecture]
    assert differences(of_page(lecture), of_package(place), expected) == []


PAGE = "SCALE = 2\ndef twice(x):\n    return SCALE * x\nclass Pair:\n    def sum(self):\n        return self.a + self.b"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("self.a + self.b", "self.a - self.b", "Pair is another one"),
        ("SCALE = 2", "SCALE = 3", "SCALE is another one"),
        ("def twice", "def double", "does not have twice"),
        ("return SCALE * x", "return SCALE * x + 0", "twice is another one"),
    ],
)
def test_a_definition_that_differs_is_found(old, new, says):
    found = differences(definitions(PAGE), definitions(PAGE.replace(old, new)), set())
    assert len(found) == 1 and says in found[0]


def test_docstrings_and_annotations_may_differ_and_nothing_may_be_missing():
    documented = PAGE.replace("(x):\n", "(x: float) -> float:\n    '''Twice as much.'''\n")
    assert differences(definitions(PAGE), definitions(documented), {"twice", "Pair", "SCALE"}) == []
    assert differences({}, definitions(PAGE), {"twice"}) == ["the page does not define twice"]
