// The playground's page: five panels that ask a worker and draw its answers with views.js. Before this stand kit.js,
// views.js, and three constants that playground.py writes: WORKER_CODE, the worker's script, MODELS, whose files lie
// beside the page, and OPENING, the sentence that the page opens with.

// What the panels offer to begin with: first what the course's BERT gets, then what it does not, and why. A preset may
// have `fails`, the reason; tests/site/test_playground.py measures that the others succeed, and each reason.

// OPENING is the first of these: playground.py computes its answer for the page that has not read its model yet.
const SENTENCES = [
  { text: OPENING },
  { text: "He drank a glass of [MASK]." },
  { text: "He took off his [MASK] and bowed." },
  { text: "They [MASK] to London last week." },
  { text: "She was so tired that she fell [MASK] at once." },
  { text: "The dog and the [MASK] sat by the fire.",
    fails: "It repeats the noun before the gap. Write “doctor” in place of “dog”, and it answers “doctor”." },
  { text: "The capital of France is [MASK].",
    // counted, in capitals or not, in the two sets of books, without the five that are held out
    fails: "Its books hardly ever say so: “capital of France” stands four times in 354 of them." },
  { text: "She sat on the bank of the river and looked at the water.", word: 4,
    fails: "It hardly hears “river”: write “house” in its place and “garden” in place of “water”, and “back” and " +
      "“side” are still among the first three." },
  { text: "He had no money in the bank.", word: 5,
    fails: "It hardly hears “money”: write “friend” in its place, and “house” is still the first." },
];
// Each with a layer, a head and a word whose attention is worth a look, in the course's BERT and in MiniLM.
const ATTENDED = [
  { text: "She opened the door and looked out into the garden.", course: [1, 3, "into"], minilm: [3, 1, "into"] },
  { text: "He put the letter on the table and went into the house.", course: [1, 3, "on"], minilm: [1, 7, "into"] },
  { text: "She gave the king a letter, and he read it.", course: [0, 3, "he"], minilm: [1, 3, "he"] },
  { text: "The bank was steep, and it was muddy.", course: [0, 3, "it"], minilm: [3, 1, "it"],
    fails: "No head leads from “it” to “bank” with more than a quarter of its attention." },
  { text: "The dog that chased the cats was old.", course: [0, 3, "was"], minilm: [5, 11, "was"],
    fails: "No head leads from “was” to its subject, “dog”, with more than a fifth of its attention." },
  { text: "She sailed to the bank and tied up the boat.", course: [1, 3, "bank"], minilm: [5, 7, "bank"],
    fails: "No head leads from “bank” to “tied” with more than a fifth of its attention." },
  { text: "He walked to the bank and asked for a small loan.", course: [1, 3, "bank"], minilm: [5, 7, "bank"],
    fails: "Its vocabulary has “loan” in two pieces only, and no head leads from “bank” to them with more than a " +
      "fifth of its attention." },
];
// Each with what its button says and the word.
const COMPARED = [
  { name: "bank: river, money", word: "bank",
    texts: ["We sat on the bank of the river.", "He put his money in the bank."] },
  { name: "bank: river, river", word: "bank",
    texts: ["We sat on the bank of the river.", "He swam to the other bank of the river."] },
  { name: "bank: money, money", word: "bank",
    texts: ["He put his money in the bank.", "She took her savings out of the bank."] },
  { name: "light: lamp, weight", word: "light",
    texts: ["He turned on the light in the hall.", "The box was light and easy to carry."] },
  { name: "spring: season, water", word: "spring",
    texts: ["In spring the trees are green.", "They drank the cold water of the spring."] },
  { name: "bank: one meaning", word: "bank",
    texts: ["My father worked in a bank in London.", "The bank lent him the money."],
    fails: "One meaning, and yet the two are less alike than river and money. The word stands in two places of its " +
      "sentence, and here the place counts for more; the next example turns that round." },
  { name: "bank: two meanings", word: "bank",
    texts: ["The bank lent him the money.", "The bank hid them from the road."],
    fails: "Two meanings, and yet the two are more alike than in the example before. The word stands in the same " +
      "place of both sentences." },
];
const SENSES = [
  { text: "The children slid down the muddy bank into the stream." },
  { text: "The bank would not lend him another penny." },
  { text: "They drank from a spring in the woods." },
  { text: "He struck a match and lit the lamp." },
  { text: "The king addressed his soldiers before the battle." },
  { text: "The cat watched a mouse in the kitchen.",
    fails: "It takes the animal for the device. Of the 16 sentences behind “small rodent” five say “mice”, of those " +
      "behind “pointing device” only one. Without the plurals the rodent would be nearer: it compares forms, too." },
];
// The reason is shown where the course's BERT is wrong.
const PAIRS = [
  { good: "I saw him yesterday.", bad: "I saw he yesterday." },
  { good: "She had read this letter twice.", bad: "She had read these letter twice." },
  { good: "He has broken the window.", bad: "He has broke the window." },
  { good: "Nobody has ever seen him.", bad: "Everybody has ever seen him." },
  { good: "The man hurt himself.", bad: "The man hurt themselves." },
  { good: "The key to the old houses was lost.", bad: "The key to the old houses were lost." },
  { good: "Only Tom has ever seen a lion.", bad: "Even Tom has ever seen a lion.",
    fails: "It finds “Even” likelier than “Only”, and does not mind “ever”: leave that out, and the lead " +
      "hardly changes." },
  { good: "The boys who know the captain are brave.", bad: "The boys who know the captain is brave.",
    fails: "The noun beside the verb decides. Write “captains”, and it is right. Across “to the old houses”, which is " +
      "no clause, it has learned to look for the subject." },
];
const LONGEST = 160; // characters of a sentence: what a screen can show of its attention
const FAILS = "The course's BERT fails on these";
const NAMES = { course: "the course's BERT", minilm: "MiniLM" };
const PANEL_STYLE = `
:host { margin: 0.6em 0 2em; }
.field { display: block; margin: 0.5em 0; }
.field span { display: block; color: var(--soft); font-size: 0.9em; }
.field input { width: 100%; box-sizing: border-box; font: inherit; font-size: 1.1em; color: inherit;
  background: var(--panel); border: 1px solid var(--soft); border-radius: 8px; padding: 0.45em 0.7em; }
.examples { display: flex; flex-wrap: wrap; gap: 0.4em; margin: 0.4em 0 0.9em; }
.examples button { font-size: 0.87em; text-align: left; }
.examples .label { flex-basis: 100%; color: var(--soft); font-size: 0.87em; }
.note { margin: 0.6em 0; padding-left: 0.8em; border-left: 3px solid var(--hot); }
.note:empty { display: none; }
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

/**
 * A function that may be called at every key: while an answer is awaited, only the newest call waits for its turn. What
 * it does hears from `isOld()` whether a newer call waits, and then leaves the page to that.
 */
function newest(action) {
  let busy = false, isWaiting = false;
  const run = async () => {
    if (!isRead) return; // every panel starts once the model is read
    isWaiting = busy;
    if (busy) return;
    busy = true;
    try {
      await action(() => isWaiting);
    } finally {
      busy = false;
    }
    if (isWaiting) run();
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
    /** Put something under the caption. */
    add(node) {
      stage.append(node);
    },
    /** Say what is drawn: at once for those who see; for those who listen, if it is their doing, after a pause. */
    say(text, note = "") {
      caption.classList.remove("failed");
      caption.textContent = text;
      if (host.shadowRoot.activeElement) speak(`${note} ${text}`.trim());
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

/** Buttons with presets, those that fail after the others, and `note`, which says why if the one in use fails. */
function examples(label, presets, choose) {
  const note = h("div", { class: "note" });
  const button = (preset) => h("button", { type: "button", onclick: () => use(preset) },
    preset.fails ? h("span", { "aria-hidden": "true" }, "✗ ") : [], preset.name ?? preset.text);
  const buttons = new Map(presets.map((preset) => [preset, button(preset)]));
  let used = null;
  const use = (preset) => {
    mark(preset);
    choose(preset);
  };
  /** The preset in use, null for none; why it fails, if it does, by itself or by what is given. */
  const mark = (preset, reason = preset?.fails) => {
    used = preset;
    buttons.forEach((button, each) => button.setAttribute("aria-pressed", each === preset));
    note.textContent = reason ? `It fails here. ${reason}` : "";
  };
  const group = (name, some) => h("div", { class: "examples", role: "group", "aria-label": name },
    h("span", { class: "label", "aria-hidden": "true" }, `${name}:`), some.map((preset) => buttons.get(preset)));
  const [good, bad] = [presets.filter(({ fails }) => !fails), presets.filter(({ fails }) => fails)];
  mark(presets[0]);
  return { node: h("div", {}, group(label, good), group(FAILS, bad)), note, mark, used: () => used };
}

let chosenModel = "course";
const redraws = []; // of the panels that any model can fill
const starts = []; // of all panels, once the course's BERT is read
const hearers = []; // of how far that is
let isRead = false;

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
      read[model] = await loadModel(model, (share) => {
        progress.value = share;
        if (!isRead) hearers.forEach((hear) => hear(`Reading ${NAMES[model]} … ${Math.round(100 * share)} %`));
      });
    } catch (error) {
      delete loading[model];
      if (!isRead) hearers.forEach((hear) => hear(`${NAMES[model]} could not be read.`));
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
    isRead = true;
    host.dataset.ready = "";
    starts.forEach((start) => start());
  });
}

// ---- The five panels -----------------------------------------------------------------------------------------------

/** 1. What would BERT put in place of a word? */
function fillPanel() {
  let { text, word = null } = SENTENCES[0], tokens = [], places = [];
  const edit = () => {
    presets.mark(null);
    update();
  };
  const line = field("A sentence", text, edit);
  const tokenButtons = tokenView({
    label: "words; press one to hide it",
    choose: (next) => { word = next === word ? null : next; edit(); },
  });
  const write = (place, token) => { // into the sentence, in place of what was hidden
    const { start, end } = tokens[places[place].position], text = line.input.value;
    line.input.value = text.slice(0, start) + token.replace(/^##(?=.)/, "") + text.slice(end);
    if (places[place].original) word = null;
    line.input.focus(); // the bar that was pressed is gone
    edit();
  };
  const bars = predictionView({ choose: write });
  const presets = examples("Try these", SENTENCES, (preset) => {
    ({ text: line.input.value, word = null } = preset);
    tokens = []; // nothing is left of the old sentence
    update();
  });
  bars.node.append(h("slot")); // what the page has for its first sentence, until the model is read
  const { say, fail, add } = panel("fill", line.node, tokenButtons.node, presets.note, bars.node);
  add(presets.node);
  const update = newest(async (isOld) => {
    const question = { model: "course", text: line.input.value, word };
    const read = await askAfterEdit("fill", question, tokens).catch(fail);
    if (isOld()) return;
    ({ tokens, places, word } = read);
    tokenButtons.show({ tokens, word });
    say(bars.show(places) || "Nothing is hidden. Press a word, or type [MASK].", presets.note.textContent);
  });
  starts.push(update);
  hearers.push(say);
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
  const line = field("A sentence", ATTENDED[0].text, () => {
    presets.mark(null);
    update();
  });
  const view = attentionView({ changed: (text) => say(text) });
  let next = ATTENDED[0]; // whose head is to be shown
  const presets = examples("Try these", ATTENDED, (preset) => {
    line.input.value = preset.text;
    next = preset;
    update();
  });
  const { say, fail } = panel("attend", line.node, presets.node, presets.note, view.node);
  const look = (preset) => { // at the word in the head that the preset names
    const [layer, head, word] = preset[chosenModel];
    view.node.querySelector(`[aria-label="layer ${layer}, head ${head}"]`)?.click();
    view.node.querySelector(`[aria-label="${word}: whom it attends to"]`)?.dispatchEvent(new Event("pointerenter"));
    const isFailing = preset.fails && chosenModel === "course";
    const advice = MODELS.includes("minilm") ? " MiniLM has such a head: load it above." : "";
    presets.mark(preset, isFailing && preset.fails + advice);
  };
  const update = newest(async (isOld) => {
    const read = await ask("attend", { model: chosenModel, text: line.input.value }).catch(fail);
    if (isOld()) return;
    say(view.show(read), presets.note.textContent);
    if (next) look(next);
    next = null;
  });
  starts.push(update);
  redraws.push(() => {
    next = presets.used();
    update();
  });
}

/** 3. How alike are a word's vectors in two sentences? */
function comparePanel() {
  let { word, texts } = COMPARED[0];
  const edit = () => {
    presets.mark(null);
    update();
  };
  const [first, second] = ["First sentence", "Second sentence"].map((label, i) => field(label, texts[i], edit));
  const shared = h("div", { class: "examples", role: "group", "aria-label": "words of both sentences" });
  const chart = layerChart();
  const presets = examples("Try these", COMPARED, (preset) => {
    ({ word, texts: [first.input.value, second.input.value] } = preset);
    update();
  });
  const lines = h("div", { class: "two" }, first.node, second.node);
  const { host, say, fail } = panel("compare", presets.node, lines, shared, presets.note, chart.node);
  const update = newest(async (isOld) => {
    const question = { model: chosenModel, first: first.input.value, second: second.input.value, word };
    const read = await ask("compare", question).catch(fail);
    if (isOld()) return;
    const focused = host.shadowRoot.activeElement?.dataset.word;
    const press = (text) => () => { word = text; edit(); };
    shared.replaceChildren(...read.shared.map((text) => h("button", {
      type: "button", "data-word": text, "aria-pressed": String(text === read.word), onclick: press(text),
    }, text)));
    if (focused) shared.querySelector(`[data-word="${CSS.escape(focused)}"]`)?.focus();
    chart.node.hidden = read.word == null;
    if (read.word == null) return say("The two sentences share no word. Write one that is in both.");
    const ends = (values) => [values[0], values.at(-1)].map((value) => fixed(value, 2)).join(" to ");
    const chance = fixed(read.expected.at(-1), 2);
    say(`The cosine of the two “${read.word}” goes from ${ends(read.raw)}, where two random words are at ${chance}; ` +
      `standardized, from ${ends(read.standardized)}, where two random words are at 0.`, presets.note.textContent);
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
  redraws.push(() => {
    keepReasons(presets);
    update();
  });
}

/** 4. Which senses are nearest to a word? */
function nearestPanel() {
  let word = null, tokens = []; // null is the first of the 26 words that the sentence has
  const edit = () => {
    presets.mark(null);
    update();
  };
  const line = field("A sentence", SENSES[0].text, edit);
  const change = h("input", { type: "checkbox", onchange: () => update() });
  const tokenButtons = tokenView({
    label: "words; press one to find its senses",
    choose: (next) => { word = next; edit(); },
  });
  const list = senseView();
  const presets = examples("Try these", SENSES, (preset) => {
    [line.input.value, word, tokens] = [preset.text, null, []];
    update();
  });
  const { say, fail, add } = panel("nearest", line.node, tokenButtons.node,
    h("label", { class: "check" }, change, "standardized"), presets.note, list.node);
  add(presets.node);
  const update = newest(async (isOld) => {
    const question = { model: chosenModel, text: line.input.value, word, isStandardized: change.checked };
    const read = await askAfterEdit("nearest", question, tokens).catch(fail);
    if (isOld()) return;
    ({ tokens, word } = read);
    tokenButtons.show({ tokens, word: read.asked });
    list.show(read.senses.slice(0, 8));
    if (read.asked == null) return say("Write a sentence.");
    const own = read.senses.find((sense) => sense.own), share = percent(read.accuracy);
    say(own
      ? `Of the senses of ${own.word}, the nearest is: ${own.label}. ` +
        `So asked, ${NAMES[chosenModel]} is right in ${share} of 576 test sentences.`
      : `“${read.text}” is none of the 26 words, so the list says only what it is like.`, presets.note.textContent);
  });
  starts.push(update);
  redraws.push(() => {
    keepReasons(presets);
    update();
  });
}

/** The reasons are measured in the course's BERT; another model's drawing stands without. */
function keepReasons(presets) {
  const used = presets.used();
  presets.mark(used, chosenModel === "course" && used?.fails);
}

/** 5. Which of two sentences does BERT take for English? */
function pairPanel() {
  const pairs = PAIRS.map((pair) => ({ ...pair, scores: null }));
  const own = { good: "The letters on the table are old.", bad: "The letters on the table is old.", scores: null };
  const view = pairView(), ownView = pairView(), wrongs = h("div", {});
  const [good, bad] = ["Your own: the good one", "and the bad one"].map((label, i) =>
    field(label, [own.good, own.bad][i], () => readOwn()));
  const lines = h("div", { class: "two" }, good.node, bad.node);
  const { say, fail } = panel("pairs", view.node, wrongs, lines, ownView.node);
  const scored = (text) => ask("score", { model: "course", text }).catch(fail);
  const isWrong = ({ scores }) => scores && scores[0] < scores[1];
  const show = () => { // what it gets wrong comes last, each with the reason
    view.show(pairs.filter((pair) => !isWrong(pair)));
    wrongs.replaceChildren(...pairs.filter(isWrong).flatMap((pair) => {
      const one = pairView();
      one.show([pair]);
      return [one.node, pair.fails ? h("div", { class: "note" }, pair.fails) : []].flat();
    }));
    const read = pairs.filter(({ scores }) => scores), right = read.filter((pair) => !isWrong(pair));
    return `${right.length} of ${read.length} right${read.length < pairs.length ? " so far" : ""}.`;
  };
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
      summary = show();
      say(summary);
    }
    readOwn();
  });
  show();
}

fillPanel();
attendPanel();
comparePanel();
nearestPanel();
pairPanel();
modelPanel();
