// Lecture 0: a chain of words that one stretches: how much of the gradient of a loss at the last word is left so many
// words back, in a recurrent network, in an LSTM, and where attention leads from word to word directly?
// data: {tokens: [text], names: [model], direct: [whether each word is one step away], powers: [model][run][distance]
//        of ten of what is left, start: distance, reference: the distance that counts as 1, least: powers on the axis,
//        of: the model whose gradient there counts as 1 for all, if it is not each one's own}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { tokens, names, powers, reference } = data, last = tokens.length - 1;
  state.model ??= 0;
  state.distance ??= data.start;

  const medians = powers.map((runs) => tokens.map((_, distance) => median(runs.map((run) => run[distance]))));
  const chain = chainOf(tokens, narrow, (distance) => go(distance));
  const chart = chartOf(data, medians, narrow);
  const buttons = names.map((name, model) => h("button", {
    onclick: () => { state.model = model; update(); },
  }, swatch(model), name));

  const update = () => {
    const { model, distance } = state, shares = medians.map((line) => 10 ** line[distance]);
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", i === model));
    chain.update(medians[model].map((power) => 10 ** power), distance, data.direct[model]);
    chart.update(model, distance);
    const runs = powers[model].map((run) => 10 ** run[distance]);
    const words = `${distance} word${distance === 1 ? "" : "s"}`;
    const others = names.flatMap((name, i) => (i === model ? [] : `${name}: ${percent(shares[i])}`));
    const [least, most] = [Math.min(...runs), Math.max(...runs)].map(percent);
    const spread = least === most ? "" : ` From ${least} to ${most} in ${runs.length} runs.`;
    say.replaceChildren(
      h("b", {}, `${names[model]}: ${percent(shares[model])} of the gradient arrives ${words} back, `,
        `at “${tokens[last - distance]}”.`), spread,
      others.length ? ` ${others.join("; ")}.` : "",
    );
  };
  const nameOf = (distance) => `${distance} back`;
  const control = slider("distance", {
    min: reference, max: last, value: state.distance, name: nameOf,
    change: (distance) => { state.distance = distance; update(); },
  });
  const go = (distance) => {
    const input = control.querySelector("input");
    input.value = distance;
    input.dispatchEvent(new Event("input"));
  };
  bar.append(h("span", { class: "models", role: "group", "aria-label": "model" }, buttons), control);
  const whose = data.of ? `${data.of}’s` : "the";
  const where = `${whose} gradient ${reference ? `${reference} back` : "at the last word itself"}`;
  stage.append(
    h("style", {}, `
      .models { display: inline-flex; flex-wrap: wrap; gap: 0.35em; }
      .models button { display: inline-flex; gap: 0.5em; align-items: center; }
      .cell { cursor: pointer; }
      .chain { outline-offset: 3px; margin: 0.2em 0; }
      .note { font-size: var(--small); }`),
    bar, chain.svg, say, chart.svg,
    h("div", { class: "note soft" }, `Thickness is what is left; 100 % is ${where}. The chart is logarithmic.`),
  );
  onKeys(chain.svg, {
    ArrowLeft: () => go(state.distance + 1), ArrowRight: () => go(state.distance - 1),
  });
  update();
}

const ROLES = ["minus", "plus", "value"], DASHES = ["", "8 4", "2 4"];

/** A model's line, small, for its button. */
function swatch(model) {
  return h("svg", { viewBox: "0 0 26 8", width: 26, height: 8, "aria-hidden": true },
    h("path", { d: "M1 4H25", stroke: `var(--${ROLES[model]})`, "stroke-width": 2.6,
      "stroke-dasharray": DASHES[model] }));
}

/** The middle of some numbers. */
function median(values) {
  const sorted = [...values].sort((a, b) => a - b), half = (sorted.length - 1) / 2;
  return (sorted[Math.floor(half)] + sorted[Math.ceil(half)]) / 2;
}

/** A share to two digits, or that there is next to nothing, as Python says it. */
function percent(share) {
  if (share < 0.0001) return "less than 0.01\u00a0%";
  return share >= 0.0995 ? `${(100 * share).toFixed(0)}\u00a0%` : `${Number((100 * share).toPrecision(2))}\u00a0%`;
}

/** A power of ten in percent, such as 100 %, 0.01 % or 10⁻⁵ %. */
function shareOf(power) {
  const raised = `${power + 2}`.replace("-", "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
  return power < -5 ? `10${raised}\u00a0%` : `${(10 ** (power + 2)).toFixed(Math.max(0, -power - 2))}\u00a0%`;
}

/** The words as cells in rows, the way back from the last one as thick as what is left of the gradient. */
function chainOf(tokens, narrow, choose) {
  const last = tokens.length - 1, full = narrow ? 364 : 740, gap = 13, pitch = 54, tall = 30;
  let right = gap, row = 0;
  const places = tokens.map((token) => { // each as wide as its word, in rows
    const wide = 20 + 8.5 * token.length;
    if (right + wide > full - 5) [right, row] = [gap, row + 1];
    const place = { x: right, y: 22 + row * pitch, wide };
    right += wide + gap;
    return place;
  });
  const rows = row + 1, at = (i) => places[i];
  const cells = tokens.map((token, i) => {
    const { x, y, wide } = at(i);
    const back = h("rect", { x, y, width: wide, height: tall, rx: 6, fill: "var(--plus)" });
    const name = h("text", { x: x + wide / 2, y: y + tall / 2 + 4.5, "font-size": 14, "text-anchor": "middle",
      fill: "var(--ink)" }, token);
    const title = h("title");
    const node = h("g", { class: "cell", onclick: () => choose(last - i) }, back, name, title);
    return { node, back, name, title };
  });
  const ways = h("g", { class: "ways" });
  const svg = h("svg", { class: "chain", viewBox: `0 0 ${full} ${rows * pitch + 4}`, width: full, tabindex: 0,
    role: "group", "aria-label": "the words: arrow keys change the distance" }, ways, cells.map(({ node }) => node));

  const update = (shares, distance, direct) => {
    cells.forEach(({ node, back, name, title }, i) => {
      const own = last - i, share = Math.min(1, shares[own]), inside = own <= distance;
      const look = { "fill-opacity": inside ? (0.03 + 0.52 * share).toFixed(3) : 0,
        stroke: own === distance ? "var(--hot)" : own ? "var(--line)" : "var(--ink)",
        "stroke-width": own === distance ? 2.6 : own ? 1 : 1.8 };
      for (const [key, value] of Object.entries(look)) back.setAttribute(key, value);
      name.setAttribute("font-weight", own === distance || !own ? 650 : 400);
      node.setAttribute("opacity", inside ? 1 : 0.7);
      title.textContent = `${tokens[i]}, ${own} back: ${percent(shares[own])}`;
    });
    ways.replaceChildren(...(direct ? arcs(shares, distance) : links(shares, distance)).flat());
  };
  const thick = (share) => (0.7 + 9 * Math.min(1, share)).toFixed(2);
  const faint = (share) => (0.22 + 0.78 * Math.min(1, share)).toFixed(2);

  /** From each word to the one before it; where a row begins, out of it and into the row above. */
  const links = (shares, distance) => tokens.slice(1).map((_, before) => {
    const own = last - before, from = at(before + 1), to = at(before), y = from.y + tall / 2, inside = own <= distance;
    const color = inside ? "var(--hot)" : "var(--line)", share = inside ? shares[own] : 0;
    const look = { class: inside ? "way" : "", stroke: color, "stroke-width": thick(share), fill: "none",
      opacity: inside ? faint(share) : 1, "data-distance": own };
    const head = (x, at) => h("path", { d: `M${x} ${at}l6-4v8z`, fill: color, opacity: look.opacity });
    const edge = to.x + to.wide;
    if (from.y === to.y) return [h("path", { d: `M${from.x - 1} ${y}H${edge + 5}`, ...look }), head(edge + 0.5, y)];
    const above = to.y + tall / 2, between = from.y - 12;
    const d = `M${from.x - 1} ${y}H${from.x - gap / 2 - 2}V${between}H${edge + gap / 2 - 4}`;
    return [h("path", { ...look, d: `${d}V${above + tall / 2 + 6}`, "stroke-linejoin": "round" }),
      h("path", { d: `M${edge + gap / 2 - 4} ${above + tall / 2 + 0.5}l-4 6h8z`, fill: color, opacity: look.opacity })];
  });
  /** From the last word to each one directly, over its row or between the rows; the chosen one stands out. */
  const arcs = (shares, distance) => tokens.slice(0, -1).flatMap((_, i) => {
    const own = last - i;
    if (own > distance) return [];
    const from = at(last), to = at(i), chosen = own === distance;
    const [x1, x2] = [from, to].map(({ x, wide }) => x + wide / 2);
    const bend = 12 + (16 * Math.abs(x1 - x2)) / full, below = to.y + tall;
    const d = from.y === to.y ? `M${x1} ${from.y}C${x1} ${from.y - bend} ${x2} ${to.y - bend} ${x2} ${to.y - 1}`
      : `M${x1} ${from.y}V${from.y - 12}H${from.x - gap / 2 - 1}V${below + 12}H${x2}V${below + 1}`;
    return h("path", { d, class: chosen ? "way" : "", fill: "none", stroke: "var(--hot)", "data-distance": own,
      "stroke-width": chosen ? thick(shares[own]) : 1.2, opacity: chosen ? 1 : 0.3, "stroke-linejoin": "round" });
  });
  return { svg, update };
}

/** What is left over the distance, on an axis of powers of ten: runs, medians, and a dot at the distance. */
function chartOf({ names, powers, least, reference }, medians, narrow) {
  const [full, height] = narrow ? [364, 190] : [740, 160], left = 66, right = full - 10, top = 10, floor = height - 38;
  const values = medians.flatMap((line) => line.slice(reference)), last = medians[0].length - 1;
  const high = Math.max(0, ...values); // a little above 100 % is no further power
  const low = Math.max(Math.min(-1, Math.floor(Math.min(...values))), Math.floor(high) - least);
  const x = (distance) => left + ((distance - reference) / (last - reference || 1)) * (right - left);
  const y = (power) => floor - ((Math.min(high, Math.max(low, power)) - low) / (high - low)) * (floor - top);
  const path = (line) => `M${line.slice(reference).map((power, i) =>
    `${x(reference + i).toFixed(1)} ${y(power).toFixed(1)}`).join("L")}`;
  const text = (content, place) => h("text", { "font-size": 12.5, fill: "var(--soft)", "text-anchor": "middle",
    ...place }, content);
  const grid = [], every = high - low > 4 ? 2 : 1;
  for (let power = Math.floor(high); power >= low; power -= every) {
    grid.push(h("path", { d: `M${left} ${y(power)}H${right}`, stroke: "var(--line)", "stroke-width": 0.7 }),
      text(shareOf(power), { x: left - 5, y: y(power) + 4, "text-anchor": "end" }));
  }
  const apart = last > 24 ? 10 : last > 12 ? 5 : 2;
  const ticks = medians[0].flatMap((_, distance) => (distance < reference || distance % apart ? []
    : text(`${distance}`, { x: x(distance), y: floor + 16 })));
  const seeds = h("g", {}), line = h("path", { d: "", stroke: "var(--hot)", "stroke-dasharray": "3 3" });
  const lines = medians.map((values, model) => h("path", { d: path(values), fill: "none",
    stroke: `var(--${ROLES[model]})`, "stroke-dasharray": DASHES[model] }));
  const dots = medians.map((_, model) => h("circle", { class: "left", fill: `var(--${ROLES[model]})` }, h("title")));
  const svg = h("svg", { viewBox: `0 0 ${full} ${height}`, width: full, role: "img",
    "aria-label": `gradient that is left over the distance: ${names.join(", ")}` }, grid, ticks,
  text("words back", { x: (left + right) / 2, y: height - 3 }), seeds, line, lines, dots);

  const update = (chosen, distance) => {
    lines.forEach((node, model) => {
      node.setAttribute("stroke-width", model === chosen ? 3 : 1.6);
      node.setAttribute("opacity", model === chosen ? 1 : 0.75);
    });
    seeds.replaceChildren(...(powers[chosen].length > 1 ? powers[chosen].map((run) => h("path", { d: path(run),
      fill: "none", stroke: `var(--${ROLES[chosen]})`, "stroke-width": 1, opacity: 0.5 })) : []));
    line.setAttribute("d", `M${x(distance).toFixed(1)} ${top}V${floor}`);
    dots.forEach((dot, model) => {
      dot.setAttribute("cx", x(distance).toFixed(1));
      dot.setAttribute("cy", y(medians[model][distance]).toFixed(1));
      dot.setAttribute("r", model === chosen ? 6 : 3.5);
      dot.firstChild.textContent = `${names[model]}: ${threeDigits(10 ** medians[model][distance])}`;
    });
  };
  return { svg, update };
}
