// What heads attend to, drawn: a small map of each head, lines between two copies of a sentence, one map with its
// weights, and the three together. It needs views.js before it.

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
  const isLong = L > 18, step = isLong ? 17 : 25, number = 46, name = 9.2 * longest + 10, y = (i) => 34 + i * step;
  const left = number + name, right = left + 118, middle = (left + right) / 2, width = right + name + number;

  const listed = [0, 1].map((side) => words.map((word, place) => {
    const show = () => point({ side, place }), leave = () => point(null);
    return h("text", {
      x: side ? right + 8 : left - 8, y: y(place) + 5, "text-anchor": side ? "start" : "end",
      "font-size": isLong ? 13 : 14, fill: "var(--ink)", tabindex: 0, role: "button",
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
  }, heading("this token …", 2, "start"), heading("… attends to", width - 2, "end"), lines, listed, numbers);

  const lineOf = (w, i, j, strong) => h("path", {
    d: `M${left} ${y(i)}C${middle} ${y(i)} ${middle} ${y(j)} ${right} ${y(j)}`,
    "stroke-width": (0.6 + 5 * w).toFixed(2),
    "stroke-opacity": (strong ? 0.25 + 0.75 * w : 0.1 + 0.85 * w).toFixed(2),
  });
  const numberOf = (w, i, j, side) =>
    h("text", side ? { x: 2, y: y(i) + 4 } : { x: width - 2, y: y(j) + 4, "text-anchor": "end" }, fixed(w, 2));
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
