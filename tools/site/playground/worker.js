// The playground's side that computes. It runs in a worker of its own, beside the page, so that typing never waits for
// it. The page hands it a model's files part by part, then asks; every question is answered, in their order.
// Before this stand readBert and cosine, from bert.js.

const SHOWN = 7; // predictions at a hidden place
const LAST_LAYERS = 4; // whose sum tells senses apart (lecture 5)
const MOST_TOKENS = 64; // which a line of the page never has, unless it is all signs

const received = {}; // {model: {file: [bytes]}}, until the model is read
const models = {}; // {model: {tokenizer, model, tables}}

/** The bytes that base64 stands for. */
function fromBase64(text) {
  const characters = atob(text), bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

/** Several pieces of a file as one ArrayBuffer. */
function joined(pieces) {
  const whole = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0));
  let start = 0;
  for (const piece of pieces) {
    whole.set(piece, start);
    start += piece.length;
  }
  return whole.buffer;
}

/** A sentence's tokens, the last ones left out if it is too long. */
function tokensOf({ tokenizer }, text) {
  const tokens = tokenizer.encode(text);
  return tokens.length > MOST_TOKENS ? [...tokens.slice(0, MOST_TOKENS - 1), tokens.at(-1)] : tokens;
}

const idsOf = (tokens) => tokens.map((token) => token.id);
const spelled = ({ tokenizer }, id) => tokenizer.vocabulary[id];

/** What the model would put at the tokens of a word, and at each [MASK] that stands in the text itself. */
function fill(reader, { text, word }) {
  const { tokenizer, model } = reader, tokens = tokensOf(reader, text), mask = tokenizer.ids.get("[MASK]");
  const isHidden = (token) => token.id === mask || (token.word === word && word != null);
  const { hiddenStates } = model.forward(tokens.map((token) => (isHidden(token) ? mask : token.id)));
  const predict = (token, position) => {
    const { top, probabilities } = model.predict(hiddenStates.at(-1), position, SHOWN);
    const rows = top.map(({ id, probability }, i) => ({ token: spelled(reader, id), probability, rank: i + 1 }));
    if (token.id === mask) return { position, original: null, top: rows };
    const rank = probabilities.reduce((above, probability) => above + (probability > probabilities[token.id]), 1);
    if (rank > SHOWN) rows.push({ token: token.token, probability: probabilities[token.id], rank });
    return { position, original: token.token, top: rows };
  };
  return { tokens, places: tokens.flatMap((token, i) => (isHidden(token) ? [predict(token, i)] : [])) };
}

/** The weights of all heads on a sentence. */
function attend(reader, { text }) {
  const tokens = tokensOf(reader, text), { attentions } = reader.model.forward(idsOf(tokens));
  return { tokens: tokens.map((token) => token.token), attentions, heads: reader.model.config.num_attention_heads };
}

/** A sentence's words, each with its place and its vector in each layer: the mean of its tokens'. */
function wordVectors(reader, text) {
  const tokens = tokensOf(reader, text), { hiddenStates } = reader.model.forward(idsOf(tokens));
  const D = reader.model.config.hidden_size, words = new Map();
  tokens.forEach((token, i) => {
    if (token.word == null) return;
    if (!words.has(token.word)) words.set(token.word, { start: token.start, positions: [] });
    Object.assign(words.get(token.word), { end: token.end }).positions.push(i);
  });
  return [...words].map(([word, { start, end, positions }]) => ({
    word, positions, text: text.slice(start, end).toLowerCase(),
    layers: hiddenStates.map((states) => range(D).map((d) => mean(positions.map((i) => states[i * D + d])))),
  }));
}

const range = (number) => Array.from({ length: number }, (_, i) => i);
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const standardized = (vector, { mean, scale }) => vector.map((value, d) => (value - mean[d]) / scale[d]);

/** The cosine of one word in two sentences, layer by layer, raw and standardized. */
function compare(reader, { first, second, word }) {
  const [one, two] = [first, second].map((text) => wordVectors(reader, text));
  const isWord = ({ text }) => /[\p{L}\p{N}]/u.test(text);
  const texts = new Set(one.filter(isWord).map(({ text }) => text));
  const shared = [...texts].filter((text) => two.some((other) => other.text === text));
  const rarity = (text) => reader.tokenizer.ids.get(text) ?? Infinity; // frequent words come early in a vocabulary
  const rarest = shared.reduce((best, text) => (rarity(text) > rarity(best) ? text : best), shared[0] ?? null);
  const chosen = shared.includes(word) ? word : rarest;
  if (chosen == null) return { shared, word: null };
  const [a, b] = [one, two].map((words) => words.find(({ text }) => text === chosen).layers);
  const { layers } = reader.tables;
  return {
    shared, word: chosen,
    raw: a.map((vector, layer) => cosine(vector, b[layer])),
    standardized: a.map((vector, l) => cosine(standardized(vector, layers[l]), standardized(b[l], layers[l]))),
    expected: layers.map(({ expected }) => expected),
  };
}

/** All senses of the course's 26 words by their cosine with a word of a sentence, the nearest first. */
function nearest(reader, { text, word, isStandardized }) {
  const words = wordVectors(reader, text), { forms, senses, sum, accuracy } = reader.tables;
  const tokens = tokensOf(reader, text), hasSenses = (each) => Object.hasOwn(forms, each.text);
  const asked = words.find((each) => each.word === word) ?? words.find(hasSenses) ?? words[0];
  if (!asked) return { tokens, asked: null, senses: [] };
  const last = asked.layers.slice(-LAST_LAYERS);
  const change = (vector) => (isStandardized ? standardized(vector, sum) : vector);
  const vector = change(last[0].map((_, d) => last.reduce((total, layer) => total + layer[d], 0)));
  const lemma = Object.hasOwn(forms, asked.text) ? forms[asked.text] : null;
  const ranked = senses.map((sense) => ({
    word: sense.word, label: sense.label, own: sense.word === lemma, cosine: cosine(vector, change(sense.vector)),
  })).sort((a, b) => b.cosine - a.cosine);
  const share = isStandardized ? accuracy.standardized : accuracy.raw;
  return { tokens, asked: asked.word, text: asked.text, senses: ranked, accuracy: share };
}

/** How likely a sentence is: each token is hidden in its turn, and the logs of their probabilities are added up. */
function score(reader, { text }) {
  return reader.model.pseudoLogLikelihood(idsOf(tokensOf(reader, text)));
}

const QUESTIONS = { fill, attend, compare, nearest, score };
const COMMANDS = {
  /** A part of a file has come. */
  part({ model, file, number, base64 }) {
    if (number === 0) received[model] = {}; // whatever an earlier try has left
    ((received[model] ??= {})[file] ??= []).push(fromBase64(base64));
  },
  /** All parts have come. */
  read({ model }) {
    const whole = Object.entries(received[model]).map(([file, pieces]) => [file, joined(pieces)]);
    const { "tables.json": tables, ...files } = Object.fromEntries(whole);
    delete received[model];
    models[model] = { ...readBert(files), tables: JSON.parse(new TextDecoder().decode(tables)) };
    const { config, tensors } = models[model].model;
    const weights = Object.values(tensors).reduce((sum, { data }) => sum + data.length, 0);
    return { weights, layers: config.num_hidden_layers, heads: config.num_attention_heads };
  },
};

self.onmessage = ({ data: { id, task, ...question } }) => {
  try {
    const result = COMMANDS[task] ? COMMANDS[task](question) : QUESTIONS[task](models[question.model], question);
    self.postMessage({ id, result });
  } catch (error) {
    self.postMessage({ id, error: error.message });
  }
};
