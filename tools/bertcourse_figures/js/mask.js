// Lecture 1: who may attend to whom. A click on a cell of the mask allows or forbids it; the row's weights follow.
// data: {words, scores: [query][key], values: [key][D], masks: [[name, rows of 0 and 1]], start: rows, row}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { words, scores, values } = data;
  const length = words.length;
  state.allowed ??= data.start.map((row) => [...row]);
  state.row ??= data.row;
  state.column ??= length - 1;

  const weightsOf = (row, allowed = state.allowed[row]) => // of no word at all, 0/0, as in the lecture's code
    allowed.some(Boolean) ? softmax(scores[row], allowed.map(Boolean)) : allowed.map(() => NaN);
  const average = (weights) =>
    values[0].map((_, k) => weights.reduce((sum, weight, j) => sum + weight * values[j][k], 0));
  const change = (what) => { Object.assign(state, what); update(); };
  const toggle = (row, column) => {
    state.allowed[row][column] = 1 - state.allowed[row][column];
    change({ row, column });
  };
  const mask = maskOf(words, toggle, (row) => change({ row }));
  const account = accountOf(words, values);

  const move = (down, across) => {
    change({ row: (state.row + down + length) % length, column: (state.column + across + length) % length });
    mask.cells[state.row][state.column].focus();
  };
  const toggleHere = () => toggle(state.row, state.column);
  onKeys(mask.svg, {
    ArrowUp: () => move(-1, 0), ArrowDown: () => move(1, 0), ArrowLeft: () => move(0, -1), ArrowRight: () => move(0, 1),
    " ": toggleHere, Enter: toggleHere,
  });
  const presets = data.masks.map(([name, rows]) => {
    const choose = () => change({ allowed: rows.map((row) => [...row]) });
    return { rows, button: h("button", { onclick: choose }, name) };
  });

  const update = () => {
    const { row, column, allowed } = state;
    const weights = allowed.map((_, i) => weightsOf(i)), output = average(weights[row]);
    mask.update(weights, allowed, row, column);
    account.update(row, allowed[row].map(Boolean), scores[row], weights[row], output);
    const now = JSON.stringify(allowed);
    presets.forEach(({ button, rows }) => button.setAttribute("aria-pressed", JSON.stringify(rows) === now));
    const seen = allowed[row].filter(Boolean).length;
    const free = average(weightsOf(row, words.map(() => 1)));
    const moved = Math.hypot(...output.map((value, k) => value - free[k]));
    say.replaceChildren(
      h("b", {}, `“${words[row]}” may attend to ${seen} of ${length} words. `),
      !seen ? "A softmax of nothing is 0 divided by 0, and each number of the output is NaN."
        : seen === length ? "Its weights sum to 1."
          : `Their weights sum to 1 again; the output is ${fixed(moved, 3)} away from where it is without a mask.`,
    );
  };
  const hint = "Click a cell to hide or show it, a word to follow its row. Start from:";
  bar.append(h("span", { class: "soft" }, hint), ...presets.map(({ button }) => button));
  stage.append(
    h("style", {}, `
      .both { display: grid; gap: 0.6em 2em; align-items: start;
        grid-template-columns: ${mask.width}fr ${account.width}fr; }
      .both.narrow { grid-template-columns: 1fr; }
      .cell, .row { cursor: pointer; }
      .cell:hover rect:last-of-type { stroke: var(--plus); stroke-width: 2; }
      .cell:focus { outline: none; }
      .cell:focus-visible rect:last-of-type { stroke: var(--plus); stroke-width: 3; }
      rect { transition: fill-opacity 0.15s, width 0.15s; }`),
    bar, h("div", { class: narrow ? "both narrow" : "both" }, mask.svg, account.svg), say,
  );
  update();
}

const label = (text, x, y, attributes = {}) =>
  h("text", { x, y, "font-size": 13, fill: "var(--ink)", ...attributes }, text);
const opacity = (share, written) => ((written ? 0.6 : 1) * share).toFixed(3); // a number must be legible on it

/** The mask: a row for each query, a column for each key, the weight or a cross in each cell. */
function maskOf(words, toggle, follow) {
  const longest = 7.4 * Math.max(...words.map((word) => word.length)); // about as wide as a name is written
  const left = longest + 38, top = 0.71 * longest + 42, size = Math.min(40, 300 / words.length);
  const side = words.length * size, written = size > 28;
  const width = left + side + Math.max(12, 5.3 * words.at(-1).length + 8 - size / 2); // the last name leans out

  const cells = words.map((_, i) => words.map((_, j) => {
    const place = { x: left + j * size, y: top + i * size, width: size, height: size };
    const fill = h("rect", { ...place, fill: "var(--plus)" });
    const edge = h("rect", { ...place, fill: "transparent", stroke: "var(--line)" });
    const middle = { "text-anchor": "middle", "font-size": Math.min(12, 0.4 * size) };
    const text = label("", place.x + size / 2, place.y + size / 2 + 4, middle);
    const title = h("title");
    const group = h("g", { class: "cell", role: "checkbox", onclick: () => toggle(i, j) }, fill, edge, text, title);
    return { group, fill, text, title };
  }));
  const rowNames = words.map((word, i) => label(word, left - 8, top + (i + 0.5) * size + 4, {
    class: "row", "text-anchor": "end", onclick: () => follow(i),
  }));
  const columnNames = words.map((word, j) => {
    const x = left + (j + 0.45) * size, y = top - 8;
    return label(word, x, y, { transform: `rotate(-45 ${x} ${y})` });
  });
  const axis = { "text-anchor": "middle", fill: "var(--soft)" }, middle = top + side / 2;
  const axisNames = [
    label("attends from", 11, middle, { ...axis, transform: `rotate(-90 11 ${middle})` }),
    label("to", left + side / 2, 12, axis),
  ];
  const frame = h("rect", {
    x: left, width: side, height: size, rx: 2, fill: "none", stroke: "var(--hot)", "stroke-width": 2,
    "pointer-events": "none",
  });
  const svg = h("svg", {
    viewBox: `0 0 ${width} ${top + side + 6}`, style: `max-width: ${0.08 * width}em`,
    role: "group", "aria-label": "mask: a row for each query, a column for each key",
  }, axisNames, rowNames, columnNames, cells.flat().map(({ group }) => group), frame);

  const update = (weights, allowed, row, column) => {
    cells.forEach((line, i) => line.forEach(({ group, fill, text, title }, j) => {
      const weight = weights[i][j], open = Boolean(allowed[i][j]);
      fill.setAttribute("fill-opacity", opacity(weight || 0, written)); // no opacity is NaN
      text.textContent = !open ? "×" : written ? fixed(weight, 2) : "";
      text.setAttribute("fill", open ? "var(--ink)" : "var(--soft)");
      title.textContent = `${words[i]} → ${words[j]}: ${open ? fixed(weight, 3) : "masked"}`;
      group.setAttribute("aria-label", title.textContent);
      group.setAttribute("aria-checked", open);
      group.setAttribute("tabindex", i === row && j === column ? 0 : -1); // one stop for the tab key, arrows within
    }));
    frame.setAttribute("y", top + row * size);
    rowNames.forEach((node, i) => node.setAttribute("font-weight", i === row ? 650 : 400));
  };
  return { svg, width, update, cells: cells.map((line) => line.map(({ group }) => group)) };
}

/** The row that is followed: score, weight and value of each word, and their sum. */
function accountOf(words, values) {
  const width = 430, step = 27, start = 46, bars = 160, height = 20;
  const size = values[0].length, shown = Math.min(size, 24), written = size <= 4, unit = Math.min(42, 170 / shown);
  const strips = width - shown * unit - 2, longestBar = strips - bars - 62;
  const largest = Math.max(...values.flat().map(Math.abs)) || 1;

  const strip = (y) => Array.from({ length: shown }, (_, k) => {
    const place = { x: strips + k * unit, y, width: unit, height };
    const fill = h("rect", place);
    const edge = h("rect", { ...place, fill: "none", stroke: "var(--line)", "stroke-width": written ? 1 : 0.3 });
    const text = label("", strips + (k + 0.5) * unit, y + 14, { "text-anchor": "middle", "font-size": 11 });
    const title = h("title");
    return { fill, text, title, group: h("g", {}, fill, edge, text, title) };
  });
  const write = (cells, vector, what) => cells.forEach(({ fill, text, title }, k) => {
    fill.setAttribute("fill", vector[k] > 0 ? "var(--plus)" : "var(--minus)");
    fill.setAttribute("fill-opacity", opacity(Math.min(1, Math.abs(vector[k] || 0) / largest), written));
    text.textContent = written ? fixed(vector[k], 2) : "";
    title.textContent = `${what}, number ${k + 1}: ${fixed(vector[k], 3)}`;
  });
  const groups = (cells) => cells.map(({ group }) => group);

  const rows = words.map((word, j) => {
    const y = start + j * step, cells = strip(y);
    write(cells, values[j], `value of ${word}`);
    return {
      cells,
      word: label(word, 4, y + 15),
      score: label("", 150, y + 15, { class: "score", "text-anchor": "end", "font-size": 12, fill: "var(--soft)" }),
      bar: h("rect", { x: bars, y: y + 3, height: 15, rx: 2, fill: "var(--plus)", "fill-opacity": 0.8 }),
      weight: label("", bars, y + 15, { class: "weight", "font-size": 12 }),
    };
  });
  const end = start + words.length * step + 10, output = strip(end);
  const whole = { x: strips, y: end, width: shown * unit, height };
  const frame = h("rect", { ...whole, fill: "none", stroke: "var(--hot)", "stroke-width": 2 });
  const sum = { "text-anchor": "end", "font-weight": 600, fill: "var(--hot)" };
  const heading = (text, x, anchor) =>
    label(text, x, 34, { "text-anchor": anchor, "font-size": 12, fill: "var(--soft)" });
  const whose = label("", 4, 10, { "font-weight": 650 });
  const svg = h("svg", { viewBox: `0 0 ${width} ${end + 24}`, role: "group", "aria-label": "the chosen row" },
    whose, heading("score", 150, "end"), heading("weight", bars, "start"),
    heading(size > shown ? `value (${shown} of ${size})` : "value", strips + (shown * unit) / 2, "middle"),
    rows.map(({ word, score, bar, weight, cells }) => [word, score, bar, weight, groups(cells)]),
    label("output = Σ weight × value", strips - 10, end + 15, sum),
    h("g", { class: "output" }, groups(output), frame));

  const update = (row, allowed, scores, weights, vector) => {
    rows.forEach(({ word, score, bar, weight, cells }, j) => {
      word.setAttribute("fill", allowed[j] ? "var(--ink)" : "var(--soft)");
      score.textContent = allowed[j] ? fixed(scores[j], 2) : "−∞";
      const wide = (weights[j] || 0) * longestBar;
      bar.setAttribute("width", Math.max(wide, 0.6).toFixed(2));
      weight.setAttribute("x", bars + 6 + wide);
      weight.textContent = allowed[j] ? fixed(weights[j], 3) : "masked";
      cells.forEach(({ group }) => group.setAttribute("opacity", allowed[j] ? 1 : 0.35));
    });
    write(output, vector, "output");
    whose.textContent = `row of “${words[row]}”`;
  };
  return { svg, width, update };
}
