"""Chapter 11's encoder beside transformers: the same files, the same numbers?

    python tools/studies/beyond_bert_parity.py --output data/results     # under a minute

The models have random sizes and random weights, with every parameter moved away from its initial value. "Theirs to
ours": transformers saves one, and ``bertcourse.beyond_bert.load_pretrained`` loads it. "Ours to theirs": other weights
are drawn, ``save_pretrained`` saves them, and transformers loads them. Both then read the same rows, half of them
padded, and the largest difference over all tokens except padding is printed. ModernBERT's config.json is written
alternately as transformers 5 does and as it is on the hub.
"""

import argparse
import json
import random
import tempfile
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer
from torch import Tensor, nn

from bertcourse.bert.tokenizer_files import spelling_of
from bertcourse.beyond_bert import EncoderForPreTraining, load_pretrained, save_pretrained
from bertcourse.files import replace_files
from bertcourse_lab.benchmarks.tables import table_lines

KINDS = {"BERT": "Bert", "RoBERTa": "Roberta", "ModernBERT": "ModernBert"}
COLUMNS = ["model", "configurations", "hidden sizes", "layers", "direction", "hidden states", "logits"]
LENGTH = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="configurations of each model (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="folder for beyond_bert_parity.md")
    options = parser.parse_args()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    _, tokenizer = load_pretrained("course")
    measured = {kind: [compare(kind, seed, tokenizer) for seed in range(options.seeds)] for kind in KINDS}
    table = "\n".join(table_lines(COLUMNS, [row for kind, found in measured.items() for row in rows(kind, found)]))
    print(table)
    if options.output is not None:
        head = f"# Chapter 11's encoder beside transformers {transformers.__version__}\n\n"
        how = (
            "The largest difference of hidden states and of logits over all tokens that are no padding; half of the "
            "rows are padded. Weights are random, and so large that logits are of the order of one."
        )
        with replace_files(options.output, ["beyond_bert_parity.md"]) as draft:
            text = f"{head}{how}\n\n{table}\n\n`python tools/studies/beyond_bert_parity.py`\n"
            (draft / "beyond_bert_parity.md").write_text(text, encoding="utf-8")


def rows(kind: str, found: list[dict]) -> list[list[str]]:
    """Two rows of the table: the largest differences for a kind of model, in each direction."""
    sizes = [f"{min(values)} to {max(values)}" for values in zip(*(each["sizes"] for each in found))]
    return [
        [kind, str(len(found)), *sizes, way, *(f"{max(each[way][i] for each in found):.1e}" for i in range(2))]
        for way in ("theirs to ours", "ours to theirs")
    ]


def compare(kind: str, seed: int, tokenizer: Tokenizer) -> dict:
    """One configuration: its sizes, and the largest differences of hidden states and logits in both directions."""
    theirs = random_model(kind, seed, tokenizer)
    ids, mask = random_rows(seed, theirs.config)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        theirs.save_pretrained(folder)
        tokenizer.save(str(folder / "tokenizer.json"))
        if kind == "ModernBERT" and seed % 2:
            write_as_on_the_hub(folder / "config.json")
        ours, _ = load_pretrained(folder, EncoderForPreTraining)
        loaded = differences(ours, theirs, ids, mask)
        move(ours, seed + 1000)
        save_pretrained(ours, tokenizer, folder)
        back = type(theirs).from_pretrained(folder).eval()
        saved = differences(ours, back, ids, mask)
    sizes = (theirs.config.hidden_size, theirs.config.num_hidden_layers)
    return {"sizes": sizes, "theirs to ours": loaded, "ours to theirs": saved}


def random_model(kind: str, seed: int, tokenizer: Tokenizer) -> transformers.PreTrainedModel:
    """A model of transformers, of random sizes and settings, in evaluation mode."""
    rng = random.Random(seed)
    heads, vocabulary = rng.randint(1, 4), tokenizer.get_vocab_size()
    sizes = dict(
        vocab_size=vocabulary + rng.randint(0, 9),
        hidden_size=heads * rng.choice([4, 6, 8, 16]),
        num_attention_heads=heads,
        num_hidden_layers=rng.randint(1, 6),
        intermediate_size=rng.randint(5, 50),
        max_position_embeddings=LENGTH + rng.randint(2, 10),
        pad_token_id=tokenizer.token_to_id(spelling_of(tokenizer)["pad"]),
    )
    if kind == "ModernBERT":
        sizes |= dict.fromkeys(("attention_bias", "mlp_bias", "norm_bias", "classifier_bias"), rng.random() < 0.5)
        sizes |= dict(
            local_reach=rng.choice([2, 4, 6]),
            global_attn_every_n_layers=rng.randint(1, 4),
            global_rope_theta=rng.choice([1e3, 1.6e5]),
            local_rope_theta=rng.choice([1e2, 1e4]),
            **dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 2),
        )
    else:
        sizes |= dict(type_vocab_size=2 if kind == "BERT" else 1, layer_norm_eps=rng.choice([1e-12, 1e-5]))
    stem = KINDS[kind]
    head = "ForPreTraining" if kind == "BERT" else "ForMaskedLM"
    torch.manual_seed(seed)
    model = getattr(transformers, stem + head)(getattr(transformers, f"{stem}Config")(**sizes))
    return move(model, seed).eval()


def move(model: nn.Module, seed: int) -> nn.Module:
    """The model with each of its parameters moved by random numbers, so that none is zero or one."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        scale = 0.2 if parameter.dim() == 1 else 0.5 * parameter.shape[1] ** -0.5  # products of the order of one
        parameter.data += scale * torch.randn(parameter.shape, generator=generator)
    return model


def random_rows(seed: int, config: transformers.PreTrainedConfig) -> tuple[Tensor, Tensor]:
    """Ids and attention mask (4, L): two full rows, and two with padding on the right."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, config.vocab_size, (4, LENGTH), generator=generator)
    mask = torch.ones_like(ids)
    for row in (1, 3):
        mask[row, int(torch.randint(1, LENGTH, (), generator=generator)) :] = 0
    return ids.where(mask.bool(), config.pad_token_id), mask


def differences(ours: EncoderForPreTraining, theirs: nn.Module, ids: Tensor, mask: Tensor) -> tuple[float, float]:
    """The largest difference in the last layer's hidden states, and in the logits."""
    with torch.no_grad():
        mine, other = ours(ids, mask).mlm_logits, theirs(ids, attention_mask=mask)
        logits = other.prediction_logits if hasattr(other, "prediction_logits") else other.logits
        hidden = ours.bert(ids, mask).last_hidden_state - theirs.base_model(ids, attention_mask=mask).last_hidden_state
    return tuple(float(difference[mask.bool()].abs().max()) for difference in (hidden, mine - logits))


def write_as_on_the_hub(path: Path) -> None:
    """Rewrite a ModernBERT's config.json as transformers 4 wrote it."""
    config = json.loads(path.read_text(encoding="utf-8"))
    kinds, ropes = config.pop("layer_types"), config.pop("rope_parameters")
    config["global_attn_every_n_layers"] = [*kinds[1:], "full_attention"].index("full_attention") + 1
    for name, kind in (("global", "full_attention"), ("local", "sliding_attention")):
        config[f"{name}_rope_theta"] = ropes[kind]["rope_theta"]
    path.write_text(json.dumps(config), encoding="utf-8")


if __name__ == "__main__":
    main()
