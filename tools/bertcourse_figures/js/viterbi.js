// Lecture 8: scores of tags at words. Any score can be changed; the best tag of each word and the best path follow.
// data: {words: [text], labels: [tag], scores: [word][tag], start: [tag], pair: [tag before][tag]: whether a step is
//        allowed, chosen: [word, tag]}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { words, labels, start, pair } = data;
  state.scores ??= data.scores.map((row) => [...row]);
  state.chosen ??= data.chosen ?? [1, 0];
  state.sums ??= false;
  const all = data.scores.flat(), low = Math.floor(Math.min(...all)) - 1, high = Math.ceil(Math.max(...all)) + 1;

  const choose = (place, label) => { state.chosen = [place, label]; update(); drawing.focus(place, label); };
  const drawing = drawTrellis(data, narrow, choose);
  const slot = h("span");
  const sums = h("button", { onclick: () => { state.sums = !state.sums; update(); } }, "show sums");
  const reset = () => { state.scores = data.scores.map((row) => [...row]); update(); };
  bar.append(slot, sums, h("button", { onclick: reset }, "start again"));

  const firstBroken = (path) => path.findIndex((tag, place) => !(place ? pair[path[place - 1]][tag] : start[tag]));
  const score = (path) => path.reduce((sum, tag, place) => sum + state.scores[place][tag], 0);
  const read = (path) => `${path.map((tag) => labels[tag]).join(" ")} = ${fixed(score(path), 1)}`;
  const draw = () => {
    const byWord = state.scores.map((row) => row.indexOf(Math.max(...row)));
    const { path, best, from } = viterbi(state.scores, data);
    const broken = firstBroken(byWord);
    drawing.update({ scores: state.scores, byWord, path, broken, chosen: state.chosen,
      sums: state.sums ? { best, from } : null });
    const rule = broken > 0 ? `${labels[byWord[broken]]} after ${labels[byWord[broken - 1]]}`
      : broken === 0 ? `a sentence that begins with ${labels[byWord[0]]}` : "";
    const price = score(byWord) - score(path);
    say.replaceChildren("Word by word ", h("b", { class: "by-word" }, read(byWord)),
      rule ? `, not valid: ${rule}. Best valid path ` : ", which is valid. Best valid path ",
      h("b", { class: "best" }, read(path)), rule ? `: ${fixed(price, 1)} less.` : ", the same.");
    sums.setAttribute("aria-pressed", state.sums);
  };
  const update = () => {
    const [place, label] = state.chosen;
    const name = `${labels[label]} at “${words[place]}”`;
    slot.replaceChildren(slider(`score of ${name}`, {
      min: 10 * low, max: 10 * high, value: Math.round(10 * state.scores[place][label]),
      name: (tenths) => `${name}: ${fixed(tenths / 10, 1)}`,
      change: (tenths) => { state.scores[place][label] = tenths / 10; draw(); },
    }));
    draw();
  };
  stage.append(
    h("style", {}, `
      .bar output { min-width: 10.5em !important; }
      .node { cursor: pointer; } .node:focus { outline: none; }
      .node rect { fill: var(--panel); stroke: var(--line); stroke-width: 1.3; }
      .node.closed rect { stroke-dasharray: 3 3; } .node.closed text { fill: var(--soft); }
      .node.valid rect { stroke: var(--plus); stroke-width: 3; }
      .node.greedy rect { stroke: var(--hot); stroke-width: 2.4; }
      .node.chosen rect { fill: color-mix(in oklab, var(--key) 30%, transparent); }
      .node:hover rect { fill: color-mix(in oklab, var(--key) 22%, transparent); }
      .node:focus-visible rect { stroke: var(--ink); stroke-width: 4; stroke-dasharray: none; }
      .node text { fill: var(--ink); text-anchor: middle; }`),
    bar, drawing.svg,
    h("div", { class: "soft" }, "Blue and thick: the best valid path. Orange dashes: the best tag of each word. Where ",
      "no line is drawn, the step is not allowed; no path may begin in a dashed box. Choose a box to change it."),
    say,
  );
  update();
}

/** The best valid path, the best sum that leads to each tag, and the tag before it. */
function viterbi(scores, { start, pair }) {
  const never = -Infinity, from = [];
  const best = [scores[0].map((score, tag) => (start[tag] ? score : never))];
  for (const row of scores.slice(1)) {
    const before = best.at(-1);
    const ways = row.map((_, tag) => before.map((sum, earlier) => (pair[earlier][tag] ? sum : never)));
    from.push(ways.map((sums) => sums.indexOf(Math.max(...sums))));
    best.push(row.map((score, tag) => Math.max(...ways[tag]) + score));
  }
  const last = best.at(-1);
  const path = [last.indexOf(Math.max(...last))];
  for (const before of [...from].reverse()) path.unshift(before[path[0]]);
  return { path, best, from };
}

/** A box for each tag at each word, a line for each step that is allowed; both paths above the lines. */
function drawTrellis({ words, labels, start, pair }, narrow, choose) {
  const [full, left, tall, size] = narrow ? [360, 54, 54, 12] : [740, 100, 62, 14.5];
  const step = (full - left - 4) / words.length, wide = Math.min(62, step - 8), high = tall - 18;
  const at = (place, label) => ({ x: left + step * (place + 0.5), y: 34 + tall * (label + 0.5) });
  const line = (place, before, after, look) => {
    const [a, b] = [at(place, before), at(place + 1, after)];
    return h("path", { d: `M${a.x + wide / 2} ${a.y}L${b.x - wide / 2} ${b.y}`, fill: "none", ...look });
  };
  const pairs = labels.flatMap((_, before) =>
    labels.flatMap((_, after) => (pair[before][after] ? [[before, after]] : [])));
  const grid = words.slice(1).flatMap((_, place) => pairs.map(([before, after]) =>
    line(place, before, after, { stroke: "var(--line)", "stroke-width": 1 })));
  const paths = h("g", {});
  const text = (content, place) => h("text", { "font-size": size, fill: "var(--ink)", ...place }, content);
  const heads = words.map((word, place) => text(word, { x: at(place, 0).x, y: 18, "text-anchor": "middle",
    "font-weight": 650, "font-size": Math.min(size, (step - 4) / (0.56 * word.length)) }));
  const nameOf = (name) => (name !== "O" ? name : narrow ? "outside" : "O (outside)");  // an O alone looks like a zero
  const rows = labels.map((name, label) => text(nameOf(name), { x: left - 4, y: at(0, label).y + 5,
    "text-anchor": "end", "font-size": narrow ? 11.5 : size }));
  const nodes = words.map((word, place) => labels.map((name, label) => {
    const { x, y } = at(place, label), act = () => choose(place, label);
    const score = h("text", { x, y: y + 5, "font-size": size });
    const sum = h("text", { x, y: y + high / 2 - 4, "font-size": 0.78 * size });
    const group = h("g", { class: "node", role: "button", tabindex: 0, onclick: act },
      h("rect", { x: x - wide / 2, y: y - high / 2, width: wide, height: high, rx: 7 }), score, sum);
    onKeys(group, { Enter: act, " ": act });
    return { group, score, sum, y, closed: place === 0 && !start[label] };
  }));
  const svg = h("svg", { viewBox: `0 0 ${full} ${40 + tall * labels.length}`, role: "group",
    "aria-label": "tags at words" }, grid, paths, heads, rows, nodes.flat().map(({ group }) => group));

  const update = ({ scores, byWord, path, broken, chosen, sums }) => {
    const along = (tags, look) => tags.slice(1).map((tag, place) => line(place, tags[place], tag, look(place + 1)));
    paths.replaceChildren(
      ...(sums?.from ?? []).flatMap((row, place) => row.flatMap((before, label) =>
        (isFinite(sums.best[place + 1][label])
          ? [line(place, before, label, { stroke: "var(--ink)", "stroke-width": 1.6, class: "from" })] : []))),
      ...along(path, () => ({ stroke: "var(--plus)", "stroke-width": 6, opacity: 0.55, class: "path" })),
      ...along(byWord, (place) => ({ stroke: "var(--hot)", "stroke-width": 2.6,
        "stroke-dasharray": place === broken ? "3 5" : "9 5", class: place === broken ? "greedy broken" : "greedy" })));
    nodes.forEach((column, place) => column.forEach(({ group, score, sum, y, closed }, label) => {
      const kinds = [["closed", closed], ["greedy", byWord[place] === label], ["valid", path[place] === label],
        ["chosen", chosen[0] === place && chosen[1] === label]];
      group.setAttribute("class", `node ${kinds.filter(([, is]) => is).map(([name]) => name).join(" ")}`);
      const number = fixed(scores[place][label], 1), best = sums ? sums.best[place][label] : null;
      score.textContent = number;
      score.setAttribute("y", sums ? y - 1 : y + 5);
      sum.textContent = sums ? (isFinite(best) ? `Σ ${fixed(best, 1)}` : "no path") : "";
      const told = sums ? `${number}, ${sum.textContent}` : number;
      group.setAttribute("aria-label", `${labels[label]} at ${words[place]}: ${told}`);
    }));
  };
  return { svg, update, focus: (place, label) => nodes[place][label].group.focus() };
}
