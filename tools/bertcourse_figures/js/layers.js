// Lecture 5: a word's vectors in several sentences, layer by layer, in one plane.
// data: {word, sentences: [text], labels: [text], senses: [name], sense: [place in senses, or -1],
//        points: [layer][sentence][2], nearest: [layer][sentence: another sentence, or -1 where all are equal],
//        own: [layer: how many are nearest to one of their own sense], start: sentence, layer}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { word, sentences, senses, sense, points, nearest, own } = data, last = points.length - 1;
  state.layer ??= data.layer ?? last;
  state.chosen ??= data.start;

  const choose = (chosen) => { state.chosen = chosen; update(); };
  const plane = planeOf(data, choose);
  const rows = sentences.map((text, i) => {
    const at = text.lastIndexOf(word);
    const mark = h("svg", { viewBox: "-9 -9 18 18", width: 17, height: 17, "aria-hidden": true }, markOf(sense[i]));
    const words = h("span", {}, text.slice(0, at), h("b", {}, word), text.slice(at + word.length));
    return h("button", { class: "row", onclick: () => choose(i), onpointerenter: () => choose(i) }, mark, words);
  });
  const groups = [...senses.keys(), -1].filter((which) => sense.includes(which)).map((which) => [
    h("div", { class: "soft name" }, which < 0 ? "could be either" : senses[which]),
    rows.filter((_, i) => sense[i] === which),
  ]);

  const update = () => {
    const { layer, chosen } = state, other = nearest[layer][chosen];
    plane.update(layer, chosen, other);
    rows.forEach((row, i) => {
      row.setAttribute("aria-pressed", i === chosen);
      row.classList.toggle("near", i === other);
    });
    const where = layer ? `After layer ${layer} of ${last}` : "Before the first layer";
    const told = sense.filter((which) => which >= 0).length, of = other >= 0 && sense[other] >= 0;
    say.replaceChildren(...(other < 0 ? [
      h("b", {}, `${where}, “${word}” is one point. `),
      `The table of word vectors has one row for it, whatever the sentence. Move on.`,
    ] : [
      h("b", {}, `${where}: `), `“${sentences[chosen]}” lies nearest to “${sentences[other]}”`,
      of ? [" – ", h("b", {}, senses[sense[other]]), ". "] : ". ",
      `${own[layer]} of ${told} lie nearest to one of their own sense.`,
    ].flat()));
  };

  const controls = player("layer", {
    last, value: state.layer, name: (layer) => `layer ${layer}`, pause: 900, state,
    change: (layer) => { state.layer = layer; update(); },
  });
  bar.append(...controls);
  stage.append(
    h("style", {}, `
      .both { display: grid; gap: 0.4em 1.8em; align-items: center; grid-template-columns: 54fr 46fr; }
      .both.narrow { grid-template-columns: 1fr; }
      .dot { transition: transform 0.5s ease; cursor: pointer; }
      .name { margin: 0.5em 0 0.15em; font-size: var(--small); }
      .row { display: flex; gap: 0.5em; align-items: center; width: 100%; text-align: left; background: none;
        border-color: transparent; padding: 0.12em 0.4em; }
      .row svg { flex: none; width: 1.05em !important; height: 1.05em; }
      .say { margin-top: 0.5em; }
      .row.near { border-style: dashed; border-color: var(--line); }`),
    bar, h("div", { class: narrow ? "both narrow" : "both" }, plane.svg, h("div", {}, groups)), say,
  );
  update();
  return update;
}

const SIDE = 380;

/** A sense's mark; shape and colour say the same. */
function markOf(which) {
  if (which < 0) return h("circle", { r: 6, fill: "var(--paper)", stroke: "var(--ink)", "stroke-width": 2.2 });
  const fill = `var(--group${which})`;
  if (which === 0) return h("circle", { r: 7, fill });
  return h("path", { d: which === 1 ? "M0-8.5L8.5 0 0 8.5-8.5 0z" : "M0-8L8 7H-8z", fill });
}

/** The plane: where each vector has come from, a mark, a name where there is room, and a line to the nearest. */
function planeOf({ labels, sense, points, senses }, choose) {
  const limit = 1.16 * Math.max(...points.flat(2).map(Math.abs)) || 1;
  const high = Math.max(0.62 * SIDE, 40 + (SIDE * Math.max(...points.flat().map(([, y]) => Math.abs(y)))) / limit);
  const at = ([x, y]) => [((1 + x / limit) * SIDE) / 2, high / 2 - (y / limit) * (SIDE / 2)];
  const color = (i) => (sense[i] < 0 ? "var(--soft)" : `var(--group${sense[i]})`);
  const ways = labels.map((_, i) => h("path", { fill: "none", stroke: color(i), "stroke-width": 1.6, opacity: 0.4 }));
  const link = h("path", { stroke: "var(--ink)", "stroke-width": 1.4, "stroke-dasharray": "4 4", fill: "none" });
  const halo = h("circle", { class: "dot", r: 12, fill: "none", stroke: "var(--ink)", "stroke-width": 1.6 });
  const dots = labels.map((_, i) => h("g", {
    class: "dot", onpointerenter: () => choose(i), onclick: () => choose(i),
  }, h("circle", { r: 16, fill: "transparent" }), markOf(sense[i])));
  const names = labels.map((text) => h("text", { "font-size": 13.5, fill: "var(--ink)" }, text));
  const frame = h("rect", { x: 0.5, y: 0.5, width: SIDE - 1, height: high - 1, rx: 6, fill: "none",
    stroke: "var(--line)" });
  const axes = h("path", { d: `M0 ${high / 2}H${SIDE}M${SIDE / 2} 0V${high}`, stroke: "var(--line)",
    "stroke-width": 0.6 });
  const svg = h("svg", { viewBox: `0 0 ${SIDE} ${high}`, role: "img", width: "100%",
    "aria-label": `the vectors on a plane: ${senses.join(", ")}` }, frame, axes, ways, link, names, dots, halo);

  const update = (layer, chosen, other) => {
    const places = points[layer].map(at), move = ([x, y]) => `translate(${x.toFixed(1)}px,${y.toFixed(1)}px)`;
    dots.forEach((dot, i) => { dot.style.transform = move(places[i]); });
    halo.style.transform = move(places[chosen]);
    ways.forEach((way, i) => {
      const passed = points.slice(0, layer + 1).map((all) => at(all[i]).map((value) => value.toFixed(1)).join(" "));
      way.setAttribute("d", `M${passed.join("L")}`);
    });
    link.setAttribute("d", other < 0 ? "" : `M${places[chosen].join(" ")}L${places[other].join(" ")}`);
    // The chosen word is named first; a name that would cover a mark or another name is left out.
    const taken = places.map(([x, y]) => [x - 8, y - 8, x + 8, y + 8]);
    const order = [chosen, other, ...labels.keys()].filter((i, n, all) => i >= 0 && all.indexOf(i) === n);
    for (const i of order) {
      const [x, y] = places[i], tall = 11 * growth(names[i]), wide = 0.67 * tall * labels[i].length;
      const beside = [[x + 13, y + 5], [x - 13 - wide, y + 5], [x - wide / 2, y - 14], [x - wide / 2, y + 24]];
      const spot = other < 0 ? null : beside.find(([left, base]) => {
        const box = [left, base - tall, left + wide, base + 3];
        const covers = taken.some((b) => box[0] < b[2] && b[0] < box[2] && box[1] < b[3] && b[1] < box[3]);
        return !covers && left > 2 && left + wide < SIDE - 2 && base > tall + 1 && base < high - 4;
      });
      names[i].setAttribute("visibility", spot ? "visible" : "hidden");
      if (!spot) continue;
      names[i].setAttribute("x", spot[0]);
      names[i].setAttribute("y", spot[1]);
      names[i].setAttribute("font-weight", i === chosen ? 650 : 400);
      taken.push([spot[0], spot[1] - tall, spot[0] + wide, spot[1] + 3]);
    }
  };
  return { svg, update };
}
