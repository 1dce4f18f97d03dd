// What a model computed, drawn: tokens, predictions, attention, cosines, senses, pairs of sentences. A view takes
// numbers and does not care where they come from, a model in the page or Python. It is {node, show}: `node` is put
// somewhere once, `show(numbers)` draws, and returns in words what is drawn, for a caption or a screen reader.
// Whoever uses a view puts VIEW_STYLE into the same shadow root, after kit.js's STYLE.

const VIEW_STYLE = `
.tokens { display: flex; flex-wrap: wrap; gap: 0.5em 0.3em; align-items: center; }
.tokens button { padding: 0.25em 0.6em; min-height: 2.2em; white-space: pre; }
.tokens button.inside { margin-left: -0.3em; border-left-style: dotted; border-radius: 0 7px 7px 0; }
.tokens button[aria-pressed="true"] { border-style: dashed; border-width: 2px; font-weight: 650; }
.tokens span { color: var(--soft); font-size: var(--small); padding: 0 0.2em; }
.view-title { font-weight: 650; margin: 0.8em 0 0.2em; }
.row { display: grid; grid-template-columns: minmax(5em, 9em) 1fr 4.6em; gap: 0.7em; align-items: center; width: 100%;
  box-sizing: border-box; padding: 0.1em 0.3em; min-height: 1.9em; }
button.row { border-color: transparent; background: none; text-align: left; }
.row .name { text-align: right; overflow: hidden; text-overflow: ellipsis; }
.row .value { color: var(--soft); font-size: var(--small); text-align: right; }
.senses .row { grid-template-columns: minmax(6.5em, 17em) 1fr 3.4em; }
.row.marked .name { font-weight: 650; }
.row.marked .name::before { content: "▸ "; }
.track { display: block; height: 0.75em; background: var(--panel); border-radius: 4px; overflow: hidden; }
.track i { display: block; height: 100%; background: var(--plus); transition: width 0.2s; }
.row.marked .track i { background: var(--hot); }
.heads { display: grid; gap: 3px; align-items: center; font-size: var(--small); text-align: center;
  margin-bottom: 0.6em; }
.heads button { padding: 1px; border-radius: 3px; line-height: 0; background: none; }
.heads button[aria-pressed="true"] { outline: 2px solid var(--hot); border-color: transparent; background: none; }
.heads svg { width: 100%; }
.sentence { width: 100%; max-width: 28em; margin: 0 auto; }
text[role="button"] { cursor: pointer; }
text[role="button"]:focus-visible { outline: 2px solid var(--plus); border-radius: 3px; }
.attention { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1.2fr); gap: 0.8em 1.8em;
  align-items: start; }
.attention .map { max-width: 24em; margin-top: 0.6em; }
.check { display: inline-flex; gap: 0.5em; align-items: center; margin: 0.5em 0; cursor: pointer; }
.check input { width: 1.1em; height: 1.1em; flex: none; }
.chart { max-width: 32em; }
.pair { display: grid; grid-template-columns: 1fr auto; gap: 0 1em; padding: 0.45em 0;
  border-top: 1px solid var(--line); }
.pair .verdict { grid-row: span 2; align-self: center; text-align: right; white-space: nowrap; }
.pair .wrong { font-weight: 650; }
.pair .score { display: inline-block; min-width: 4.2em; color: var(--soft); }
.pair .better { font-weight: 650; }
@container (max-width: 520px) {
  .attention { grid-template-columns: minmax(0, 1fr); }
  .row { grid-template-columns: minmax(4em, 6.5em) 1fr 4.4em; }
  .senses .row { grid-template-columns: minmax(6em, 10em) 1fr 3.4em; }
  .pair { grid-template-columns: 1fr; } .pair .verdict { text-align: left; order: 1; }
}
`;

const isSpecial = (token) => /^\[(CLS|SEP|PAD)\]$/.test(token);
const range = (number) => Array.from({ length: number }, (_, i) => i);

/** A share as people read it: 31 %, 3.1 %, 0.03 %; the sign stays in its number's line. */
function percent(share) {
  const value = 100 * share;
  const number = value < 0.01 ? "< 0.01" : value.toFixed(value >= 9.95 ? 0 : value >= 0.0995 ? 1 : 2);
  return `${number} %`.replaceAll(" ", "\u00a0");
}

/** Arrows go from button to button, Home and End to the ends; the tab key stops once, at the last one used. */
function oneTabStop(node) {
  const buttons = () => [...node.querySelectorAll("button")];
  const go = (place) => (event) => {
    const all = buttons();
    all[Math.max(0, Math.min(all.length - 1, place(all.indexOf(event.target), all.length)))]?.focus();
  };
  onKeys(node, {
    ArrowRight: go((at) => at + 1), ArrowDown: go((at) => at + 1), ArrowLeft: go((at) => at - 1),
    ArrowUp: go((at) => at - 1), Home: go(() => 0), End: go((at, number) => number - 1),
  });
  const settle = (chosen) => buttons().forEach((button) => { button.tabIndex = button === chosen ? 0 : -1; });
  node.addEventListener("focusin", (event) => settle(event.target));
  return () => settle(node.querySelector('[aria-pressed="true"]') ?? buttons()[0]);
}

/**
 * A sentence's tokens as buttons, a word of them chosen. Pieces of one word stand together.
 * show({tokens: [{token, word}], word}): `word` is the chosen one's number, null for none; [CLS] and [SEP] have null.
 */
function tokenView({ label, choose }) {
  const node = h("div", { class: "tokens", role: "group", "aria-label": label });
  const settle = oneTabStop(node);
  let drawn = ""; // the same buttons stay, so that the keyboard does not lose its place
  const show = ({ tokens, word }) => {
    const texts = JSON.stringify(tokens.map((token) => [token.token, token.word]));
    if (texts !== drawn) {
      node.replaceChildren(...tokens.map((token, i) => {
        if (isSpecial(token.token)) return h("span", {}, token.token);
        const inside = i > 0 && tokens[i - 1].word === token.word;
        const press = { onclick: () => choose(token.word), "data-word": token.word };
        return h("button", { type: "button", class: inside && "inside", ...press }, token.token);
      }));
    }
    for (const button of node.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", word != null && +button.dataset.word === word);
    }
    if (texts !== drawn) settle();
    drawn = texts;
    return tokens.map((token) => token.token).join(" ");
  };
  return { node, show };
}

/** A name, a bar and a number; a button if something happens when it is pressed. */
function barRow({ name, share, value, title, marked, press }) {
  const row = press ? { type: "button", onclick: press } : {};
  return h(press ? "button" : "div", { ...row, class: marked ? "row marked" : "row", title },
    h("span", { class: "name" }, name),
    h("span", { class: "track" }, h("i", { style: `width: ${Math.max(0, 100 * share)}%` })),
    h("span", { class: "value" }, value));
}

/**
 * What a model would put at hidden places, as bars.
 * show([{original, top: [{token, probability, rank}]}]): `original` is the token that was hidden there, or null.
 */
function predictionView({ choose } = {}) {
  const node = h("div", {});
  const title = (original) => (original ? `In place of “${original}”` : "In place of [MASK]");
  const show = (places) => {
    node.replaceChildren(...places.flatMap(({ original, top }, place) => [
      h("div", { class: "view-title" }, title(original)),
      ...top.map(({ token, probability, rank }, i) => barRow({
        name: rank > i + 1 ? `${rank.toLocaleString("en")}. ${token}` : token, // where others stand between
        share: probability, marked: token === original, value: percent(probability),
        title: `number ${rank}: ${fixed(probability, 5)}${choose ? "; press to write it into the sentence" : ""}`,
        press: choose && (() => choose(place, token)),
      })),
    ]));
    const told = ({ original, top }) => {
      const first = top.slice(0, 3).map(({ token, probability }) => `${token} ${percent(probability)}`).join(", ");
      const own = top.find(({ token }) => token === original);
      const rank = own && (own.rank === 1 ? "the first" : `number ${own.rank.toLocaleString("en")}`);
      return `${title(original)}: ${first}.${own ? ` “${original}” itself is ${rank}.` : ""}`;
    };
    return places.map(told).join(" ");
  };
  return { node, show };
}

/** Lines of numbers over layers, from -1 to 1. show({title, lines: [{name, values, color, dashed}]}). */
function layerChart() {
  const node = h("div", { class: "chart" });
  const width = 436, height = 240, left = 40, right = 162, top = 14, bottom = 40;
  const show = ({ title, lines }) => {
    const all = lines.flatMap(({ values }) => values), last = lines[0].values.length - 1;
    const low = Math.min(0, Math.floor(4 * Math.min(...all)) / 4);
    const x = (layer) => left + 12 + (layer * (width - left - right - 12)) / last;
    const y = (value) => top + ((1 - value) * (height - top - bottom)) / (1 - low);
    const text = (at, content, more = {}) =>
      h("text", { x: at[0], y: at[1], "font-size": 13, fill: "var(--soft)", ...more }, content);
    const ticks = range(Math.round((1 - low) / 0.25) + 1).map((i) => low + 0.25 * i);
    const names = spread(lines.map(({ values }) => y(values[last])), 17);
    const drawn = lines.map(({ name, values, color, dashed }, i) => h("g", { class: "line" },
      h("path", {
        d: values.map((value, layer) => `${layer ? "L" : "M"}${x(layer)} ${y(value)}`).join(""), fill: "none",
        stroke: color, "stroke-width": 2.4, "stroke-dasharray": dashed && "6 5",
      }),
      values.map((value, layer) => h("circle", { cx: x(layer), cy: y(value), r: 4.5, fill: color },
        h("title", {}, `${name}, layer ${layer}: ${fixed(value, 3)}`))),
      text([x(last) + 12, names[i] + 4], `${name} ${fixed(values[last], 2)}`, { fill: color, "font-weight": 600 })));
    const listed = (values) => values.map((value) => fixed(value, 2)).join(", ");
    const told = lines.map(({ name, values }) => `${name}: ${listed(values)}`).join("; ");
    node.replaceChildren(h("svg", {
      viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}, by layer from 0 to ${last}. ${told}`,
    },
    ticks.map((tick) => [
      h("line", { x1: left, x2: x(last), y1: y(tick), y2: y(tick), stroke: "var(--line)" }),
      text([left - 8, y(tick) + 4], fixed(tick, 2), { "text-anchor": "end" }),
    ]),
    range(last + 1).map((layer) => text([x(layer), height - bottom + 18], layer, { "text-anchor": "middle" })),
    text([(x(0) + x(last)) / 2, height - 4], "layer (0 is the embeddings)", { "text-anchor": "middle" }), drawn));
    return told;
  };
  return { node, show };
}

/** Places of labels, moved down where they would lie on one another. */
function spread(places, least) {
  const moved = [...places];
  const order = range(places.length).sort((a, b) => places[a] - places[b]);
  order.slice(1).forEach((label, i) => { moved[label] = Math.max(moved[label], moved[order[i]] + least); });
  return moved;
}

/**
 * Senses by cosine, the nearest first.
 * show([{word, label, cosine, own}]): `own` marks the senses of the word that was asked about.
 */
function senseView() {
  const node = h("div", { class: "senses" });
  const show = (senses) => {
    node.replaceChildren(...senses.map(({ word, label, cosine, own }) => barRow({
      name: [h("b", {}, word), ` ${label}`], share: cosine, marked: own, value: fixed(cosine, 3),
      title: `${word}, ${label}: ${fixed(cosine, 5)}`,
    })));
    const told = ({ word, label, cosine }) => `${word} (${label}) ${fixed(cosine, 2)}`;
    return senses.slice(0, 3).map(told).join(", ");
  };
  return { node, show };
}

/** In words, whether the better score is the grammatical sentence's, and by how much. */
function verdictOf(scores) {
  if (!scores) return "being read";
  const lead = scores[0] - scores[1];
  if (lead === 0) return "a tie";
  return lead > 0 ? `right, by ${fixed(lead, 2)}` : `wrong, by ${fixed(-lead, 2)}`;
}

/**
 * Pairs of sentences, the grammatical one first, with a score each that is there or yet to come.
 * show([{good, bad, scores: [number, number] or null}]).
 */
function pairView() {
  const node = h("div", { class: "pairs" });
  const line = (text, score, better) => h("div", { class: better && "better" },
    h("span", { class: "score" }, score == null ? "…" : fixed(score, 2)), " ", text);
  const verdict = (scores) => {
    const words = verdictOf(scores), isWrong = words.startsWith("wrong");
    const sign = isWrong ? "✗ " : words.startsWith("right") ? "✓ " : "";
    return h("span", { class: isWrong ? "wrong" : !scores && "soft" }, sign, words);
  };
  const show = (pairs) => {
    node.replaceChildren(...pairs.map(({ good, bad, scores }) => h("div", { class: "pair" },
      line(good, scores?.[0], scores && scores[0] > scores[1]),
      h("div", { class: "verdict" }, verdict(scores)),
      line(["* ", bad], scores?.[1], scores && scores[0] < scores[1]))));
    const read = pairs.filter(({ scores }) => scores);
    const right = read.filter(({ scores }) => scores[0] > scores[1]).length;
    return `${right} of ${read.length} right${read.length < pairs.length ? " so far" : ""}`;
  };
  return { node, show };
}
