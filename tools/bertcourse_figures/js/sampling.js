// Lecture 12: what the next word is drawn from, as temperature, top-k and top-p change it, and twenty draws.
// data: {before: text, words: the likeliest by name,
//        logits: falling, of each of these words and then of each group of rarer ones,
//        counts: how many words a group has, settings: [temperatures, top-ks (0: no limit), top-ps],
//        start: a place in each of these, uniforms: [press of the button][draw], bars: words with a bar of their own}.
function scene({ stage, bar, say, data, narrow, state }) {
  const { words, settings, uniforms } = data;
  const counts = [...words.map(() => 1), ...data.counts], size = counts.reduce((sum, count) => sum + count);
  state.places ??= [...data.start];
  state.presses ??= 0;
  const own = distributionOf(data.logits, counts, 1, 0, 1);

  const row = (name) => {
    const fill = h("div", { class: "fill" }), cut = h("div", { class: "cut" }), tick = h("div", { class: "tick" });
    const drawn = h("div", { class: "drawn" });
    const word = h("span", { class: "word", title: name }, name);
    const share = h("span", { class: "share" }), often = h("span", { class: "often" });
    const node = h("div", { class: "choice" }, word,
      h("span", { class: "track" }, h("span", { class: "bars" }, fill, cut), drawn, tick), share, often);
    return { node, fill, cut, tick, drawn, share, often };
  };
  const rows = words.slice(0, data.bars).map(row), others = size - data.bars;
  if (others) rows.push(row(`${others.toLocaleString("en")} other${others === 1 ? "" : "s"}`));

  const update = () => {
    const [temperature, k, p] = state.places.map((place, i) => settings[i][place]);
    const now = distributionOf(data.logits, counts, temperature, k, p);
    const numbers = state.presses ? uniforms[(state.presses - 1) % uniforms.length] : [];
    const drawn = numbers.map((number) => drawFrom(now.left, number));
    const sum = (values, from) => values.slice(from).reduce((total, value) => total + value, 0);
    rows.forEach(({ node, fill, cut, tick, drawn: line, share, often }, i) => {
      const pick = (values) => (i < data.bars ? values[i] : sum(values, data.bars));
      const left = pick(now.left), hits = drawn.filter((place) => Math.min(place, data.bars) === i).length;
      fill.style.width = `${100 * left}%`;
      cut.style.width = `${100 * pick(now.cut)}%`;
      tick.style.left = `${100 * pick(own.left)}%`;
      line.style.width = `${(100 * hits) / (numbers.length || 1)}%`;
      node.classList.toggle("out", left === 0);
      share.textContent = left === 0 ? "cut off" : fixed(left, 3);
      often.textContent = numbers.length && hits ? `${hits}×` : "";
    });
    const are = now.kept === 1 ? "is" : "are", tally = new Map();
    for (const place of drawn) {
      const word = words[place] ?? "a rarer word";
      tally.set(word, (tally.get(word) ?? 0) + 1);
    }
    const list = [...tally].sort((a, b) => b[1] - a[1]).map(([word, hits]) => `${word} ${hits}`).join(", ");
    say.replaceChildren(
      h("b", {}, `${now.kept.toLocaleString("en")} of ${size.toLocaleString("en")} words ${are} left. `),
      `Entropy ${fixed(now.entropy, 2)} nats, as open as a choice `,
      `among ${fixed(Math.exp(now.entropy), 1)} equally likely words; the model’s own is ${fixed(own.entropy, 2)}.`,
      numbers.length ? h("div", { class: "tally" }, `${numbers.length} draws: ${list}.`) : "");
    button.textContent = numbers.length ? "draw 20 others" : "draw 20 words";
  };

  const names = ["temperature", "top-k", "top-p"];
  const told = [(value) => `T = ${value}`, (value) => (value ? `top-k ${value}` : "top-k off"),
    (value) => (value < 1 ? `top-p ${value}` : "top-p off")];
  const sliders = names.map((name, i) => slider(name, {
    min: 0, max: settings[i].length - 1, value: state.places[i], name: (place) => told[i](settings[i][place]),
    change: (place) => { state.places[i] = place; update(); },
  }));
  const button = h("button", { onclick: () => { state.presses += 1; update(); } });
  bar.append(...sliders, button);
  const legend = h("div", { class: "legend soft" }, [
    ["fill", "probability"], ["cut", "cut off"], ["tick", "the model’s own"], ["drawn", "share of the 20 draws"],
  ].map(([look, text]) => h("span", {}, h("i", { class: look }), text)));
  stage.append(
    h("style", {}, `
      .bar input { width: ${narrow ? "40vw" : "112px"}; } .bar output { min-width: 5.2em !important; }
      .before { font-size: 1.08em; margin: 0.3em 0 0.5em; } .before i { color: var(--soft); font-style: normal; }
      .choice { display: grid; grid-template-columns: ${narrow ? "6.8em 1fr 3.4em 2em" : "9em 1fr 4.2em 2.2em"};
        gap: 0.6em; align-items: center; margin: 2px 0; }
      .word { text-align: right; overflow: hidden; text-overflow: ellipsis; white-space: pre; }
      .choice.out .word, .share { color: var(--soft); }
      .share, .often { text-align: right; white-space: nowrap; }
      .often { color: var(--value); font-weight: 650; }
      .track { position: relative; display: block; height: 1.4em; border-left: 1px solid var(--line); }
      .bars { display: flex; height: 0.93em; }
      .bars > *, .drawn { transition: width 0.15s; } .bars .fill { flex: none; }
      .fill { background: var(--plus); border-radius: 0 2px 2px 0; }
      .cut { background: repeating-linear-gradient(-45deg, transparent 0 3px, var(--soft) 3px 4px);
        box-shadow: inset 0 0 0 1px var(--line); }
      .drawn { height: 0.33em; margin-top: 0.07em; background: var(--value); }
      .track .tick { position: absolute; top: -0.13em; height: 1.2em; margin-left: -1px; }
      .tick { width: 2px; background: var(--ink); }
      .legend { display: flex; flex-wrap: wrap; gap: 0.1em 1.3em; font-size: var(--small); margin: 0.5em 0; }
      .legend span { display: inline-flex; gap: 0.45em; align-items: center; }
      .legend i { display: inline-block; width: 1.2em; height: 0.75em; }
      .legend i.drawn { height: 0.33em; margin: 0; } .legend i.tick { width: 2px; height: 0.95em; }
      .tally { margin-top: 0.15em; }`),
    bar,
    data.before ? h("div", { class: "before" }, `${data.before} `, h("i", {}, "____")) : "",
    h("div", { role: "group", "aria-label": "the likeliest next words" }, rows.map(({ node }) => node)), legend, say,
  );
  update();
}

/**
 * What is left of each word or group, summing to 1; what is cut off, as it was before that; how many words are left;
 * the entropy of the choice among them. A group's words share one logit.
 */
function distributionOf(logits, counts, temperature, k, p) {
  const each = logits.map((logit) => Math.exp((logit - logits[0]) / temperature)); // logits fall
  const total = each.reduce((sum, value, i) => sum + value * counts[i], 0);
  const shares = each.map((value) => value / total);
  const upTo = (most, mass) => { // so many words at most, and no more than are needed for this mass
    let words = 0, sum = 0;
    return shares.map((share, i) => {
      const needed = Math.ceil((mass - sum - 1e-9) / share);
      const count = Math.max(0, Math.min(counts[i], most - words, needed));
      words += count;
      sum += count * share;
      return count;
    });
  };
  const massOf = (kept) => kept.reduce((sum, count, i) => sum + count * shares[i], 0);
  let kept = upTo(k || Infinity, Infinity);
  if (p < 1) kept = upTo(k || Infinity, p * massOf(kept));
  const mass = massOf(kept);
  return {
    left: kept.map((count, i) => (count * shares[i]) / mass),
    cut: kept.map((count, i) => (counts[i] - count) * shares[i]),
    kept: kept.reduce((sum, count) => sum + count),
    entropy: kept.reduce((sum, count, i) => sum + count * surprise(shares[i] / mass), 0),
  };
}

const surprise = (share) => (share > 0 ? -share * Math.log(share) : 0);

/** The place at which the shares, added up, pass a number between 0 and 1. */
function drawFrom(shares, number) {
  let sum = 0;
  const place = shares.findIndex((share) => (sum += share) > number);
  return place >= 0 ? place : shares.findLastIndex((share) => share > 0);
}
