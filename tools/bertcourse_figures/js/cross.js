// Lecture 12: where in the source a decoder looks, token by token of what it writes.
// data: {source: tokens, target: tokens, weights: [target][source], each row with a sum of 1, start: step}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { source, target, weights } = data;
  state.step ??= data.start ?? 0;
  const lines = linesOf(data, narrow), matrix = matrixOf(data, narrow, (step) => go(step));

  const update = () => {
    const { step } = state, row = weights[step];
    lines.update(step);
    matrix.update(step);
    const order = row.map((_, j) => j).sort((a, b) => row[b] - row[a]);
    const [first, second] = order, told = (j) => [h("b", {}, `“${source[j]}”`), ` (${fixed(row[j], 2)})`];
    let sum = 0;
    const most = order.findIndex((j) => (sum += row[j]) >= 0.8) + 1;
    say.replaceChildren(
      h("b", {}, `Step ${step + 1}. `), `Writing “${target[step]}”, it looked most at `, ...told(first),
      ...(second === undefined ? [] : [", then at ", ...told(second)]),
      `. ${most} of ${source.length} source tokens ${most === 1 ? "has" : "have"} four fifths of the weight.`);
  };
  const controls = walk(stage, "step", {
    max: target.length - 1, value: state.step, name: (step) => `step ${step + 1}`,
    change: (step) => { state.step = step; update(); },
  });
  const go = (step) => {
    const input = controls[1].querySelector("input");
    input.value = step;
    input.dispatchEvent(new Event("input"));
  };
  bar.append(...controls);
  stage.append(
    h("style", {}, `
      .bar output { min-width: 4.2em !important; }
      .both { display: grid; gap: 0.6em 2em; align-items: center;
        grid-template-columns: ${lines.width}fr ${matrix.width}fr; }
      .both.narrow { grid-template-columns: 1fr; justify-items: center; }
      .row { cursor: pointer; } .row.later { opacity: 0; pointer-events: none; }
      .line, .token { transition: opacity 0.15s; } .token.later { opacity: 0; }`),
    bar, say, h("div", { class: narrow ? "both narrow" : "both" }, lines.svg, matrix.svg),
  );
  update();
}

const label = (text, x, y, how = {}) => h("text", { x, y, "font-size": 13, fill: "var(--ink)", ...how }, text);
const lettersOf = (tokens) => Math.max(...tokens.map((token) => token.length));

/** Source and target as columns, and a line from each source token to what is being written, as thick as its weight. */
function linesOf({ source, target, weights }, narrow) {
  const step = Math.min(30, 520 / Math.max(source.length, target.length));
  const size = Math.min(14, 0.7 * step + 3), height = step * Math.max(source.length, target.length) + 34;
  const start = 62 + 0.74 * size * lettersOf(source), tail = 16 + 0.66 * size * lettersOf(target);
  const width = narrow ? 340 : start + 120 + tail, end = width - tail;
  const middle = (tokens, place) => 30 + (height - 34 - tokens.length * step) / 2 + (place + 0.5) * step;
  const bars = source.map((_, j) => ({
    weight: label("", 40, middle(source, j) + 4.5, { class: "weight", "text-anchor": "end", fill: "var(--soft)" }),
    line: h("path", { class: "line", fill: "none", stroke: "var(--plus)", "stroke-linecap": "round" }),
  }));
  const names = source.map((token, j) =>
    label(token, start - 6, middle(source, j) + 4.5, { "text-anchor": "end", "font-size": size }));
  const written = target.map((token, i) =>
    label(token, end + 8, middle(target, i) + 4.5, { class: "token", "font-size": size }));
  const heading = { fill: "var(--soft)", "text-anchor": "end" };
  const svg = h("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img",
    style: `max-width: ${0.08 * width}em`, "aria-label": "from the source to what is being written" },
  label("source", start - 6, 14, heading), label("written", width, 14, heading),
  bars.map(({ line }) => line), bars.map(({ weight }) => weight), names, written);

  const update = (now) => {
    const to = middle(target, now), bend = (start + end) / 2;
    bars.forEach(({ weight, line }, j) => {
      const value = weights[now][j], from = middle(source, j);
      weight.textContent = value >= 0.005 ? fixed(value, 2) : "";
      line.setAttribute("d", `M${start} ${from}C${bend} ${from} ${bend} ${to} ${end} ${to}`);
      line.setAttribute("stroke-width", (0.8 + 7 * value).toFixed(2));
      line.setAttribute("opacity", value < 0.02 ? 0 : (0.2 + 0.8 * value).toFixed(3));
      names[j].setAttribute("font-weight", value > 0.3 ? 650 : 400);
    });
    written.forEach((node, i) => {
      node.setAttribute("class", i > now ? "token later" : "token");
      node.setAttribute("fill", i === now ? "var(--hot)" : "var(--ink)");
      node.setAttribute("font-weight", i === now ? 650 : 400);
    });
  };
  return { svg, width, update };
}

/** The weights, a row for each token that has been written. */
function matrixOf({ source, target, weights }, narrow, choose) {
  const size = Math.min(26, (narrow ? 250 : 400) / source.length);
  const tall = Math.max(size, Math.min(17, 460 / target.length));
  const small = Math.min(13, 0.5 * size + 6), left = 8.2 * lettersOf(target) + 10;
  const top = 0.75 * 0.62 * small * lettersOf(source) + 16, side = source.length * size;
  const width = left + side + Math.max(8, 0.45 * small * source.at(-1).length), height = top + target.length * tall + 4;
  const columns = source.map((token, j) => {
    const x = left + (j + 0.5) * size, y = top - 6;
    return label(token, x, y, { "font-size": small, transform: `rotate(-50 ${x} ${y})` });
  });
  const rows = target.map((token, i) => {
    const y = top + i * tall;
    const cells = weights[i].map((weight, j) => {
      const place = { x: left + j * size, y, width: size, height: tall };
      const fill = h("rect", { ...place, fill: "var(--plus)", "fill-opacity": weight.toFixed(3) });
      const title = h("title", {}, `${token} ← ${source[j]}: ${fixed(weight, 3)}`);
      const edge = { ...place, class: "cell", fill: "transparent", stroke: "var(--line)", "stroke-width": 0.6 };
      return [fill, h("rect", edge, title)];
    });
    const name = label(token, left - 6, y + tall / 2 + 4.5, { "text-anchor": "end" });
    return { name, node: h("g", { class: "row", onclick: () => choose(i) }, name, cells.flat()) };
  });
  const frame = h("rect", { x: left - 0.5, width: side + 1, height: tall, rx: 2, fill: "none", stroke: "var(--hot)",
    "stroke-width": 2, "pointer-events": "none" });
  const svg = h("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img",
    style: `max-width: ${0.08 * width}em`, "aria-label": "weights: a row for each token that has been written" },
  columns, rows.map(({ node }) => node), frame);
  const update = (now) => {
    rows.forEach(({ name, node }, i) => {
      node.setAttribute("class", i > now ? "row later" : "row");
      name.setAttribute("font-weight", i === now ? 650 : 400);
    });
    frame.setAttribute("y", top + now * tall);
  };
  return { svg, width, update };
}
