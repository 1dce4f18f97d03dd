// Lecture 7: how many of the last blocks learn, what a training step then costs, and how many texts are right.
// data: {levels: [name], learn: [how many of the last blocks learn: 0 for the head alone, blocks + 1 for everything],
//        learning: [numbers that learn], operations: [share], accuracy: [level][seed], blocks, start: level}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { levels, learn, learning, operations, accuracy, blocks } = data, last = levels.length - 1;
  state.level ??= data.start ?? Math.min(2, last);
  const [full, tall] = narrow ? [360, 470] : [740, 270];
  const mean = (found) => found.reduce((sum, each) => sum + each, 0) / found.length;
  const parts = ["head", ...Array.from({ length: blocks }, (_, i) => `block ${blocks - i}`), "embeddings"];
  const row = narrow ? 24 : 28, wide = narrow ? 340 : 200;
  const boxes = parts.map((name, i) => {
    const box = h("rect", { x: 4, y: 6 + row * i, width: wide, height: row - 5, rx: 6, "stroke-width": 1.4 });
    const text = h("text", { x: 14, y: 6 + row * i + row / 2 + 2, "font-size": 13, fill: "var(--ink)" }, name);
    const what = h("text", { x: wide - 6, y: 6 + row * i + row / 2 + 2, "font-size": 12.5, "text-anchor": "end" });
    return { node: h("g", { class: "part" }, box, text, what), box, what };
  });
  const all = accuracy.flat();
  const low = 10 * Math.floor(Math.min(...all) / 10), high = 10 * Math.ceil(Math.max(...all) / 10);
  const [left, right, top, bottom] = narrow ? [34, 350, 224, 410] : [270, 728, 14, 206];
  const x = (level) => left + 22 + (level / last) * (right - left - 44);
  const y = (percent) => bottom - ((percent - low) / (high - low || 1)) * (bottom - top);
  const small = { "font-size": 12.5, fill: "var(--soft)" };
  const grid = [];
  for (let percent = low; percent <= high; percent += high - low > 30 ? 10 : 5) {
    grid.push(h("path", { d: `M${left} ${y(percent)}H${right}`, stroke: "var(--line)" }),
      h("text", { ...small, x: left - 6, y: y(percent) + 4, "text-anchor": "end" }, `${percent}`));
  }
  const names = levels.map((name, level) =>
    h("text", { ...small, x: x(level), y: bottom + 19, "text-anchor": "middle" }, name));
  names.push(h("text", { ...small, x: (left + right) / 2, y: bottom + 38, "text-anchor": "middle" },
    "what learns: the head, + the last blocks, all"));
  const path = accuracy.map((found, level) => `${x(level).toFixed(1)} ${y(mean(found)).toFixed(1)}`).join("L");
  const line = h("path", { d: `M${path}`, fill: "none", stroke: "var(--soft)", "stroke-width": 1.4 });
  const dots = accuracy.map((found, level) => found.map((value) =>
    h("circle", { cx: x(level).toFixed(1), cy: y(value).toFixed(1), fill: "var(--plus)" })));
  const marker = h("path", { stroke: "var(--hot)", "stroke-width": 1.6 });
  const svg = h("svg", { viewBox: `0 0 ${full} ${tall}`, role: "img", "aria-label": "accuracy by what learns" },
    boxes.map(({ node }) => node), grid, marker, line, dots.flat(), names);
  const learns = (part) => part <= learn[state.level];
  const update = () => {
    const { level } = state, found = accuracy[level];
    boxes.forEach(({ box, what, node }, part) => {
      const on = learns(part);
      node.classList.toggle("learns", on);
      box.setAttribute("fill", on ? "color-mix(in oklab, var(--hot) 26%, transparent)" : "var(--panel)");
      box.setAttribute("stroke", on ? "var(--hot)" : "var(--line)");
      what.setAttribute("fill", on ? "var(--ink)" : "var(--soft)");
      what.textContent = on ? "learns" : "frozen";
    });
    dots.forEach((group, at) => group.forEach((dot) => {
      dot.setAttribute("r", at === level ? 5.5 : 3.6);
      dot.setAttribute("fill-opacity", at === level ? 0.9 : 0.4);
    }));
    marker.setAttribute("d", `M${x(level).toFixed(1)} ${top}V${bottom}`);
    const many = learn[level];
    const who = many === 0 ? "Only the head learns" : many > blocks ? "Everything learns"
      : many === blocks ? "All but the embeddings learn"
        : `The head and ${many === 1 ? "the last block" : `the last ${many} blocks`} learn`;
    const right = found.map((value) => `${value.toFixed(0)} %`).join(", ");
    say.replaceChildren(h("b", {}, `${who}: `), h("span", { class: "numbers" }, learning[level].toLocaleString("en")),
      " numbers; ", h("span", { class: "cost" }, `${(100 * operations[level]).toFixed(0)} %`),
      " of the operations of a full step. Right: ", h("b", { class: "mean" }, `${mean(found).toFixed(0)} %`),
      ` (${right}).`);
  };
  bar.append(slider("what learns", { min: 0, max: last, value: state.level, name: (level) => levels[level],
    change: (level) => { state.level = level; update(); } }));
  stage.append(bar, svg, say);
  update();
}
