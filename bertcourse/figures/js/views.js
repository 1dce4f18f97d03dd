// What a model computed, drawn: tokens, predictions, attention, cosines, senses, pairs of sentences. A view takes
// numbers and does not care where they come from, a model in the page or Python. It is {node, show}: `node` is put
// somewhere once, `show(numbers)` draws, and returns in words what is drawn, for a caption or a screen reader.
// Whoever uses a view puts VIEW_STYLE into the same shadow root, after kit.js's STYLE.

const VIEW_STYLE = `
.tokens { display: flex; flex-wrap: wrap; gap: 0.5em 0.3em; align-items: center; }
.tokens button { padding: 0.25em 0.6em; min-height: 2.2em; white-space: pre; }
.tokens button.inside { margin-left: -0.3em; border-left-style: dotted; border-radius: 0 7px 7px 0; }
.tokens button[aria-pressed="true"] { border-style: dashed; border-width: 2px; font-weight: 650; }
.tokens span { color: var(--soft); font-size: 0.87em; padding: 0 0.2em; }
.view-title { font-weight: 650; margin: 0.8em 0 0.2em; }
.row { display: grid; grid-template-columns: minmax(5em, 9em) 1fr 4.6em; gap: 0.7em; align-items: center; width: 100%;
  box-sizing: border-box; padding: 0.1em 0.3em; min-height: 1.9em; }
button.row { border-color: transparent; background: none; text-align: left; }
.row .name { text-align: right; overflow: hidden; text-overflow: ellipsis; }
.row .value { color: var(--soft); font-size: 0.9em; text-align: right; }
.senses .row { grid-template-columns: minmax(6.5em, 17em) 1fr 3.4em; }
.row.marked .name { font-weight: 650; }
.row.marked .name::before { content: "▸ "; }
.track { display: block; height: 0.75em; background: var(--panel); border-radius: 4px; overflow: hidden; }
.track i { display: block; height: 100%; background: var(--plus); transition: width 0.2s; }
.row.marked .track i { background: var(--hot); }
.heads { display: grid; gap: 3px; align-items: center; font-size: 0.75em; text-align: center; margin-bottom: 0.6em; }
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

/** A button for each layer and head, with its map of a sentence: only what can be seen, in four shades. */
function headGrid(layers, heads, { L, weight }, choose) {
  const map = (layer, head) => {
    const shades = ["", "", "", ""];
    for (let i = 0; i < L; i++) {
      for (let j = 0; j < L; j++) {
        const w = weight(layer, head, i, j);
        if (w > 0.06) shades[Math.min(3, Math.floor(4 * w))] += `M${j} ${i}.5h1`;
      }
    }
    return h("svg", { viewBox: `0 0 ${L} ${L}`, "aria-hidden": true },
      shades.map((d, shade) => h("path", { d, stroke: "var(--plus)", "stroke-opacity": 0.25 + 0.25 * shade })));
  };
  const buttons = range(layers).map((layer) => range(heads).map((head) => {
    const label = `layer ${layer}, head ${head}`;
    return h("button", { type: "button", "aria-label": label, onclick: () => choose(layer, head) }, map(layer, head));
  }));
  const name = (number) => h("span", { class: "soft" }, number);
  const columns = `grid-template-columns: 1.3em repeat(${heads}, 1fr); max-width: ${3.2 * heads + 2}em`;
  const label = "a button for each layer and head";
  const node = h("div", { class: "heads", style: columns, role: "group", "aria-label": label },
    h("span"), range(heads).map(name), buttons.map((row, layer) => [name(layer), row]));
  let chosen = [0, 0];
  const update = (layer, head) => {
    chosen = [layer, head];
    buttons.flat().forEach((button) => {
      button.setAttribute("aria-pressed", button === buttons[layer][head]);
      button.tabIndex = button === buttons[layer][head] ? 0 : -1; // one stop for the tab key, arrows within
    });
  };
  const focus = () => buttons[chosen[0]][chosen[1]].focus();
  const move = (down, across) => () => {
    choose((chosen[0] + down + layers) % layers, (chosen[1] + across + heads) % heads);
    focus();
  };
  onKeys(node, { ArrowUp: move(-1, 0), ArrowDown: move(1, 0), ArrowLeft: move(0, -1), ArrowRight: move(0, 1) });
  return { node, update };
}

/** A sentence twice, who asks and who is attended to, with a line for each weight; `point` hears of {side, place}. */
function attentionLines({ words, L, weight }, longest, point) {
  const isLong = L > 18, step = isLong ? 17 : 25, number = 36, name = 8 * longest + 8, y = (i) => 34 + i * step;
  const left = number + name, right = left + 118, middle = (left + right) / 2, width = right + name + number;

  const listed = [0, 1].map((side) => words.map((word, place) => {
    const show = () => point({ side, place }), leave = () => point(null);
    return h("text", {
      x: side ? right + 8 : left - 8, y: y(place) + 5, "text-anchor": side ? "start" : "end", "font-size": isLong ? 13 : 14,
      fill: "var(--ink)", tabindex: 0, role: "button",
      "aria-label": `${word}: ${side ? "who attends to it" : "whom it attends to"}`,
      onpointerenter: show, onpointerleave: leave, onfocus: show, onblur: leave, onclick: show,
    }, word);
  }));
  const heading = (text, x, anchor) =>
    h("text", { x, y: 12, "text-anchor": anchor, "font-size": 12, fill: "var(--soft)" }, text);
  const lines = h("g", { fill: "none", stroke: "var(--plus)", "stroke-linecap": "round" });
  const numbers = h("g", { class: "numbers", "font-size": 11.5, fill: "var(--soft)" });
  const svg = h("svg", {
    viewBox: `0 0 ${width} ${y(L - 1) + 18}`, class: "sentence", role: "group", "aria-label": words.join(" "),
    style: isLong && `max-width: ${width}px`,
  }, heading("this token …", left - 8, "end"), heading("… attends to", right + 8, "start"), lines, listed, numbers);

  const lineOf = (w, i, j, strong) => h("path", {
    d: `M${left} ${y(i)}C${middle} ${y(i)} ${middle} ${y(j)} ${right} ${y(j)}`,
    "stroke-width": (0.6 + 5 * w).toFixed(2),
    "stroke-opacity": (strong ? 0.25 + 0.75 * w : 0.1 + 0.85 * w).toFixed(2),
  });
  const numberOf = (w, i, j, side) =>
    h("text", side ? { x: 2, y: y(i) + 4 } : { x: width - 2, y: y(j) + 4, "text-anchor": "end" }, fixed(w, 3));
  const update = (layer, head, at) => {
    const paths = [], texts = [];
    for (let i = 0; i < L; i++) {
      for (let j = 0; j < L; j++) {
        const w = weight(layer, head, i, j);
        const chosen = at && at.place === (at.side ? j : i);
        if (at ? chosen && w >= 0.005 : w > 0.03) paths.push(lineOf(w, i, j, at));
        if (chosen && w >= 0.005) texts.push(numberOf(w, i, j, at.side));
      }
    }
    lines.replaceChildren(...paths);
    numbers.replaceChildren(...texts);
    listed.forEach((column, side) => column.forEach((node, place) =>
      node.setAttribute("font-weight", at?.side === side && at.place === place ? 700 : 400)));
  };
  return { svg, update };
}

/** One head as a map: a row for each token that asks, a column for each that is attended to; a cell if it is seen. */
function attentionMap({ words, L, weight }, layer, head) {
  const cell = 22, side = 7 * Math.max(...words.map((word) => word.length)) + 10, end = side + L * cell;
  const label = (word, anchor, place) =>
    h("text", { "text-anchor": anchor, "font-size": 13, fill: "var(--soft)", transform: place }, word);
  const left = (word, i) => label(word, "end", `translate(${side - 6} ${side + (i + 0.7) * cell})`);
  const above = (word, i) => label(word, "start", `translate(${side + (i + 0.7) * cell} ${side - 6}) rotate(-90)`);
  const square = (i, j) => h("rect", {
    class: "cell", x: side + j * cell, y: side + i * cell, width: cell - 1, height: cell - 1,
    fill: "var(--plus)", "fill-opacity": weight(layer, head, i, j).toFixed(3), "data-row": i, "data-column": j,
  }, h("title", {}, `${words[i]} → ${words[j]}: ${fixed(weight(layer, head, i, j), 3)}`));
  const told = strongest(words, L, (i, j) => weight(layer, head, i, j));
  return h("svg", {
    viewBox: `0 0 ${end} ${end}`, width: end, height: end, role: "img",
    "aria-label": `Map of the weights of layer ${layer}, head ${head}: ${told}`,
  }, h("rect", { x: side, y: side, width: L * cell, height: L * cell, fill: "var(--panel)" }),
  words.map(left), words.map(above),
  range(L).map((i) => range(L).filter((j) => weight(layer, head, i, j) >= 0.005).map((j) => square(i, j))));
}

/** In words, whom each token attends to most. */
function strongest(words, L, weight) {
  const best = (i) => range(L).reduce((most, j) => (weight(i, j) > weight(i, most) ? j : most), 0);
  return words.map((word, i) => `${word} most to ${words[best(i)]}, ${fixed(weight(i, best(i)), 2)}`).join("; ");
}

/** In words, where the tokens inside a sentence look most, on average, of the places of `habit_shares` in heads.py. */
function habitOf({ words, L, weight }, layer, head) {
  const margin = L > 4 ? 2 : 1, inside = range(L).slice(margin, L - margin);
  const places = [
    ["the token before", (i) => i - 1], ["the token itself", (i) => i], ["the token after", (i) => i + 1],
    [words[0], () => 0], [words[L - 1], () => L - 1],
  ];
  const average = (place) => inside.reduce((sum, i) => sum + weight(layer, head, i, place(i)), 0) / inside.length;
  const [share, name] = places.map(([name, place]) => [average(place), name]).sort((a, b) => b[0] - a[0])[0];
  return share > 0.5
    ? `on average, ${percent(share)} of a token's attention goes to ${name}`
    : "no place gets half of the attention on average";
}

/** In words, the largest weights of the token that is pointed at. */
function pointedAt({ words, L, weight }, layer, head, { side, place }) {
  const of = (other) => (side ? weight(layer, head, other, place) : weight(layer, head, place, other));
  const order = range(L).sort((a, b) => of(b) - of(a));
  const largest = order.slice(0, 3).map((other) => `${words[other]} ${fixed(of(other), 3)}`);
  const verb = side ? "is attended to by" : "attends to";
  return `Layer ${layer}, head ${head}: ${words[place]} ${verb} ${largest.join(", ")}.`;
}

/** A sentence without the tokens [CLS] and [SEP], each row of what is left shared out again to the sum 1. */
function withoutSpecial({ words, weight }) {
  const kept = words.flatMap((word, i) => (isSpecial(word) ? [] : [i]));
  const again = (layer, head, i, j) => {
    const total = kept.reduce((sum, k) => sum + weight(layer, head, kept[i], k), 0);
    return total > 0 ? weight(layer, head, kept[i], kept[j]) / total : 0;
  };
  return { words: kept.map((i) => words[i]), L: kept.length, weight: again };
}

/**
 * All heads to choose from, and the chosen one as lines between words and as a map, with or without [CLS] and [SEP].
 * show({tokens: [text], attentions: [(H, L, L) for each layer, row after row], heads}).
 * `changed` hears in words what is drawn whenever a reader chooses something.
 */
function attentionView({ changed = () => {} } = {}) {
  const without = h("input", { type: "checkbox", onchange: () => changed(draw()) });
  const place = h("div", { class: "attention" });
  const node = h("div", {}, h("label", { class: "check" }, without, "leave out [CLS] and [SEP]"), place);
  let data, layer = 0, head = 0;
  const draw = () => {
    const { tokens, attentions, heads } = data, L = tokens.length;
    const all = { words: tokens, L, weight: (layer, head, i, j) => attentions[layer][(head * L + i) * L + j] };
    const sentence = without.checked ? withoutSpecial(all) : all;
    if (sentence.L === 0) {
      place.replaceChildren("Nothing is left: the sentence has no word.");
      return "Nothing is left.";
    }
    if (layer >= attentions.length || head >= heads) layer = head = 0; // another, smaller model
    const advice = () => `Layer ${layer}, head ${head}: ${habitOf(sentence, layer, head)}. ` +
      "Point at a word, or tab to it, for its numbers.";
    const longest = Math.max(6, ...sentence.words.map((word) => word.length));
    const lines = attentionLines(sentence, longest, (at) => {
      lines.update(layer, head, at);
      changed(at ? pointedAt(sentence, layer, head, at) : advice());
    });
    const grid = headGrid(attentions.length, heads, sentence, (...next) => {
      [layer, head] = next;
      changed(update());
    });
    const title = h("div", { class: "view-title" }), map = h("div", { class: "map" });
    const update = () => {
      grid.update(layer, head);
      lines.update(layer, head, null);
      title.textContent = `Layer ${layer}, head ${head}`;
      map.replaceChildren(attentionMap(sentence, layer, head));
      return advice();
    };
    place.replaceChildren(h("div", {}, grid.node, map), h("div", {}, title, lines.svg));
    return update();
  };
  const show = (next) => {
    data = next;
    return draw();
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
