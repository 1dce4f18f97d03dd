// Lecture 1: who may attend to whom. A click on a cell of the mask allows or forbids it; the row's weights follow.
// data: {words, scores: [query][key], values: [key][D], masks: [[name, rows of 0 and 1]], start: rows, row}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { words, scores, values } = data;
  const length = words.length, size = values[0].length;
  state.allowed ??= data.start.map((row) => [...row]);
  state.row ??= data.row;
  state.column ??= length - 1;

  const weightsOf = (row, allowed = state.allowed[row]) => softmax(scores[row], allowed.map(Boolean));
  const average = (weights) =>
    values[0].map((_, k) => weights.reduce((sum, weight, j) => sum + weight * values[j][k], 0));
  const toggle = (row, column) => {
    Object.assign(state, { row, column });
    state.allowed[row][column] = 1 - state.allowed[row][column];
    update();
  };
  const move = (down, across) => {
    state.row = (state.row + down + length) % length;
    state.column = (state.column + across + length) % length;
    update();
    cells[state.row][state.column].group.focus();
  };

  const shade = (share, written) => ((written ? 0.65 : 1) * share).toFixed(3); // numbers must be legible on it

  // The mask: a row for each query, a column for each key.
  const nameWidth = 7.4 * Math.max(...words.map((word) => word.length)); // about as wide as the longest is written
  const LEFT = nameWidth + 18, TOP = 0.71 * nameWidth + 28, cell = Math.min(40, 300 / length), side = length * cell;
  const name = (text, x, y, attributes = {}) =>
    h("text", { x, y, "font-size": 13, fill: "var(--ink)", ...attributes }, text);
  const cells = words.map((_, i) => words.map((_, j) => {
    const x = LEFT + j * cell, y = TOP + i * cell;
    const fill = h("rect", { x, y, width: cell, height: cell, fill: "var(--plus)" });
    const edge = h("rect", { x, y, width: cell, height: cell, fill: "transparent", stroke: "var(--line)" });
    const text = h("text", {
      x: x + cell / 2, y: y + cell / 2 + 4, "text-anchor": "middle", "font-size": Math.min(12, 0.4 * cell),
    });
    const title = h("title");
    const group = h("g", { class: "cell", role: "checkbox", onclick: () => toggle(i, j) }, fill, edge, text, title);
    return { group, fill, text, title };
  }));
  const frame = h("rect", {
    x: LEFT, width: side, height: cell, rx: 2, fill: "none", stroke: "var(--hot)", "stroke-width": 2,
    "pointer-events": "none",
  });
  const rowNames = words.map((word, i) => name(word, LEFT - 8, TOP + (i + 0.5) * cell + 4, {
    "text-anchor": "end", class: "row", onclick: () => { state.row = i; update(); },
  }));
  const columnNames = words.map((word, j) => {
    const x = LEFT + (j + 0.45) * cell, y = TOP - 8;
    return name(word, x, y, { transform: `rotate(-45 ${x} ${y})` });
  });
  const grid = h("g", { role: "group", "aria-label": "mask: a row for each query, a column for each key" },
    cells.flat().map(({ group }) => group));
  const wide = LEFT + side + Math.max(12, 5.3 * words.at(-1).length + 8 - cell / 2); // the last name leans out
  const matrix = h("svg", { viewBox: `0 0 ${wide} ${TOP + side + 6}`, style: `max-width: ${0.08 * wide}em` },
    rowNames, columnNames, grid, frame);
  onKeys(grid, {
    ArrowUp: () => move(-1, 0), ArrowDown: () => move(1, 0), ArrowLeft: () => move(0, -1), ArrowRight: () => move(0, 1),
    " ": () => toggle(state.row, state.column), Enter: () => toggle(state.row, state.column),
  });

  // The row that is followed: score, weight and value of each word, and their sum.
  const STEP = 27, START = 46, BAR = 160, WIDE = 430;
  const shown = Math.min(size, 24), numbers = size <= 4, unit = Math.min(42, 170 / shown);
  const largest = Math.max(...values.flat().map(Math.abs)) || 1;
  const VALUES = WIDE - shown * unit - 2, longest = VALUES - BAR - 62;
  const strip = (y) => Array.from({ length: shown }, (_, k) => {
    const place = { x: VALUES + k * unit, y, width: unit, height: 20 };
    return {
      fill: h("rect", place),
      edge: h("rect", { ...place, fill: "none", stroke: "var(--line)", "stroke-width": numbers ? 1 : 0.3 }),
      text: h("text", {
        x: VALUES + (k + 0.5) * unit, y: y + 14, "text-anchor": "middle", "font-size": 11, fill: "var(--ink)",
      }),
      title: h("title"),
    };
  });
  const fillStrip = (cells, vector, what) => cells.forEach(({ fill, text, title }, k) => {
    fill.setAttribute("fill", vector[k] > 0 ? "var(--plus)" : "var(--minus)");
    fill.setAttribute("fill-opacity", shade(Math.min(1, Math.abs(vector[k]) / largest), numbers));
    if (numbers) text.textContent = fixed(vector[k], 2);
    title.textContent = `${what}, number ${k + 1}: ${fixed(vector[k], 3)}`;
  });
  const asNodes = (strip) => strip.map(({ fill, edge, text, title }) => h("g", {}, fill, edge, text, title));
  const rows = words.map((word, j) => {
    const y = START + j * STEP;
    const parts = {
      word: name(word, 4, y + 15),
      score: name("", 150, y + 15, { class: "score", "text-anchor": "end", "font-size": 12, fill: "var(--soft)" }),
      bar: h("rect", { x: BAR, y: y + 3, height: 15, rx: 2, fill: "var(--plus)", "fill-opacity": 0.8 }),
      weight: h("text", { y: y + 15, "font-size": 12, fill: "var(--ink)", class: "weight" }),
      values: strip(y),
    };
    fillStrip(parts.values, values[j], `value of ${word}`);
    return parts;
  });
  const end = START + length * STEP + 10;
  const outputStrip = strip(end);
  const outputFrame = h("rect", {
    x: VALUES, y: end, width: shown * unit, height: 20, fill: "none", stroke: "var(--hot)", "stroke-width": 2,
  });
  const heading = (text, x, anchor = "middle") =>
    h("text", { x, y: 34, "text-anchor": anchor, "font-size": 12, fill: "var(--soft)" }, text);
  const whatValues = size > shown ? `value (${shown} of ${size})` : "value";
  const whatOutput = { "text-anchor": "end", fill: "var(--hot)", "font-weight": 600 };
  const asking = h("text", { x: 4, y: 10, "font-size": 13, "font-weight": 650, fill: "var(--ink)" });
  const account = h("svg", { viewBox: `0 0 ${WIDE} ${end + 24}`, role: "group", "aria-label": "the chosen row" },
    asking, heading("score", 150, "end"), heading("weight", BAR, "start"),
    heading(whatValues, VALUES + (shown * unit) / 2),
    rows.map(({ word, score, bar, weight, values }) => [word, score, bar, weight, asNodes(values)]),
    name("output = Σ weight × value", VALUES - 10, end + 15, whatOutput),
    h("g", { class: "output" }, asNodes(outputStrip), outputFrame));

  const update = () => {
    cells.forEach((row, i) => {
      const weights = weightsOf(i);
      row.forEach(({ group, fill, text, title }, j) => {
        const open = Boolean(state.allowed[i][j]);
        fill.setAttribute("fill-opacity", shade(weights[j], cell > 28));
        text.textContent = !open ? "×" : cell > 28 ? fixed(weights[j], 2) : "";
        text.setAttribute("fill", open ? "var(--ink)" : "var(--soft)");
        title.textContent = `${words[i]} → ${words[j]}: ${open ? fixed(weights[j], 3) : "masked"}`;
        group.setAttribute("aria-checked", open);
        group.setAttribute("aria-label", title.textContent);
        group.setAttribute("tabindex", i === state.row && j === state.column ? 0 : -1);
      });
    });
    frame.setAttribute("y", TOP + state.row * cell);
    rowNames.forEach((node, i) => node.setAttribute("font-weight", i === state.row ? 650 : 400));
    const weights = weightsOf(state.row), output = average(weights);
    rows.forEach((row, j) => {
      const open = Boolean(state.allowed[state.row][j]);
      row.score.textContent = open ? fixed(scores[state.row][j], 2) : "−∞";
      row.bar.setAttribute("width", Math.max(weights[j] * longest, 0.6).toFixed(2));
      row.weight.setAttribute("x", BAR + 6 + weights[j] * longest);
      row.weight.textContent = open ? fixed(weights[j], 3) : "masked";
      row.word.setAttribute("fill", open ? "var(--ink)" : "var(--soft)");
      row.values.forEach(({ fill }) => fill.setAttribute("opacity", open ? 1 : 0.25));
    });
    fillStrip(outputStrip, output, "output");
    asking.textContent = `“${words[state.row]}” asks; its row of the mask`;
    const seen = state.allowed[state.row].reduce((sum, open) => sum + open, 0);
    const free = average(weightsOf(state.row, words.map(() => 1)));
    const moved = Math.hypot(...output.map((value, k) => value - free[k]));
    say.replaceChildren(
      h("b", {}, `“${words[state.row]}” may attend to ${seen} of ${length} words. `),
      !seen ? "A softmax of nothing does not exist; the course's attention gives all zeros."
        : seen === length ? "Its weights sum to 1."
          : `Their weights sum to 1 again; the output is ${fixed(moved, 3)} away from where it is without a mask.`,
    );
    const now = JSON.stringify(state.allowed);
    presets.forEach(({ button, rows }) => button.setAttribute("aria-pressed", JSON.stringify(rows) === now));
  };
  const presets = data.masks.map(([name, rows]) => {
    const choose = () => { state.allowed = rows.map((row) => [...row]); update(); };
    return { rows, button: h("button", { onclick: choose }, name) };
  });
  bar.append(h("span", { class: "soft" }, "Click a cell, or start from:"), ...presets.map(({ button }) => button));
  stage.append(
    h("style", {}, `
      .both { display: grid; gap: 0.6em 2em; grid-template-columns: ${LEFT + side}fr ${WIDE}fr; align-items: start; }
      .both.narrow { grid-template-columns: 1fr; }
      .cell, .row { cursor: pointer; }
      .cell:hover rect:last-of-type { stroke: var(--plus); stroke-width: 2; }
      .cell:focus { outline: none; }
      .cell:focus-visible rect:last-of-type { stroke: var(--plus); stroke-width: 3; }
      rect { transition: fill-opacity 0.15s, width 0.15s; }`),
    bar, h("div", { class: narrow ? "both narrow" : "both" }, matrix, account), say,
  );
  update();
}
