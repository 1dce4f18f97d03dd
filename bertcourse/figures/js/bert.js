// BERT in plain JavaScript: weights, tokenizer, encoder and MLM head, for a page of the site or for node, without a
// library and without a network. It needs characters.js, and runs in whatever scope both are put into.
//
//   const { tokenizer, model } = readBert(files);   // "config.json", "vocab.txt" and "model.safetensors" as ArrayBuffers
//   const tokens = tokenizer.encode("The [MASK] barked.");
//   const { hiddenStates, attentions } = model.forward(tokens.map((token) => token.id));
//   model.predict(hiddenStates.at(-1), 2, 5).top;    // the five likeliest tokens at position 2
//
// Shapes as in the lectures: L tokens, D hidden size, H heads, V vocabulary. A matrix is a Float32Array, row after row.
// One sequence at a time, so that nothing is padded and nothing masked.

/** Tokenizer and model of a folder as `save_pretrained` writes it: { tokenizer, model }. */
function readBert(files) {
  const text = (name) => new TextDecoder().decode(files[name]);
  const vocabulary = text("vocab.txt").replace(/\r/g, "").replace(/\n$/, "").split("\n");
  return {
    tokenizer: new WordPiece(vocabulary),
    model: new Bert(JSON.parse(text("config.json")), readSafetensors(files["model.safetensors"])),
  };
}

// ---- Weights --------------------------------------------------------------------------------------------------------

/**
 * A .safetensors file as { name: { shape, data } }: eight bytes with the length of a header, the header in JSON, then all
 * numbers. Float32, float16, and int8 with a float32 scale for each row ("<name>.scale") all become float32.
 */
function readSafetensors(buffer) {
  const size = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
  delete header.__metadata__;
  const tensors = {};
  for (const [name, { dtype, shape, data_offsets: [start, end] }] of Object.entries(header)) {
    const bytes = buffer.slice(8 + size + start, 8 + size + end);
    if (dtype === "F32") tensors[name] = { shape, data: new Float32Array(bytes) };
    else if (dtype === "F16") tensors[name] = { shape, data: Float32Array.from(new Uint16Array(bytes), fromHalf) };
    else if (dtype === "I8") tensors[name] = { shape, data: Float32Array.from(new Int8Array(bytes)) };
    else throw new TypeError(`expected weights in F32, F16 or I8; ${name} is in ${dtype}.`);
  }
  for (const [name, { data: scale }] of Object.entries(tensors)) {
    if (!name.endsWith(".scale")) continue;
    const { shape: [, width], data } = tensors[name.slice(0, -".scale".length)];
    for (let i = 0; i < data.length; i++) data[i] *= scale[Math.floor(i / width)];
  }
  return tensors;
}

/** The number that 16 bits stand for (IEEE 754: 1 bit of sign, 5 of exponent, 10 of fraction). */
function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 25) * (1024 + fraction) : 2 ** -24 * fraction);
}

// ---- Tokenizer ------------------------------------------------------------------------------------------------------

const SPECIAL = /(\[(?:PAD|UNK|CLS|SEP|MASK)\])/;
const LONGEST_WORD = 100;

/** BERT's tokenizer, lower case: normalization, then in each word the longest pieces, from the left. */
class WordPiece {
  constructor(vocabulary) {
    this.vocabulary = vocabulary;
    this.ids = new Map(vocabulary.map((token, id) => [token, id]));
    this.longest = Math.max(...vocabulary.map((token) => token.length));
  }

  /**
   * The tokens of a text, between [CLS] and [SEP]: a list of { id, token, start, end, word }. What a token stands for is
   * text.slice(start, end); tokens of one word have the same number. [CLS] and [SEP] are of no word.
   */
  encode(text) {
    const tokens = [this.special("[CLS]", 0, 0, null)];
    let word = 0;
    let start = 0;
    for (const section of text.split(SPECIAL)) {
      if (SPECIAL.test(section)) tokens.push(this.special(section, start, start + section.length, word++));
      else for (const placed of wordsOf(section, start)) tokens.push(...this.pieces(placed, word++));
      start += section.length;
    }
    return [...tokens, this.special("[SEP]", start, start, null)];
  }

  /** Two texts in a row, each with its [SEP]: { tokens, segments }. */
  encodePair(first, second) {
    const [before, after] = [this.encode(first), this.encode(second).slice(1)];
    return { tokens: [...before, ...after], segments: [...before.map(() => 0), ...after.map(() => 1)] };
  }

  special(token, start, end, word) {
    return { id: this.ids.get(token), token, start, end, word };
  }

  /** The tokens of a word; [UNK] for the whole word if nothing fits somewhere. */
  pieces(placed, word) {
    const unknown = [this.special("[UNK]", placed[0].start, placed.at(-1).end, word)];
    if (placed.length > LONGEST_WORD) return unknown;
    const found = [];
    for (let from = 0, to; from < placed.length; from = to) {
      const prefix = from ? "##" : "";
      to = Math.min(placed.length, from + this.longest);
      const fits = () => this.ids.has(prefix + placed.slice(from, to).map((part) => part.character).join(""));
      while (to > from && !fits()) to--;
      if (to === from) return unknown;
      const token = prefix + placed.slice(from, to).map((part) => part.character).join("");
      found.push(this.special(token, placed[from].start, placed[to - 1].end, word));
    }
    return found;
  }
}

/** BERT's words in a text: lists of { character, start, end }, each normalized character with its place. */
function wordsOf(text, offset) {
  const words = [[]];
  for (const { character: old, start, end } of placedCharacters(text, offset)) {
    for (const character of normalized(old)) {
      if (character === " ") words.push([]);
      else words.at(-1).push({ character, start, end });
    }
  }
  return words.filter((word) => word.length > 0);
}

/**
 * The characters of a text with their places. Where one of them is a mark that changes places with others, they are
 * decomposed and in Unicode's canonical order, and a mark takes the place of the one that stood there.
 */
function placedCharacters(text, offset) {
  const placed = [];
  for (const character of text) {
    placed.push({ character, start: offset, end: offset + character.length });
    offset += character.length;
  }
  if (!FLOATING.test(text)) return placed;
  const kept = placed.filter(({ character }) => !DROPPED.has(character.codePointAt(0)));
  const begins = new Map(); // for each part, in order, whether it is the first of its character
  for (const { character } of kept) {
    [...character.normalize("NFD")].forEach((part, i) => begins.set(part, [...(begins.get(part) ?? []), i === 0]));
  }
  let source = -1;
  return [...kept.map(({ character }) => character).join("").normalize("NFD")].map((character) => {
    source += begins.get(character).shift() ? 1 : 0;
    return { ...kept[source], character };
  });
}

// ---- Model ----------------------------------------------------------------------------------------------------------

/** BERT as it was published, with the norm after each residual (Devlin et al. 2019), from Hugging Face's names. */
class Bert {
  constructor(config, tensors) {
    this.config = config;
    this.tensors = tensors;
    this.prefix = "bert.embeddings.word_embeddings.weight" in tensors ? "bert." : "";
    this.hasHead = "cls.predictions.bias" in tensors;
  }

  /**
   * { hiddenStates, attentions } of a sequence of ids. Hidden states: the embeddings and each layer's result, (L, D).
   * Attentions: each layer's weights, (H, L, L); row i of a head is whom token i attends to.
   */
  forward(ids, segments = ids.map(() => 0)) {
    const { num_hidden_layers: layers, max_position_embeddings: most, num_attention_heads: heads } = this.config;
    if (ids.length > most) throw new RangeError(`expected at most ${most} tokens; got ${ids.length}.`);
    let x = this.embed(ids, segments);
    const hiddenStates = [x];
    const attentions = [];
    for (let layer = 0; layer < layers; layer++) {
      const name = `${this.prefix}encoder.layer.${layer}`;
      const [query, key, value] = ["query", "key", "value"].map((part) => this.linear(`${name}.attention.self.${part}`, x));
      const { context, weights } = attend(query, key, value, ids.length, heads);
      x = this.addAndNormalize(`${name}.attention.output.LayerNorm`, x, this.linear(`${name}.attention.output.dense`, context));
      const inner = this.linear(`${name}.intermediate.dense`, x).map(gelu);
      x = this.addAndNormalize(`${name}.output.LayerNorm`, x, this.linear(`${name}.output.dense`, inner));
      hiddenStates.push(x);
      attentions.push(weights);
    }
    return { hiddenStates, attentions };
  }

  /** What the MLM head makes of a position of the last hidden states: the k likeliest tokens, and all probabilities. */
  predict(hidden, position, k = 5) {
    const { hidden_size: size } = this.config;
    const head = "cls.predictions";
    let x = hidden.slice(position * size, (position + 1) * size);
    x = this.linear(`${head}.transform.dense`, x).map(gelu);
    x = this.addAndNormalize(`${head}.transform.LayerNorm`, x, new Float32Array(size));
    const rows = this.tensors[`${this.prefix}embeddings.word_embeddings.weight`].data; // shared with the embeddings
    const probabilities = toWeights(matrixProduct(x, rows, this.tensors[`${head}.bias`].data));
    const top = largest(probabilities, k).map((id) => ({ id, probability: probabilities[id] }));
    return { top, probabilities };
  }

  /** Pseudo-log-likelihood: each token hidden in turn, its log-probability, and their sum (Salazar et al. 2020). */
  score(ids, mask) {
    return ids.slice(1, -1).reduce((sum, id, i) => {
      const hidden = this.forward(ids.map((other, j) => (j === i + 1 ? mask : other))).hiddenStates.at(-1);
      return sum + Math.log(this.predict(hidden, i + 1, 1).probabilities[id]);
    }, 0);
  }

  /** Token, position and segment: the sum of three rows for each token, normalized. */
  embed(ids, segments) {
    const { hidden_size: size } = this.config;
    const name = `${this.prefix}embeddings`;
    const [words, positions, kinds] = ["word", "position", "token_type"].map(
      (kind) => this.tensors[`${name}.${kind}_embeddings.weight`].data,
    );
    const x = new Float32Array(ids.length * size);
    for (let l = 0; l < ids.length; l++) {
      for (let d = 0; d < size; d++) {
        x[l * size + d] = words[ids[l] * size + d] + positions[l * size + d] + kinds[segments[l] * size + d];
      }
    }
    return this.addAndNormalize(`${name}.LayerNorm`, x, new Float32Array(x.length));
  }

  linear(name, x) {
    return matrixProduct(x, this.tensors[`${name}.weight`].data, this.tensors[`${name}.bias`].data);
  }

  /** Layer normalization of x + y, row by row. */
  addAndNormalize(name, x, y) {
    const gain = this.tensors[`${name}.weight`].data;
    const bias = this.tensors[`${name}.bias`].data;
    const size = gain.length;
    const result = new Float32Array(x.length);
    for (let row = 0; row < x.length; row += size) {
      let mean = 0;
      let variance = 0;
      for (let d = 0; d < size; d++) mean += (x[row + d] + y[row + d]) / size;
      for (let d = 0; d < size; d++) variance += (x[row + d] + y[row + d] - mean) ** 2 / size;
      const scale = 1 / Math.sqrt(variance + this.config.layer_norm_eps);
      for (let d = 0; d < size; d++) result[row + d] = (x[row + d] + y[row + d] - mean) * scale * gain[d] + bias[d];
    }
    return result;
  }
}

/**
 * x Wᵀ + b for x (L, I) and W (O, I), as PyTorch keeps it. Four rows of x meet two of W at a time, so that what is read
 * from memory once serves several products.
 */
function matrixProduct(x, W, b) {
  const O = b.length;
  const I = W.length / O;
  const L = x.length / I;
  const y = new Float32Array(L * O);
  for (let o = 0; o < O; o += 2) {
    const o2 = Math.min(o + 1, O - 1); // where O is odd, the last row is done twice
    for (let l = 0; l < L; l += 4) {
      const [l2, l3, l4] = [1, 2, 3].map((more) => Math.min(l + more, L - 1));
      let [a1, a2, a3, a4] = [b[o], b[o], b[o], b[o]];
      let [c1, c2, c3, c4] = [b[o2], b[o2], b[o2], b[o2]];
      for (let i = 0; i < I; i++) {
        const u = W[o * I + i];
        const v = W[o2 * I + i];
        const [x1, x2, x3, x4] = [x[l * I + i], x[l2 * I + i], x[l3 * I + i], x[l4 * I + i]];
        a1 += u * x1; a2 += u * x2; a3 += u * x3; a4 += u * x4;
        c1 += v * x1; c2 += v * x2; c3 += v * x3; c4 += v * x4;
      }
      y[l * O + o] = a1; y[l2 * O + o] = a2; y[l3 * O + o] = a3; y[l4 * O + o] = a4;
      y[l * O + o2] = c1; y[l2 * O + o2] = c2; y[l3 * O + o2] = c3; y[l4 * O + o2] = c4;
    }
  }
  return y;
}

/** Scaled dot-product attention of H heads, which stand side by side in the columns of query, key and value (L, D). */
function attend(query, key, value, L, H) {
  const D = query.length / L;
  const d = D / H;
  const context = new Float32Array(L * D);
  const weights = new Float32Array(H * L * L);
  for (let head = 0; head < H; head++) {
    for (let i = 0; i < L; i++) {
      const row = weights.subarray((head * L + i) * L, (head * L + i + 1) * L);
      const q = i * D + head * d;
      for (let j = 0; j < L; j++) {
        const k = j * D + head * d;
        let score = 0;
        for (let n = 0; n < d; n++) score += query[q + n] * key[k + n];
        row[j] = score / Math.sqrt(d);
      }
      toWeights(row);
      for (let j = 0; j < L; j++) {
        const v = j * D + head * d;
        for (let n = 0; n < d; n++) context[q + n] += row[j] * value[v + n];
      }
    }
  }
  return { context, weights };
}

/** Softmax, in place. */
function toWeights(row) {
  let top = -Infinity;
  let sum = 0;
  for (let j = 0; j < row.length; j++) top = Math.max(top, row[j]);
  for (let j = 0; j < row.length; j++) sum += row[j] = Math.exp(row[j] - top);
  for (let j = 0; j < row.length; j++) row[j] /= sum;
  return row;
}

/** x Φ(x), with the error function of Abramowitz & Stegun, 7.1.26, which is off by 1.5e-7 at most. */
function gelu(x) {
  const z = Math.abs(x) * Math.SQRT1_2;
  const t = 1 / (1 + 0.3275911 * z);
  const powers = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const tail = powers * Math.exp(-z * z);
  return 0.5 * x * (x < 0 ? tail : 2 - tail);
}

/** The places of the k largest values, the largest first. */
function largest(values, k) {
  const best = [];
  for (let i = 0; i < values.length; i++) {
    if (best.length === k && values[i] <= values[best[k - 1]]) continue;
    best.splice(best.findLastIndex((j) => values[j] >= values[i]) + 1, 0, i);
    best.length = Math.min(best.length, k);
  }
  return best;
}

/** The cosine of two vectors. */
function cosine(a, b) {
  let [ab, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return ab / Math.sqrt(aa * bb);
}
