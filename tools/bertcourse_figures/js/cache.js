// Lecture 12: a decoder writes token by token; with a cache of keys and values, or all over again at each step.
// data: {tokens: the prompt's and then those written, weights: [query][key], of all tokens but the last,
//        prompt: how many tokens it has, plain, cached: [step] multiplications in one block,
//        start: step}.
// Step 0 reads the prompt and writes the first token.
function scene({ stage, bar, say, data, narrow, state }) {
  const { tokens, prompt, plain, cached } = data, last = plain.length - 1;
  state.step ??= data.start ?? 0;
  state.isCached ??= true;
  const rows = rowsOf(data, narrow), account = accountOf(data);

  const update = () => {
    const { step, isCached } = state, read = prompt + step; // so many tokens have been read when this one is written
    const computed = isCached && step ? 1 : read;
    rows.update(read, computed);
    account.update(step);
    toggle.setAttribute("aria-pressed", isCached);
    toggle.textContent = `cache: ${isCached ? "on" : "off"}`;
    const count = (number, name) => `${number} ${name}${number === 1 ? "" : "s"}`;
    const told = !step
      ? `${count(read, "token")} of the prompt: ${read === 1 ? "its" : "their"} queries, keys and values are computed.`
      : isCached
        ? `One query, key and value are computed; the keys and values of ${count(read - 1, "token")} are read.`
        : `All ${read} tokens are computed again, though the mask leaves the earlier rows as they were.`;
    const writes = h("b", {}, `“${tokens[read]}”`);
    say.replaceChildren(h("b", {}, `Step ${step + 1}. `), `${told} The last row writes `, writes, ".");
  };
  const change = (what) => { Object.assign(state, what); update(); };
  const toggle = h("button", { onclick: () => change({ isCached: !state.isCached }) });
  const steps = walk(stage, "step", {
    max: last, value: state.step, name: (step) => `step ${step + 1}`, change: (step) => change({ step }),
  });
  bar.append(...steps, toggle);
  stage.append(
    h("style", {}, `
      .bar input { width: ${narrow ? "22vw" : "180px"}; }
      .bar output { min-width: 3.6em !important; }
      .both { display: grid; gap: 0.6em 2.4em; align-items: center; grid-template-columns: 56fr 44fr; }
      .both.narrow { grid-template-columns: 1fr; }
      .legend { display: grid; gap: 0.1em; font-size: var(--small); margin-top: 0.9em; }
      .title { font-weight: 650; margin: 0.5em 0 0.1em; }
      .count { display: grid; grid-template-columns: 4.6em 1fr 7.4em; gap: 0.6em; align-items: center; }
      .count .fill { display: block; height: 0.85em; border-radius: 2px; transition: width 0.15s; }
      .count .number { text-align: right; white-space: nowrap; }
      .token.absent text, .row.absent text, .row.absent .weight { visibility: hidden; }
      .token.absent, .row.absent { opacity: 0.4; }
      .row.past .weight { opacity: 0.4; }`),
    bar, h("div", { class: narrow ? "both narrow" : "both" }, rows.svg, account.node), say,
  );
  update();
}

/** A column for each token, with its key and its value, and a row for each query, with its weights. */
function rowsOf({ tokens, weights }, narrow) {
  const length = weights.length, size = Math.min(30, (narrow ? 250 : 330) / length);
  const longest = 8.2 * Math.max(...tokens.map((token) => token.length));
  const left = Math.max(longest, 46) + 14, top = 0.71 * longest + 20, begin = top + 2 * size + 12;
  const width = left + length * size + longest + 30, height = begin + length * size + 6;
  const text = (words, x, y, how = {}) => h("text", { x, y, "font-size": 13, fill: "var(--ink)", ...how }, words);
  const square = (i, y, how) =>
    h("rect", { x: left + i * size + 1, y: y + 1, width: size - 2, height: size - 2, ...how });
  const middle = { "text-anchor": "middle", "font-size": Math.min(13, 0.5 * size) };

  const columns = tokens.slice(0, length).map((token, j) => {
    const x = left + (j + 0.45) * size, y = top - 8;
    const kept = ["key", "value"].map((what, row) => {
      const box = square(j, top + row * size, { rx: 3 }), title = h("title");
      const sign = text("", left + (j + 0.5) * size, top + (row + 0.5) * size + 4.5, middle);
      return { what, box, sign, title, node: h("g", { class: what }, box, sign, title) };
    });
    const name = text(token, x, y, { transform: `rotate(-45 ${x} ${y})` });
    return { kept, node: h("g", { class: "token" }, name, kept.map(({ node }) => node)) };
  });
  const lines = weights.map((row, i) => {
    const y = begin + i * size, half = y + size / 2 + 4.5;
    const cells = row.slice(0, i + 1).map((weight, j) => [
      square(j, y, { class: "weight", fill: "var(--plus)", "fill-opacity": weight.toFixed(3) }),
      square(j, y, { fill: "transparent", stroke: "var(--line)" }),
    ]);
    cells.forEach(([, edge], j) => edge.append(h("title", {}, `${tokens[i]} → ${tokens[j]}: ${fixed(row[j], 3)}`)));
    const name = text(tokens[i], left - 8, half, { "text-anchor": "end" });
    const around = { x: left - 0.5, y: y - 0.5, width: (i + 1) * size + 1, height: size + 1, rx: 3 };
    const look = { fill: "none", stroke: "var(--hot)", "stroke-width": 2, "pointer-events": "none" };
    const frame = h("rect", { ...around, ...look });
    return { name, frame, node: h("g", {}, name, cells.flat(), frame) };
  });
  const writes = text("", 0, 0, { class: "writes", "font-weight": 650, fill: "var(--hot)" });
  const names = ["keys", "values"].map((name, row) =>
    text(name, left - 8, top + (row + 0.5) * size + 4.5, { "text-anchor": "end", "font-weight": 650 }));
  const svg = h("svg", { viewBox: `0 0 ${width} ${height}`, style: `max-width: ${0.085 * width}em`, role: "img",
    "aria-label": "keys and values of each token, and the attention weights of each query" },
  names, columns.map(({ node }) => node), lines.map(({ node }) => node), writes);

  const update = (read, computed) => {
    columns.forEach(({ kept, node }, j) => {
      const isNew = j >= read - computed;
      node.setAttribute("class", j < read ? "token" : "token absent");
      for (const { what, box, sign, title } of kept) {
        const told = j >= read ? "" : isNew ? "computed now" : "read from the cache";
        sign.textContent = j >= read ? "" : isNew ? "●" : "○";
        sign.setAttribute("fill", isNew ? "var(--ink)" : "var(--plus)");
        box.setAttribute("stroke", j >= read ? "var(--line)" : isNew ? "var(--hot)" : "var(--plus)");
        box.setAttribute("fill", isNew ? "var(--hot)" : "var(--plus)");
        box.setAttribute("fill-opacity", j >= read ? 0 : isNew ? 0.4 : 0.08);
        title.textContent = told ? `${what} of ${tokens[j]}: ${told}` : "";
      }
    });
    lines.forEach(({ name, frame, node }, i) => {
      const isNew = i >= read - computed && i < read;
      node.setAttribute("class", i >= read ? "row absent" : isNew ? "row now" : "row past");
      name.setAttribute("font-weight", isNew ? 650 : 400);
      frame.setAttribute("visibility", isNew ? "visible" : "hidden");
    });
    writes.setAttribute("x", left + read * size + 9);
    writes.setAttribute("y", begin + (read - 0.5) * size + 4.5);
    writes.textContent = `→ ${tokens[read]}`;
  };
  return { svg, update };
}

/** Multiplications at this step and so far, with a cache and without. */
function accountOf({ plain, cached }) {
  const total = (values, step) => values.slice(0, step + 1).reduce((sum, value) => sum + value, 0);
  const line = (name, color) => {
    const fill = h("span", { class: "fill", style: `background: var(--${color})` });
    const number = h("span", { class: "number" });
    return { fill, number, node: h("div", { class: "count" }, h("span", {}, name), h("span", {}, fill), number) };
  };
  const parts = ["at this step", "so far"].map((title) => ({
    title, lines: [line("cache", "plus"), line("no cache", "minus")],
  }));
  const times = h("div", { class: "times" });
  const node = h("div", {}, h("div", { class: "soft" }, "multiplications in one block"),
    parts.map(({ title, lines }) => [h("div", { class: "title" }, title), lines.map((each) => each.node)]), times,
    h("div", { class: "legend soft" }, ["● computed now", "○ read from the cache",
      "framed rows: computed now", "pale rows: earlier steps, not needed again"].map((words) => h("span", {}, words))));
  const update = (step) => {
    const last = plain.length - 1;
    const numbers = [[cached[step], plain[step]], [total(cached, step), total(plain, step)]];
    const most = [plain[last], total(plain, last)];
    parts.forEach(({ lines }, part) => lines.forEach(({ fill, number }, i) => {
      fill.style.width = `${(100 * numbers[part][i]) / most[part]}%`;
      number.textContent = large(numbers[part][i]);
    }));
    times.textContent = `so far ${fixed(numbers[1][1] / numbers[1][0], 1)} times as many without a cache`;
  };
  return { node, update };
}

/** A count that can be read. */
function large(number) {
  for (const [size, name] of [[1e9, "billion"], [1e6, "million"]]) {
    if (number >= size) return `${(number / size).toFixed(2)} ${name}`;
  }
  return number.toLocaleString("en");
}
