// Lecture 11: a query and a key, turned by their positions; moved together, their score stays.
// data: {query: [d], key: [d], frequencies: [d/2], shown: [pair], heading: over them,
//        turns: [places that a full turn takes], most: last position,
//        scores: [distance, from -reach to reach], start: [query's position, distance], limits: of the scores' axis,
//        ticks: on it}.
// The curve is computed in Python. The hands and the score at the dot are computed here, from the two positions.
function scene({ stage, bar, say, data, narrow, state }) {
  const { most, frequencies, shown } = data, reach = (data.scores.length - 1) / 2, half = frequencies.length;
  state.at ??= data.start[0];
  state.distance ??= data.start[1];
  state.moved ??= null; // what the reader moved last, and how it was before: {what, from, score}

  const turned = (vector, pair, place) => {
    const angle = place * frequencies[pair], cos = Math.cos(angle), sin = Math.sin(angle);
    const [a, b] = [vector[pair], vector[pair + half]];
    return [a * cos - b * sin, a * sin + b * cos];
  };
  const scoreAt = (at, distance) => frequencies.reduce((sum, _, pair) => {
    const [a, b] = turned(data.query, pair, at), [c, d] = turned(data.key, pair, at + distance);
    return sum + a * c + b * d;
  }, 0) / Math.sqrt(2 * half);

  const clocks = facePanel(data, turned);
  const curve = curvePanel(narrow ? [366, 250] : [400, 330], data, reach);
  const ruler = rulerPanel(narrow ? 366 : 740, most);

  const update = () => {
    const { at, distance, moved } = state, key = at + distance, score = scoreAt(at, distance);
    clocks.update(at, key);
    curve.update(distance, score);
    ruler.update(at, key);
    const told = [h("b", {}, `Query at ${at}, key at ${key}: score ${fixed(score, 2)}.`)];
    if (moved?.what === "pair") {
      const turns = [frequencies[0], frequencies.at(-1)].map((speed) => threeDigits(
        (Math.abs(at - moved.from) * speed * 180) / Math.PI));
      told.push(` The pair moved from ${moved.from} to ${at}: every hand turned, the fastest by ${turns[0]}°, the `
        + `slowest by ${turns[1]}°. The angles between the hands stay, and so does the score.`);
    } else if (moved?.what === "distance") {
      told.push(` Another distance turns the key against the query: the score was ${fixed(moved.score, 2)} at `
        + `${fixed(moved.from, 0)}.`);
    } else told.push(" Move the pair: every hand turns, the score stays.");
    if (moved?.stopped) told.push(` Both must stand between 0 and ${most}.`);
    say.replaceChildren(...told);
  };
  const change = (what, wanted) => {
    const { at, distance } = state, from = what === "pair" ? at : distance, score = scoreAt(at, distance);
    const [low, high] = what === "pair" ? [Math.max(0, -distance), Math.min(most, most - distance)]
      : [Math.max(-reach, -at), Math.min(reach, most - at)];
    const to = Math.min(Math.max(wanted, low), high);
    state[what === "pair" ? "at" : "distance"] = to;
    const moved = to === from ? state.moved : { what, from, score };
    state.moved = moved && { ...moved, stopped: to !== wanted };
    if (to !== wanted) show(what === "pair" ? pair : apart, to, what);
    update();
  };
  const name = (what) => (value) => (what === "pair" ? `query at ${value}` : `distance ${fixed(value, 0)}`);
  const show = (label, value, what) => {
    const input = label.querySelector("input");
    input.value = value;
    input.setAttribute("aria-valuetext", name(what)(value));
    label.querySelector("output").textContent = name(what)(value);
  };
  const pair = slider("where the pair stands", {
    min: 0, max: most, value: state.at, name: name("pair"), change: (value) => change("pair", value),
  });
  const apart = slider("distance", {
    min: -reach, max: reach, value: state.distance, name: name("distance"),
    change: (value) => change("distance", value),
  });
  for (const label of [pair, apart]) label.querySelector("output").style.minWidth = "6.4em";
  bar.append(pair, apart);
  stage.append(
    h("style", {}, `
      .panels { display: grid; gap: 0.4em 1em; grid-template-columns: 366fr 400fr; align-items: start; }
      .panels.narrow { grid-template-columns: 1fr; }`),
    bar, ruler.svg,
    h("div", { class: narrow ? "panels narrow" : "panels" }, clocks.svg, curve.svg),
    say,
  );
  update();
}

const label = (x, y, text, how = {}) =>
  h("text", { x, y, "text-anchor": "middle", "font-size": 12, fill: "var(--soft)", ...how }, text);
const line = (x1, y1, x2, y2, how = {}) => h("line", { x1, y1, x2, y2, stroke: "var(--line)", ...how });
const point = (role) => h("circle", { class: role, r: 4.5, stroke: `var(--${role})`, "stroke-width": 2,
  fill: role === "query" ? "var(--query)" : "none" });

/** Six clock faces: the query's hand ends in a filled point; the key's is dashed, and its point is hollow. */
function facePanel({ query, key, shown, turns, heading }, turned) {
  const RADIUS = 46, SHORTEST = 0.35; // of the radius, so that every hand has a visible direction
  const ends = (vector) => shown.map((pair) => Math.hypot(...turned(vector, pair, 0)));
  const longest = Math.max(...ends(query), ...ends(key)) || 1;
  const faces = shown.map((pair, number) => {
    const x = 61 + 122 * (number % 3), y = 72 + 152 * Math.floor(number / 3);
    const hands = ["query", "key"].map((role) => ({ role, end: point(role),
      hand: line(x, y, x, y, { class: `hand ${role}`, stroke: `var(--${role})`, "stroke-width": 2.4,
        "stroke-dasharray": role === "key" ? "5 3" : false }) }));
    const arc = h("path", { fill: "none", stroke: "var(--soft)", "stroke-width": 1.4 });
    const apart = label(x, y + 78, "", { class: "apart", fill: "var(--ink)" });
    const title = h("title");
    const node = h("g", { class: "face" }, title,
      h("circle", { cx: x, cy: y, r: RADIUS, fill: "none", stroke: "var(--line)", "stroke-width": 1.3 }),
      [0, 90, 180, 270].map((turn) =>
        line(x + RADIUS - 4, y, x + RADIUS, y, { transform: `rotate(${turn} ${x} ${y})` })),
      arc, hands.map(({ hand, end }) => [hand, end]), label(x, y + 62, turns[number]), apart);
    const update = (at, keyAt) => {
      const vectors = [turned(query, pair, at), turned(key, pair, keyAt)];
      const angles = vectors.map(([a, b]) => Math.atan2(b, a));
      vectors.forEach((vector, i) => {
        const length = RADIUS * (SHORTEST + ((1 - SHORTEST) * Math.hypot(...vector)) / longest);
        const tip = [x + length * Math.cos(angles[i]), y - length * Math.sin(angles[i])].map((each) => each.toFixed(2));
        ["x2", "y2"].forEach((side, k) => hands[i].hand.setAttribute(side, tip[k]));
        ["cx", "cy"].forEach((side, k) => hands[i].end.setAttribute(side, tip[k]));
      });
      let gap = angles[1] - angles[0]; // from the query to the key, the shorter way
      gap -= 2 * Math.PI * Math.round(gap / (2 * Math.PI));
      const at14 = (angle) => `${(x + 14 * Math.cos(angle)).toFixed(2)} ${(y - 14 * Math.sin(angle)).toFixed(2)}`;
      arc.setAttribute("d", `M${at14(angles[0])}A14 14 0 0 ${gap > 0 ? 0 : 1} ${at14(angles[1])}`);
      const degrees = Math.abs((gap * 180) / Math.PI);
      apart.textContent = `${fixed(degrees, 0)}° apart`;
      const product = vectors[0][0] * vectors[1][0] + vectors[0][1] * vectors[1][1];
      title.textContent = `pair ${pair + 1}: ${fixed(degrees, 0)}° apart, adds `
        + `${fixed(product / Math.sqrt(query.length), 3)} to the score`;
    };
    return { node, update };
  });
  const svg = h("svg", { viewBox: `0 0 366 ${8 + 152 * Math.ceil(shown.length / 3)}`, role: "img",
    "aria-label": "pairs of columns as clock faces, from fastest to slowest" },
    label(4, 14, heading, { "text-anchor": "start" }), faces.map(({ node }) => node));
  return { svg, update: (at, keyAt) => faces.forEach((face) => face.update(at, keyAt)) };
}

/** The score over the distance, with a dot for the pair's. */
function curvePanel([width, height], { scores, limits: [low, high], ticks }, reach) {
  const left = 44, right = width - 14, top = 48, floor = height - 42;
  const x = (distance) => left + ((distance + reach) / (2 * reach)) * (right - left);
  const y = (score) => floor - ((score - low) / (high - low)) * (floor - top);
  const path = scores.map((score, i) => `${x(i - reach).toFixed(1)} ${y(score).toFixed(1)}`).join("L");
  const upright = line(0, top, 0, floor, { stroke: "var(--soft)", "stroke-dasharray": "2 4" });
  const dot = h("circle", { class: "score", r: 6, fill: "var(--plus)", stroke: "var(--ink)", "stroke-width": 1.5 });
  const number = label(0, 0, "", { class: "number", "font-size": 15, "font-weight": 650, fill: "var(--ink)",
    y: top - 8 });
  const middle = (left + right) / 2;
  const svg = h("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "score by distance" },
    label(middle, 14, "score q·k/√d by distance", { "font-size": 14, "font-weight": 600, fill: "var(--ink)" }),
    ticks.map((tick) => [line(left, y(tick), right, y(tick), { "stroke-width": tick === 0 ? 1.8 : 0.8 }),
      label(left - 6, y(tick) + 4, String(tick).replace("-", "−"), { "text-anchor": "end" })]),
    [-reach, 0, reach].map((distance) => label(x(distance), floor + 17, fixed(distance, 0))),
    label(middle, height - 6, "position of the key − position of the query"),
    upright, h("path", { class: "curve", d: `M${path}`, fill: "none", stroke: "var(--plus)", "stroke-width": 2.2 }),
    dot, number);
  const update = (distance, score) => {
    dot.setAttribute("cx", x(distance).toFixed(2));
    dot.setAttribute("cy", y(score).toFixed(2));
    for (const end of ["x1", "x2"]) upright.setAttribute(end, x(distance).toFixed(2));
    number.textContent = fixed(score, 2);
    number.setAttribute("x", Math.min(Math.max(x(distance), left + 22), right - 20).toFixed(1));
  };
  return { svg, update };
}

/** The positions, with the query above the line and the key below it. */
function rulerPanel(width, most) {
  const x = (place) => 16 + (place / most) * (width - 32);
  const marks = ["query", "key"].map((role, i) => ({ role, dot: point(role),
    name: label(0, i ? 51 : 13, role, { fill: "var(--ink)", "font-size": 13 }) }));
  const svg = h("svg", { viewBox: `0 0 ${width} 56`, role: "img", "aria-label": "positions of query and key" },
    line(x(0), 30, x(most), 30, { stroke: "var(--soft)" }),
    [0, most].map((place) => [line(x(place), 25, x(place), 35, { stroke: "var(--soft)" })]),
    marks.map(({ dot, name }) => [dot, name]));
  const update = (...places) => marks.forEach(({ role, dot, name }, i) => {
    dot.setAttribute("cx", x(places[i]).toFixed(2));
    dot.setAttribute("cy", i ? 36 : 24);
    name.textContent = `${role} ${places[i]}`;
    name.setAttribute("x", Math.min(Math.max(x(places[i]), 30), width - 30).toFixed(1));
  });
  return { svg, update };
}
