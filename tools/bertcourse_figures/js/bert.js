// BERT, as chapters 2 and 3 build it in Python: its files, encoder and MLM head, for a page or for node. It needs
// characters.js, wordpiece.js and product.js before it; no library and no network.
//
//   const { tokenizer, model } = readBert(files);         // name to ArrayBuffer, the three files of a model's folder
//   const tokens = tokenizer.encode("The [MASK] barked.");
//   const { hiddenStates, attentions } = model.forward(tokens.map((token) => token.id));
//   model.predict(hiddenStates.at(-1), 2, 5).top;         // the five likeliest tokens at position 2
//
// Shapes as in the course: L tokens, D hidden size, H heads, V vocabulary. A matrix is a Float32Array, row after row.
// One sequence is read at a time, so that nothing is padded and nothing masked.

/**
 * Tokenizer and model of an uncased BERT as Hugging Face keeps it.
 *
 * @param files "config.json", "vocab.txt" and "model.safetensors" as ArrayBuffers
 * @param {boolean} fast whether WebAssembly may multiply, where there is any
 * @returns {{ tokenizer: WordPiece, model: Bert }}
 */
function readBert(files, fast = true) {
  for (const name of ["config.json", "vocab.txt", "model.safetensors"]) {
    if (files[name]) continue;
    throw new Error(`readBert needs ${name}, as an ArrayBuffer; it got ${Object.keys(files).join(", ") || "no file"}.`);
  }
  const text = (name) => new TextDecoder().decode(files[name]); // without a byte order mark
  const tokenizer = new WordPiece(text("vocab.txt").replaceAll("\r", "").replace(/\n$/, "").split("\n"));
  const tensors = readSafetensors(files["model.safetensors"]);
  return { tokenizer, model: new Bert(JSON.parse(text("config.json")), tensors, tokenizer.ids.get("[MASK]"), fast) };
}

// ---- Weights -------------------------------------------------------------------------------------------------------

/**
 * A .safetensors file as name to { shape, data }: 8 bytes for the size of the header, a header in JSON, the numbers.
 * Float32, float16, and int8 with a scale for each row beside it, "<name>.scale", all become float32; of other types,
 * such as the positions 0, 1, 2 ... that old files hold, there is nothing that BERT needs.
 */
function readSafetensors(buffer) {
  const size = Number(new DataView(buffer).getBigUint64(0, true));
  if (size > buffer.byteLength) throw new Error("model.safetensors is damaged or cut off: fetch or save it again.");
  const { __metadata__, ...header } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
  const tensors = {};
  for (const [name, { dtype, shape, data_offsets: [start, end] }] of Object.entries(header)) {
    const bytes = buffer.slice(8 + size + start, 8 + size + end);
    if (bytes.byteLength < end - start) throw new Error(`model.safetensors is cut off in ${name}: fetch it again.`);
    if (dtype === "F32") tensors[name] = { shape, data: new Float32Array(bytes) };
    if (dtype === "F16") tensors[name] = { shape, data: floatsFromHalves(new Uint16Array(bytes)) };
    if (dtype === "I8") tensors[name] = { shape, data: new Float32Array(new Int8Array(bytes)) };
  }
  for (const name of Object.keys(tensors).filter((name) => name.endsWith(".scale"))) {
    const { shape, data } = tensors[name.slice(0, -".scale".length)];
    for (let i = 0; i < data.length; i++) data[i] *= tensors[name].data[Math.floor(i / shape[1])];
    delete tensors[name];
  }
  return tensors;
}

let valuesOfHalves; // of all 65,536, which are worked out once

function floatsFromHalves(bits) {
  valuesOfHalves ??= Float32Array.from({ length: 65536 }, (_, half) => valueOfHalf(half));
  const floats = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) floats[i] = valuesOfHalves[bits[i]];
  return floats;
}

/** The value of a half-precision number: a sign, 5 bits of exponent, 10 of fraction (IEEE 754). */
function valueOfHalf(bits) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  let size = exponent ? 2 ** (exponent - 25) * (1024 + fraction) : 2 ** -24 * fraction;
  if (exponent === 31) size = fraction ? NaN : Infinity;
  return bits >> 15 ? -size : size;
}

// ---- Model ---------------------------------------------------------------------------------------------------------

/** BERT, post-LN as it was published (Devlin et al. 2019), from tensors under Hugging Face's names. */
class Bert {
  constructor(config, tensors, maskId, fast = true) {
    if (config.model_type !== "bert" || config.hidden_act !== "gelu") {
      const got = `${config.model_type} with ${config.hidden_act}`;
      throw new Error(`config.json must be of model_type "bert" with hidden_act "gelu"; it is of ${got}.`);
    }
    this.config = config;
    this.tensors = tensors;
    this.maskId = maskId;
    this.prefix = "bert.embeddings.word_embeddings.weight" in tensors ? "bert." : "";
    this.hasMLMHead = "cls.predictions.bias" in tensors;
    const { hidden_size, intermediate_size, max_position_embeddings: longest, vocab_size: vocabulary } = config;
    const sizes = { longest, widest: Math.max(hidden_size, intermediate_size), vocabulary };
    this.product = fast ? fastProduct(tensors, sizes) : plainProduct;
  }

  /**
   * @param {number[]} ids L token ids, with [CLS] and [SEP]
   * @param {number[]} segments 0 for the first text, 1 for the second
   * @returns {{ hiddenStates: Float32Array[], attentions: Float32Array[] }} the embeddings and each layer's result,
   *   (L, D); each layer's weights, (H, L, L), where row i of a head is whom token i attends to
   */
  forward(ids, segments = ids.map(() => 0)) {
    this.check(ids, segments);
    let x = this.embed(ids, segments);
    const hiddenStates = [x];
    const attentions = [];
    for (let layer = 0; layer < this.config.num_hidden_layers; layer++) {
      const name = `${this.prefix}encoder.layer.${layer}`;
      const self = ["query", "key", "value"].map((part) => this.linear(`${name}.attention.self.${part}`, x));
      const { context, weights } = attend(...self, ids.length, this.config.num_attention_heads);
      const attended = this.linear(`${name}.attention.output.dense`, context);
      x = this.addAndNormalize(`${name}.attention.output.LayerNorm`, x, attended);
      const inner = this.linear(`${name}.intermediate.dense`, x).map(gelu);
      x = this.addAndNormalize(`${name}.output.LayerNorm`, x, this.linear(`${name}.output.dense`, inner));
      hiddenStates.push(x);
      attentions.push(weights);
    }
    return { hiddenStates, attentions };
  }

  /** The k likeliest tokens at a position of the last hidden states, [{ id, probability }, ...], and all V of them. */
  predict(hidden, position, k = 5) {
    const probabilities = softmaxInPlace(this.logits(hidden, position));
    const top = indicesOfLargest(probabilities, k).map((id) => ({ id, probability: probabilities[id] }));
    return { top, probabilities };
  }

  /** log P(the token at a position | all others): it is hidden behind [MASK]. */
  logProbability(ids, position, segments = undefined) {
    const hiddenIds = ids.map((id, i) => (i === position ? this.maskId : id));
    const logits = this.logits(this.forward(hiddenIds, segments).hiddenStates.at(-1), position);
    const largest = logits.reduce((a, b) => Math.max(a, b));
    const total = logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0);
    return logits[ids[position]] - largest - Math.log(total);
  }

  /** How likely a text is: the sum of log P over its tokens between [CLS] and [SEP] (Salazar et al. 2020, eq. 1). */
  pseudoLogLikelihood(ids) {
    return ids.slice(1, -1).reduce((sum, _, i) => sum + this.logProbability(ids, i + 1), 0);
  }

  /** A score for each token of the vocabulary at a position of the last hidden states. */
  logits(hidden, position) {
    if (!this.hasMLMHead) throw new Error("this model has no MLM head (cls.predictions), and so predicts no token.");
    const D = this.config.hidden_size;
    const row = hidden.subarray(position * D, (position + 1) * D);
    const transformed = this.linear("cls.predictions.transform.dense", row).map(gelu);
    const x = this.addAndNormalize("cls.predictions.transform.LayerNorm", transformed, new Float32Array(D));
    const embeddings = this.weights(`${this.prefix}embeddings.word_embeddings.weight`); // tied
    return this.product(x, embeddings, this.weights("cls.predictions.bias"));
  }

  /** Word + position + segment, then layer normalization. */
  embed(ids, segments) {
    const D = this.config.hidden_size;
    const name = `${this.prefix}embeddings`;
    const [words, positions, kinds] = ["word", "position", "token_type"]
      .map((kind) => this.weights(`${name}.${kind}_embeddings.weight`));
    const x = new Float32Array(ids.length * D);
    for (let l = 0; l < ids.length; l++) {
      for (let d = 0; d < D; d++) {
        x[l * D + d] = words[ids[l] * D + d] + positions[l * D + d] + kinds[segments[l] * D + d];
      }
    }
    return this.addAndNormalize(`${name}.LayerNorm`, x, new Float32Array(x.length));
  }

  linear(name, x) {
    return this.product(x, this.weights(`${name}.weight`), this.weights(`${name}.bias`));
  }

  /** Layer normalization of x + y, row by row. */
  addAndNormalize(name, x, y) {
    const gain = this.weights(`${name}.weight`);
    const bias = this.weights(`${name}.bias`);
    const D = gain.length;
    const result = x.map((value, i) => value + y[i]);
    for (let start = 0; start < x.length; start += D) {
      const row = result.subarray(start, start + D);
      let mean = 0;
      let variance = 0;
      for (let d = 0; d < D; d++) mean += row[d] / D;
      for (let d = 0; d < D; d++) variance += (row[d] - mean) ** 2 / D;
      const scale = 1 / Math.sqrt(variance + this.config.layer_norm_eps);
      for (let d = 0; d < D; d++) row[d] = (row[d] - mean) * scale * gain[d] + bias[d];
    }
    return result;
  }

  weights(name) {
    if (name in this.tensors) return this.tensors[name].data;
    throw new Error(`model.safetensors must have ${name}, as F32, F16 or I8; it has not.`);
  }

  check(ids, segments) {
    const { max_position_embeddings: most, vocab_size: V, type_vocab_size: kinds } = this.config;
    if (ids.length < 1 || ids.length > most) throw new RangeError(`expected 1 to ${most} tokens; got ${ids.length}.`);
    const isBelow = (size) => (id) => Number.isInteger(id) && id >= 0 && id < size;
    if (!ids.every(isBelow(V))) throw new RangeError(`ids must be from 0 to ${V - 1}; got ${ids.join(" ")}.`);
    if (segments.length !== ids.length || !segments.every(isBelow(kinds))) {
      throw new RangeError(`segments must be ${ids.length} numbers below ${kinds}; got ${segments.join(" ")}.`);
    }
  }
}

/** Scaled dot-product attention of H heads, which lie side by side in the columns of query, key and value (L, D). */
function attend(query, key, value, L, H) {
  const D = query.length / L;
  const d = D / H;
  const context = new Float32Array(L * D);
  const weights = new Float32Array(H * L * L);
  for (let h = 0; h < H; h++) {
    for (let i = 0; i < L; i++) {
      const q = i * D + h * d;
      const row = weights.subarray((h * L + i) * L, (h * L + i + 1) * L);
      for (let j = 0; j < L; j++) {
        const k = j * D + h * d;
        let score = 0;
        for (let n = 0; n < d; n++) score += query[q + n] * key[k + n];
        row[j] = score / Math.sqrt(d);
      }
      softmaxInPlace(row);
      for (let j = 0; j < L; j++) {
        const v = j * D + h * d;
        for (let n = 0; n < d; n++) context[q + n] += row[j] * value[v + n];
      }
    }
  }
  return { context, weights };
}

/** Exponentials over their sum. */
function softmaxInPlace(scores) {
  const largest = scores.reduce((a, b) => Math.max(a, b));
  let sum = 0;
  for (let i = 0; i < scores.length; i++) sum += scores[i] = Math.exp(scores[i] - largest);
  for (let i = 0; i < scores.length; i++) scores[i] /= sum;
  return scores;
}

/** x Φ(x). The error function is Abramowitz & Stegun's 7.1.26, which is off by at most 1.5e-7. */
function gelu(x) {
  const z = Math.abs(x) * Math.SQRT1_2;
  const t = 1 / (1 + 0.3275911 * z);
  const series = (((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592;
  const tail = series * t * Math.exp(-z * z);
  return 0.5 * x * (x < 0 ? tail : 2 - tail);
}

/** The indices of the k largest values, largest first; of equal ones the first. */
function indicesOfLargest(values, k) {
  const best = [];
  for (let i = 0; i < values.length; i++) {
    if (best.length === k && values[i] <= values[best[k - 1]]) continue;
    let place = best.length;
    while (place > 0 && values[best[place - 1]] < values[i]) place--;
    best.splice(place, 0, i);
    if (best.length > k) best.pop();
  }
  return best;
}

/** Cosine of two vectors. */
function cosine(a, b) {
  let ab = 0;
  let aa = 0;
  let bb = 0;
  for (let i = 0; i < a.length; i++) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return ab / Math.sqrt(aa * bb);
}
