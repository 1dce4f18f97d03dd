// The playground's page: five panels that ask a worker and draw its answers with views.js. Before this stand kit.js,
// views.js, and two constants that playground.py writes: WORKER_CODE, the worker's script, and MODELS, whose files lie
// beside the page.

// Each with the number of the word that is hidden at first.
const SENTENCES = [
  ["She sat on the bank of the river and looked at the water.", 4],
  ["He had no money in the bank.", 4],
  ["The old [MASK] rode to the castle.", null],
  ["She opened the door and looked into the dark room.", 3],
];
const ATTENDED = [
  "The bank was steep, and it was muddy.",
  "She gave the king a letter, and he read it.",
  "The dog that chased the cats was old.",
];
// Each with what its button says and the word. One sense lies nearer than two, but in the hard case it does not.
const COMPARED = [
  ["bank: river, money", "bank", "We sat on the bank of the river.", "He put his money in the bank."],
  ["bank: river, river", "bank", "We sat on the bank of the river.", "He swam to the other bank of the river."],
  ["bank: money, money", "bank", "He put his money in the bank.", "She took her savings out of the bank."],
  ["bank: a hard case", "bank", "My father worked in a bank in London.", "The bank lent him the money."],
  ["light", "light", "He turned on the light in the hall.", "The box was light and easy to carry."],
  ["spring", "spring", "In spring the trees are green.", "They drank the cold water of the spring."],
];
const SENSES = [
  "The children slid down the muddy bank into the stream.",
  "The bank would not lend him another penny.",
  "He struck a match and lit the lamp.",
  "The mouse ran under the kitchen table.",
  "The king addressed his soldiers before the battle.",
];
// Measured by tests/test_playground.py: the course's BERT is wrong about the last three.
const PAIRS = [
  ["I saw him yesterday.", "I saw he yesterday."],
  ["She had read this letter twice.", "She had read these letter twice."],
  ["He has broken the window.", "He has broke the window."],
  ["Nobody has ever seen him.", "Everybody has ever seen him."],
  ["The man hurt himself.", "The man hurt themselves."],
  ["Only Tom has ever seen a lion.", "Even Tom has ever seen a lion."],
  ["The boys who know the captain are brave.", "The boys who know the captain is brave."],
  ["The key to the old houses was lost.", "The key to the old houses were lost."],
];
const LONGEST = 160; // characters of a sentence: what a screen can show of its attention
const NAMES = { course: "the course's BERT", minilm: "MiniLM" };
const PANEL_STYLE = `
:host { margin: 0.6em 0 2em; }
.field { display: block; margin: 0.5em 0; }
.field span { display: block; color: var(--soft); font-size: 0.9em; }
.field input { width: 100%; box-sizing: border-box; font: inherit; font-size: 1.1em; color: inherit;
  background: var(--panel); border: 1px solid var(--soft); border-radius: 8px; padding: 0.45em 0.7em; }
.examples { display: flex; flex-wrap: wrap; gap: 0.4em; margin: 0.4em 0 0.9em; }
.examples button { font-size: 0.87em; text-align: left; }
.caption { margin: 0.6em 0; color: var(--soft); min-height: 1.4em; }
.caption.failed { color: var(--ink); font-weight: 650; }
.two { display: grid; grid-template-columns: 1fr 1fr; gap: 0 1em; }
progress { width: min(100%, 24em); accent-color: #0a7fc4; }
@container (max-width: 520px) { .two { grid-template-columns: minmax(0, 1fr); } }
`;

// ---- The worker ----------------------------------------------------------------------------------------------------

const worker = new Worker(URL.createObjectURL(new Blob([WORKER_CODE], { type: "text/javascript" })));
const waiting = new Map(); // the number of a question to what becomes of its answer
let questions = 0;

worker.onmessage = ({ data: { id, result, error } }) => {
  const { resolve, reject } = waiting.get(id);
  waiting.delete(id);
  if (error) reject(new Error(error));
  else resolve(result);
};

/** The worker's answer, as a promise. */
function ask(task, question) {
  return new Promise((resolve, reject) => {
    waiting.set(++questions, { resolve, reject });
    worker.postMessage({ id: questions, task, ...question });
  });
}

/** A function that may be called at every key: while an answer is awaited, only the newest call waits for its turn. */
function newest(action) {
  let busy = false, next = null;
  const run = async (...given) => {
    if (busy) {
      next = given;
      return;
    }
    busy = true;
    try {
      await action(...given);
    } finally {
      busy = false;
    }
    if (next) {
      const latest = next;
      next = null;
      run(...latest);
    }
  };
  return run;
}

/** Load a model's parts, one script after the other, and hand them to the worker; `progress` hears of the share. */
async function loadModel(model, progress) {
  for (let number = 0, of = 1; number < of; number++) {
    const part = await loadPart(`playground/${model}/${String(number).padStart(2, "0")}.js`);
    of = part.of;
    await ask("part", { ...part, number });
    progress((number + 1) / of);
  }
  return ask("read", { model });
}

/** One part of a model: a script that calls bertcoursePart. The worker cannot load it: it may not read the disk. */
function loadPart(address) {
  return new Promise((resolve, reject) => {
    let part = null;
    window.bertcoursePart = (about, base64) => { part = { ...about, base64 }; };
    const finish = (settle) => () => {
      script.remove();
      settle();
    };
    const script = h("script", {
      src: address,
      onload: finish(() => (part ? resolve(part) : reject(new Error(`${address} holds no part of a model`)))),
      onerror: finish(() => reject(new Error(`${address} cannot be read. Copy the whole site, not this page alone`))),
    });
    document.head.append(script);
  });
}

// ---- What panels are made of ---------------------------------------------------------------------------------------

/** Fill a panel of the page; a caption stands under it. */
function panel(name, ...children) {
  const host = document.querySelector(`[data-panel="${name}"]`), caption = h("div", { class: "caption" });
  const stage = h("div", { class: "stage" }, ...children, caption);
  host.attachShadow({ mode: "open" }).append(h("style", {}, STYLE, VIEW_STYLE, PANEL_STYLE), stage);
  return {
    host,
    /** Say what is drawn: at once for those who see; for those who listen, if it is their doing, after a pause. */
    say(text) {
      caption.classList.remove("failed");
      caption.textContent = text;
      if (host.shadowRoot.activeElement) speak(text);
    },
    fail(error) {
      caption.classList.add("failed");
      caption.textContent = `This failed: ${error.message}. Load the page again.`;
      throw error;
    },
  };
}

const UNSEEN = "position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden";
const spoken = h("div", { class: "spoken", "aria-live": "polite", style: UNSEEN });
document.querySelector("[data-panel]").before(spoken);
let speaking;
const speak = (text) => {
  clearTimeout(speaking);
  speaking = setTimeout(() => { spoken.textContent = text; }, 900);
};

/** A line to type a sentence into. */
function field(label, value, change) {
  const plain = { spellcheck: "false", autocapitalize: "off", autocomplete: "off" };
  const input = h("input", { type: "text", value, maxlength: LONGEST, ...plain });
  input.addEventListener("input", () => change(input.value));
  return { node: h("label", { class: "field" }, h("span", {}, label), input), input };
}

/** Buttons with examples. */
function examples(label, texts, choose) {
  return h("div", { class: "examples", role: "group", "aria-label": label },
    texts.map((text, i) => h("button", { type: "button", onclick: () => choose(i) }, text)));
}

let chosenModel = "course";
const redraws = []; // of the panels that any model can fill
const starts = []; // of all panels, once the course's BERT is read

// ---- The models ----------------------------------------------------------------------------------------------------

function modelPanel() {
  const progress = h("progress", { max: 1, value: 0, "aria-label": "reading the model" });
  const label = "the model of the panels on attention, layers and senses";
  const choices = h("div", { class: "examples", role: "group", "aria-label": label });
  const { host, say, fail } = panel("models", progress, choices);
  const read = {};
  const loading = {}; // so that a second press waits for the first
  const load = (model) => (loading[model] ??= (async () => {
    [progress.value, progress.hidden] = [0, false];
    say(`Reading ${NAMES[model]} …`);
    try {
      read[model] = await loadModel(model, (share) => { progress.value = share; });
    } catch (error) {
      delete loading[model];
      fail(error);
    } finally {
      progress.hidden = true;
    }
  })());
  const choose = async (model) => {
    if (!read[model]) await load(model);
    chosenModel = model;
    showChoices();
    redraws.forEach((redraw) => redraw());
  };
  const showChoices = () => {
    const focused = host.shadowRoot.activeElement?.dataset.model;
    choices.replaceChildren(...(MODELS.length < 2 ? [] : MODELS).map((model) => h("button", {
      type: "button", "data-model": model, "aria-pressed": String(model === chosenModel), onclick: () => choose(model),
    }, read[model] ? NAMES[model] : `load ${NAMES[model]}, too (31 MB)`)));
    choices.querySelector(`[data-model="${focused}"]`)?.focus();
    const { weights, layers, heads } = read[chosenModel];
    const limits = " It cannot fill in words, so the first panel and the last keep to the course's BERT.";
    const size = `${(weights / 1e6).toFixed(1)} million weights, ${layers} layers of ${heads} heads.`;
    say(`In use: ${NAMES[chosenModel]}, ${size}${chosenModel === "minilm" ? limits : ""}`);
  };
  load("course").then(() => {
    showChoices();
    host.dataset.ready = "";
    starts.forEach((start) => start());
  });
}

// ---- The five panels -----------------------------------------------------------------------------------------------

/** 1. What would BERT put in place of a word? */
function fillPanel() {
  let [text, word] = SENTENCES[0], tokens = [], places = [];
  const line = field("A sentence", text, () => update());
  const tokenButtons = tokenView({
    label: "words; press one to hide it",
    choose: (next) => { word = next === word ? null : next; update(); },
  });
  const write = (place, token) => { // into the sentence, in place of what was hidden
    const { start, end } = tokens[places[place].position], text = line.input.value;
    line.input.value = text.slice(0, start) + token.replace(/^##(?=.)/, "") + text.slice(end);
    if (places[place].original) word = null;
    line.input.focus(); // the bar that was pressed is gone
    update();
  };
  const bars = predictionView({ choose: write });
  const { say, fail } = panel("fill", line.node,
    examples("example sentences", SENTENCES.map(([text]) => text), (i) => {
      [line.input.value, word] = SENTENCES[i];
      tokens = []; // nothing is left of the old sentence
      update();
    }),
    tokenButtons.node, bars.node);
  const update = newest(async () => {
    const question = { model: "course", text: line.input.value, word };
    ({ tokens, places, word } = await askAfterEdit("fill", question, tokens).catch(fail));
    tokenButtons.show({ tokens, word });
    say(bars.show(places) || "Nothing is hidden. Press a word, or type [MASK].");
  });
  starts.push(update);
}

/** An answer about a word of a sentence that was edited since; `word` is then its number in the new sentence. */
async function askAfterEdit(task, question, old) {
  const read = await ask(task, question), word = movedWord(old, read.tokens, question.word);
  return word === question.word ? { ...read, word } : { ...(await ask(task, { ...question, word })), word };
}

/** The number of a word after its sentence was edited: it counts from the end if the edit was before it. */
function movedWord(old, tokens, word) {
  if (word == null || !old.length) return word;
  const at = old.findIndex((token) => token.word === word);
  let same = 0;
  while (same < old.length && old[same].id === tokens[same]?.id) same++;
  if (same > at) return word;
  const number = tokens[tokens.length - (old.length - at)];
  return number && number.id === old[at].id ? number.word : tokens.some((token) => token.word === word) ? word : null;
}

/** 2. Whom does each head attend to? */
function attendPanel() {
  const line = field("A sentence", ATTENDED[0], () => update());
  const view = attentionView({ changed: (text) => say(text) });
  const { say, fail } = panel("attend", line.node,
    examples("example sentences", ATTENDED, (i) => {
      line.input.value = ATTENDED[i];
      update();
    }),
    view.node);
  const update = newest(async () => {
    const read = await ask("attend", { model: chosenModel, text: line.input.value }).catch(fail);
    say(view.show(read));
  });
  starts.push(update);
  redraws.push(update);
}

/** 3. How alike are a word's vectors in two sentences? */
function comparePanel() {
  const texts = COMPARED[0].slice(2);
  let word = COMPARED[0][1];
  const [first, second] = ["First sentence", "Second sentence"].map((label, i) =>
    field(label, texts[i], () => update()));
  const shared = h("div", { class: "examples", role: "group", "aria-label": "words of both sentences" });
  const chart = layerChart();
  const choose = (i) => {
    [, word, first.input.value, second.input.value] = COMPARED[i];
    update();
  };
  const names = COMPARED.map(([name]) => name);
  const { host, say, fail } = panel("compare", examples("example pairs", names, choose),
    h("div", { class: "two" }, first.node, second.node), shared, chart.node);
  const update = newest(async () => {
    const question = { model: chosenModel, first: first.input.value, second: second.input.value, word };
    const read = await ask("compare", question).catch(fail);
    const focused = host.shadowRoot.activeElement?.dataset.word;
    const press = (text) => () => { word = text; update(); };
    shared.replaceChildren(...read.shared.map((text) => h("button", {
      type: "button", "data-word": text, "aria-pressed": String(text === read.word), onclick: press(text),
    }, text)));
    if (focused) shared.querySelector(`[data-word="${CSS.escape(focused)}"]`)?.focus();
    chart.node.hidden = read.word == null;
    if (read.word == null) return say("The two sentences share no word. Write one that is in both.");
    const ends = (values) => [values[0], values.at(-1)].map((value) => fixed(value, 2)).join(" to ");
    const chance = fixed(read.expected.at(-1), 2);
    say(`The cosine of the two “${read.word}” goes from ${ends(read.raw)}, where two random words are at ${chance}; ` +
      `standardized, from ${ends(read.standardized)}, where two random words are at 0.`);
    chart.show({
      title: `Cosine of “${read.word}” in two sentences`,
      lines: [
        { name: "raw", values: read.raw, color: "var(--group0)" },
        { name: "standardized", values: read.standardized, color: "var(--group1)" },
        { name: "random words", values: read.expected, color: "var(--soft)", dashed: true },
      ],
    });
  });
  starts.push(update);
  redraws.push(update);
}

/** 4. Which senses are nearest to a word? */
function nearestPanel() {
  let word = null, tokens = []; // null is the first of the 26 words that the sentence has
  const line = field("A sentence", SENSES[0], () => update());
  const change = h("input", { type: "checkbox", onchange: () => update() });
  const tokenButtons = tokenView({
    label: "words; press one to find its senses",
    choose: (next) => { word = next; update(); },
  });
  const list = senseView();
  const { say, fail } = panel("nearest", line.node,
    examples("example sentences", SENSES, (i) => {
      [line.input.value, word, tokens] = [SENSES[i], null, []];
      update();
    }),
    tokenButtons.node, h("label", { class: "check" }, change, "standardized"), list.node);
  const update = newest(async () => {
    const question = { model: chosenModel, text: line.input.value, word, isStandardized: change.checked };
    const read = await askAfterEdit("nearest", question, tokens).catch(fail);
    ({ tokens, word } = read);
    tokenButtons.show({ tokens, word: read.asked });
    list.show(read.senses.slice(0, 8));
    if (read.asked == null) return say("Write a sentence.");
    const own = read.senses.find((sense) => sense.own), share = percent(read.accuracy);
    say(own
      ? `Of the senses of ${own.word}, the nearest is: ${own.label}. ` +
        `So asked, ${NAMES[chosenModel]} is right in ${share} of 576 test sentences.`
      : `“${read.text}” is none of the 26 words, so the list says only what it is like.`);
  });
  starts.push(update);
  redraws.push(update);
}

/** 5. Which of two sentences does BERT take for English? */
function pairPanel() {
  const pairs = PAIRS.map(([good, bad]) => ({ good, bad, scores: null }));
  const own = { good: "The letters on the table are old.", bad: "The letters on the table is old.", scores: null };
  const view = pairView(), ownView = pairView();
  const [good, bad] = ["Your own: the good one", "and the bad one"].map((label, i) =>
    field(label, [own.good, own.bad][i], () => readOwn()));
  const { say, fail } = panel("pairs", view.node, h("div", { class: "two" }, good.node, bad.node), ownView.node);
  const scored = (text) => ask("score", { model: "course", text }).catch(fail);
  let summary = "";
  const readOwn = newest(async () => {
    Object.assign(own, { good: good.input.value, bad: bad.input.value });
    own.scores = [await scored(own.good), await scored(own.bad)];
    ownView.show([own]);
    say(`${summary} Your own pair: ${verdictOf(own.scores)}.`);
  });
  starts.push(async () => {
    for (const pair of pairs) { // one after the other, so that the other panels' questions come between
      pair.scores = [await scored(pair.good), await scored(pair.bad)];
      summary = `${view.show(pairs)}.`;
      say(summary);
    }
    readOwn();
  });
  view.show(pairs);
}

fillPanel();
attendPanel();
comparePanel();
nearestPanel();
pairPanel();
modelPanel();
