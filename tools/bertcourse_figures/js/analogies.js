// Lecture 0: analogies as arrows. From a to b leads an arrow, and the same from c: which words lie nearest to its tip,
// if a, b and c may not be the answer, and if they may? And if only a part of the step is taken?
// data: {analogies: [{words: [a, b, c, …], points: [word][2], expected: 3 or -1,
//        nearest: [stop][[word's place, cosine]]}], stops: [how much of b − a], right: [left out, allowed, asked],
//        leaveOut: whether a, b and c are left out at first}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { analogies, stops, right } = data;
  state.which ??= 0;
  state.stop ??= stops.indexOf(1);
  state.leftOut ??= data.leaveOut ?? true;

  const plane = planeOf(analogies, stops), list = h("div", { class: "list" }), title = h("div", { class: "title" });
  const choices = analogies.map(({ words: [a, b, c] }, which) =>
    h("button", { onclick: () => change({ which }) }, `${a} → ${b}, ${c} → ?`));
  const leave = h("button", { onclick: () => change({ leftOut: !state.leftOut }) }, "leave out a, b, c: on");

  const update = () => {
    const item = analogies[state.which], [a, b, c] = item.words, stop = stops[state.stop];
    const nearest = item.nearest[state.stop], [first, firstCosine] = nearest[0];
    const [best, cosine] = state.leftOut ? nearest.find(([word]) => word > 2) : nearest[0];
    const formula = stop === 1 ? `${b} − ${a} + ${c}` : `${c} + ${fixed(stop, 2)} · (${b} − ${a})`;
    plane.update(item, stop, best, nearest);
    choices.forEach((button, which) => button.setAttribute("aria-pressed", which === state.which));
    leave.setAttribute("aria-pressed", state.leftOut);
    leave.textContent = `leave out a, b, c: ${state.leftOut ? "on" : "off"}`;
    title.textContent = `nearest to ${formula}`;
    list.replaceChildren(...nearest.map(([word, value]) => rowOf(item, word, value, word === best, state.leftOut)));
    const asExpected = item.expected < 0 || stop !== 1 ? "." : best === item.expected ? ", as expected."
      : `; expected was “${item.words[item.expected]}”.`;
    const hidden = state.leftOut && first < 3
      ? ` Nearer still is “${item.words[first]}” (${fixed(firstCosine, 3)}), one of the three, which is left out.`
      : "";
    say.replaceChildren(
      h("b", {}, `${formula} is nearest to “${item.words[best]}”`),
      ` (cosine ${fixed(cosine, 3)})${asExpected}${hidden}`,
      right[2] ? ` With the whole step, ${right[0]} of ${right[2]} come out as expected with a, b and c left out, ` +
        `${right[1]} with all words allowed.` : "",
    );
  };
  const change = (what) => { Object.assign(state, what); update(); };
  const step = slider("how much of the step", {
    min: 0, max: stops.length - 1, value: state.stop, name: (stop) => `step × ${fixed(stops[stop], 2)}`,
    change: (stop) => change({ stop }),
  });
  bar.append(h("span", { class: "choices", role: "group", "aria-label": "analogy" }, choices), leave, step);
  stage.append(
    h("style", {}, `
      .choices { display: flex; flex-wrap: wrap; gap: 0.35em; flex: 1 1 100%; }
      .both { display: grid; gap: 0.4em 2em; align-items: center; grid-template-columns: 54fr 46fr; }
      .both.narrow { grid-template-columns: 1fr; }
      .title { font-weight: 650; margin-bottom: 0.3em; }
      .row { display: grid; grid-template-columns: 9.5em 1fr 3.2em; gap: 0.6em; align-items: center;
        padding: 0.1em 0.4em; border: 1px solid transparent; border-radius: 7px; }
      .row.best { border-color: var(--hot); font-weight: 650; }
      .row.out .word { text-decoration: line-through; } .row.out { color: var(--soft); }
      .row .word { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
      .track { height: 12px; } .fill { height: 100%; border-radius: 2px; background: var(--plus); opacity: 0.75; }
      .row.input .fill { background: var(--soft); }
      .cosine { text-align: right; }
      .note { font-size: var(--small); } .bar label output { min-width: 6em !important; }`),
    bar, say, h("div", { class: narrow ? "both narrow" : "both" }, plane.svg, h("div", {}, title, list)),
    h("div", { class: "note soft" }, "a, b, c and the tip lie in this plane as they are; other words are projected ",
      "into it, and may lie far off. Cosines are of all dimensions."),
  );
  update();
  return update;
}

/** A word that is near, with its cosine. */
function rowOf(item, word, cosine, isBest, leftOut) {
  const input = word < 3, name = `${item.words[word]}${input ? ` (${"abc"[word]})` : ""}`;
  const kind = `row${input ? " input" : ""}${input && leftOut ? " out" : ""}${isBest ? " best" : ""}`;
  return h("div", { class: kind }, h("span", { class: "word" }, name),
    h("span", { class: "track" }, h("div", { class: "fill", style: `width: ${Math.max(0, 100 * cosine)}%` })),
    h("span", { class: "cosine" }, fixed(cosine, 3)));
}

/** The plane through a, b and c: both arrows, the tip, and the words that are listed. */
function planeOf(analogies, stops) {
  const wide = 400, most = 330, pad = [58, 34]; // as high as it must be
  const arrow = (look) => ({ line: h("line", { "stroke-linecap": "round", ...look }),
    head: h("path", { fill: look.stroke }) });
  const from = arrow({ stroke: "var(--plus)", "stroke-width": 2.6 });
  const way = arrow({ stroke: "var(--hot)", "stroke-width": 3.4 });
  const sides = h("path", { fill: "none", stroke: "var(--soft)", "stroke-width": 1, "stroke-dasharray": "3 4" });
  const tip = h("circle", { class: "tip", r: 8, fill: "none", stroke: "var(--hot)", "stroke-width": 2.6 });
  const marks = h("g", {});
  const svg = h("svg", { width: "100%", role: "img" }, sides, from.line, from.head,
    way.line, way.head, marks, tip);

  const draw = ({ line, head }, [x1, y1], [x2, y2]) => {
    const length = Math.hypot(x2 - x1, y2 - y1) || 1, [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
    const short = Math.min(9, length); // the head begins where the line ends
    Object.entries({ x1, y1, x2: x2 - short * dx, y2: y2 - short * dy }).forEach(([key, value]) =>
      line.setAttribute(key, value.toFixed(1)));
    const corner = (back, aside) =>
      `${(x2 - back * dx - aside * dy).toFixed(1)} ${(y2 - back * dy + aside * dx).toFixed(1)}`;
    head.setAttribute("d", length < 2 ? "" : `M${corner(0, 0)}L${corner(12, 6)}L${corner(12, -6)}z`);
  };

  const update = (item, stop, best, nearest) => {
    const { points, words, expected } = item, [a, b, c] = points;
    const land = (part) => [0, 1].map((k) => c[k] + part * (b[k] - a[k]));
    const all = [...points, ...stops.map(land)], [xs, ys] = [0, 1].map((k) => all.map((point) => point[k]));
    const [left, low, right, top] = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
    const scale = Math.min((wide - 2 * pad[0]) / (right - left), (most - 2 * pad[1]) / (top - low));
    const off = (wide - scale * (right - left)) / 2, high = 2 * pad[1] + scale * (top - low);
    const at = ([x, y]) => [off + scale * (x - left), high - pad[1] - scale * (y - low)];
    svg.setAttribute("viewBox", `0 0 ${wide} ${high.toFixed(1)}`);
    const end = at(land(stop)), text = ([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`;
    draw(from, at(a), at(b));
    draw(way, at(c), end);
    sides.setAttribute("d", `M${text(at(b))}L${text(at(a))}L${text(at(c))}M${text(at(b))}L${text(end)}`);
    tip.setAttribute("cx", end[0].toFixed(1));
    tip.setAttribute("cy", end[1].toFixed(1));
    svg.setAttribute("aria-label", `plane of ${words.slice(0, 3).join(", ")}; the tip is nearest to ${words[best]}`);

    // a, b, c, the nearest and the expected word are named first; a name that would cover another is left out.
    const shown = [0, 1, 2, best, expected, ...nearest.map(([word]) => word)]
      .filter((word, i, order) => word >= 0 && order.indexOf(word) === i);
    const taken = [...shown.map((word) => at(points[word])), end].map(([x, y]) => [x - 7, y - 7, x + 7, y + 7]);
    for (const [[x1, y1], [x2, y2]] of [[at(a), at(b)], [at(c), end], [at(a), at(c)]]) { // nor a line
      for (let part = 0.06; part < 1; part += 0.06) {
        const [x, y] = [x1 + part * (x2 - x1), y1 + part * (y2 - y1)];
        taken.push([x - 2, y - 2, x + 2, y + 2]);
      }
    }
    const before = marks.querySelector("text"), grown = before ? growth(before) : 1;
    marks.replaceChildren(...shown.flatMap((word) => {
      const [x, y] = at(points[word]);
      const color = word === expected ? "var(--value)" : word < 3 ? "var(--ink)" : "var(--plus)";
      const dot = word === expected
        ? h("path", { class: "mark", d: `M${text([x, y - 8])}l8 8l-8 8l-8-8z`, fill: color })
        : h("circle", { class: "mark", cx: x.toFixed(1), cy: y.toFixed(1), r: word < 3 ? 6 : 4.5, fill: color });
      dot.append(h("title", {}, words[word]));
      const name = word < 3 ? `${words[word]} (${"abc"[word]})` : words[word];
      const bold = word === best || word < 3, size = grown * (bold ? 7.8 : 7.2) * name.length;
      const spots = [[x - size / 2, y - 13], [x - size / 2, y + 23], [x + 12, y + 5], [x - 12 - size, y + 5]];
      if (word === 0 || word === 2) spots.reverse().sort((one, other) => other[1] - one[1]); // away from the arrows
      const spot = spots.find(([start, base]) => {
        const box = [start, base - 11 * grown, start + size, base + 3];
        return start > 1 && start + size < wide - 1 && base > 11 * grown && base < high - 3 &&
          !taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);
      });
      if (!spot) return [dot];
      taken.push([spot[0], spot[1] - 11 * grown, spot[0] + size, spot[1] + 3]);
      return [dot, h("text", { class: "name", x: spot[0], y: spot[1], "font-size": 13.5,
        "font-weight": bold ? 650 : 400, fill: word === expected ? "var(--value)" : "var(--ink)" }, name)];
    }));
  };
  return { svg, update };
}
