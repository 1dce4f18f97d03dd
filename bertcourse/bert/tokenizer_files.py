"""BERT's tokenizer in Hugging Face's files: tokenizer.json, or vocab.txt with the settings beside it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tokenizers import Tokenizer, decoders, normalizers

from bertcourse.files import expect_file, read_json
from bertcourse.tokenization.wordpiece import BERT_SPECIAL_TOKENS, WordPieceTokenizer

# Special tokens by purpose, as BERT's and ModernBERT's tokenizers spell them, and as RoBERTa's do.
BERT_SPELLING = {token[1:-1].lower(): token for token in BERT_SPECIAL_TOKENS}  # "cls": "[CLS]"
ROBERTA_SPELLING = {"pad": "<pad>", "unk": "<unk>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}

BERT_CLASSES = (None, "BertTokenizer", "BertTokenizerFast", "PreTrainedTokenizerFast")
BERT_PARTS = {"pre_tokenizer": "BertPreTokenizer", "model": "WordPiece"}
BERT_MODEL = {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
SAVE_AGAIN = "Load it with the transformers library and save it again, as tokenizer.json."


def read_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer in tokenizer.json, or a BERT tokenizer made from vocab.txt, with padding and truncation off."""
    path = folder / "tokenizer.json"
    if path.is_file():
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the Rust library raises plain Exception
            raise ValueError(f"{path} is damaged ({error}). Fetch or save it again.") from error
    else:
        expect_file(folder / "vocab.txt", "A tokenizer is read from tokenizer.json or vocab.txt.")
        tokenizer = tokenizer_from_vocabulary(folder)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def tokenizer_from_vocabulary(folder: Path) -> Tokenizer:
    """BERT's tokenizer from vocab.txt, one token per line, with any settings that tokenizer_config.json has."""
    path = folder / "tokenizer_config.json"
    settings = {name: value for name, value in (read_json(path) if path.is_file() else {}).items() if value is not None}
    if (kind := settings.get("tokenizer_class")) not in BERT_CLASSES:
        raise ValueError(
            f"{path}: tokenizer_class must be BertTokenizer without a tokenizer.json; got {kind!r}. {SAVE_AGAIN}"
        )
    ours = WordPieceTokenizer.from_file(folder / "vocab.txt", lowercase=settings.get("do_lower_case", True))
    path = folder / "added_tokens.json"
    for token, token_id in (read_json(path) if path.is_file() else {}).items():
        if ours.token_ids.get(token) != token_id:
            raise ValueError(
                f"{path}: added tokens must be in vocab.txt; {token!r} with id {token_id!r} is not. {SAVE_AGAIN}"
            )
    if strangers := [token for token in named_special_tokens(folder, settings) if token not in BERT_SPECIAL_TOKENS]:
        raise ValueError(
            f"{folder}: without a tokenizer.json, special tokens must be {', '.join(BERT_SPECIAL_TOKENS)}; got "
            f"{', '.join(map(repr, strangers[:3]))}. {SAVE_AGAIN}"
        )
    tokenizer = ours.to_tokenizers()
    tokenizer.normalizer = normalizers.BertNormalizer(
        lowercase=ours.lowercase,
        strip_accents=settings.get("strip_accents"),  # None: the same as lowercase
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
    )
    tokenizer.decoder = decoders.WordPiece()  # which also removes the space before a comma
    return tokenizer


def named_special_tokens(folder: Path, settings: dict) -> list[str]:
    """All tokens that the files beside a vocab.txt call special or add to it.

    Args:
        folder: may have special_tokens_map.json and added_tokens.json.
        settings: of tokenizer_config.json.
    """
    paths = folder / "special_tokens_map.json", folder / "added_tokens.json"
    special, added = (read_json(path) if path.is_file() else {} for path in paths)
    try:
        found: list[str | dict] = [*added, *settings.get("added_tokens_decoder", {}).values()]
        for named in (settings, special):
            found += [named[each] for purpose in BERT_SPELLING if named.get(each := f"{purpose}_token") is not None]
            for key in ("additional_special_tokens", "extra_special_tokens"):
                more = named.get(key) or []
                found += more.values() if isinstance(more, dict) else more
        return [each["content"] if isinstance(each, dict) else each for each in found]
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{folder}: the files beside vocab.txt are damaged ({error!r}). {SAVE_AGAIN}") from error


def check_vocabulary(tokenizer: Tokenizer, vocab_size: int) -> None:
    """Refuse a tokenizer whose ids go beyond the model's embeddings."""
    if (largest := max(tokenizer.get_vocab().values(), default=-1)) >= vocab_size:
        raise ValueError(
            f"the tokenizer has ids up to {largest}, the model embeddings for ids below its vocab_size of "
            f"{vocab_size}; do both belong to one model?"
        )


def spelling_of(tokenizer: Tokenizer) -> dict[str, str]:
    """A tokenizer's special tokens by purpose: RoBERTa's if it has ``<s>`` and no [CLS], otherwise BERT's.

    >>> from bertcourse.bert import load_pretrained
    >>> spelling_of(load_pretrained("course")[1])["mask"]
    '[MASK]'
    """
    is_robertas = tokenizer.token_to_id("[CLS]") is None and tokenizer.token_to_id("<s>") is not None
    return ROBERTA_SPELLING if is_robertas else BERT_SPELLING


def check_special_tokens(
    tokenizer: Tokenizer,
    needed: Sequence[str] = ("unk", "cls", "sep"),
    spelling: Mapping[str, str] = BERT_SPELLING,
) -> None:
    """Refuse a tokenizer that lacks special tokens, or does not put [CLS] before a text and [SEP] after it.

    Args:
        tokenizer: the one to check.
        needed: the purposes that it must have tokens for.
        spelling: the token for each purpose.
    """
    tokens = [spelling[purpose] for purpose in needed]
    if missing := [token for token in tokens if tokenizer.token_to_id(token) is None]:
        raise ValueError(
            f"the tokenizer must have the special tokens {', '.join(tokens)}; missing: {', '.join(missing)}. Take "
            f"the tokenizer that the model was trained with."
        )
    first, last = spelling["cls"], spelling["sep"]
    frame = [token for token in tokenizer.encode("").tokens if token != spelling["pad"]]
    if frame != [first, last]:
        raise ValueError(
            f"the tokenizer must put {first} before a text and {last} after it; an empty text becomes {frame}. Set its "
            f"post_processor, such as tokenizers.processors.BertProcessing, and save it again."
        )


def tokens_by_id(tokenizer: Tokenizer) -> list[str]:
    """The vocabulary in order of id, like the lines of vocab.txt; refused unless ids are 0, 1, …, one token each."""
    ids = tokenizer.get_vocab()
    tokens = sorted(ids, key=ids.get)
    for line, token in enumerate(tokens):
        if ids[token] != line:
            raise ValueError(
                f"the tokenizer's ids must be 0 to {len(ids) - 1}, one token each, as vocab.txt has a line for each; "
                f"got id {ids[token]} for {token!r} where {line} was expected. Add tokens such as [unused{line}]."
            )
    return tokens


def tokenizer_config(tokenizer: Tokenizer) -> dict:
    """What tokenizer_config.json tells ``transformers``: the class, and what happens to case, accents and Chinese.

    ``transformers`` rebuilds a BertTokenizer from vocab.txt and these settings, so only BERT's own pipeline may go by
    that name; any other is read from tokenizer.json as it stands.
    """
    backend = json.loads(tokenizer.to_str())
    steps = normalizer_steps(backend["normalizer"])
    nothing = {"clean_text": False, "lowercase": False, "strip_accents": False, "handle_chinese_chars": False}
    bert = steps.get("BertNormalizer", nothing)
    settings = {
        "do_lower_case": bert["lowercase"] or "Lowercase" in steps,
        "strip_accents": True if "StripAccents" in steps else bert["strip_accents"],
        "tokenize_chinese_chars": bert["handle_chinese_chars"],
    }
    parts = {part: (backend[part] or {}).get("type") for part in ("pre_tokenizer", "model")}
    is_bert = list(steps) == ["BertNormalizer"] and bert["clean_text"] and parts == BERT_PARTS
    is_bert = is_bert and all(backend["model"][name] == value for name, value in BERT_MODEL.items())
    spelling = spelling_of(tokenizer).items()
    names = {f"{purpose}_token": token for purpose, token in spelling if tokenizer.token_to_id(token) is not None}
    return {"tokenizer_class": "BertTokenizer" if is_bert else "PreTrainedTokenizerFast", **settings, **names}


def normalizer_steps(normalizer: dict | None) -> dict[str, dict]:
    """The steps of a tokenizer.json's normalizer, by type; a Sequence is unpacked into its steps."""
    if normalizer is None:
        return {}
    if normalizer["type"] == "Sequence":
        return {kind: step for part in normalizer["normalizers"] for kind, step in normalizer_steps(part).items()}
    return {normalizer["type"]: normalizer}
