// Lecture 9: a question from which one word can be left out, and a text that shows where the answer may begin and end.
// data: {words: [text], context, places: [[from, to]], start: [question][token], end: [question][token],
//        found: [question][first, last], answer: [from, to],
//        without: question at first}; question 0 is whole, question i + 1 lacks word i.
function scene({ stage, bar, say, data, state }) {
  const { words, context, places, found } = data;
  state.without ??= data.without ?? 0;
  const go = (without) => { state.without = state.without === without ? 0 : without; update(); };
  const buttons = words.map((word, i) =>
    h("button", { "aria-label": `leave out ${word}`, onclick: () => go(i + 1) }, word));
  bar.append(h("span", { class: "soft" }, "Leave out a word:"), ...buttons);

  // The text, cut where a token or the answer begins or ends.
  const cuts = [...new Set([0, context.length, ...data.answer, ...places.flat()])].sort((a, b) => a - b);
  const parts = cuts.slice(1).map((to, i) => {
    const from = cuts[i], token = places.findIndex(([a, b]) => a <= from && to <= b);
    const marked = data.answer[0] <= from && to <= data.answer[1];
    return { token, node: h("span", { class: marked ? "part marked" : "part" }, context.slice(from, to)) };
  });
  const answerOf = (question) => {
    const [first, last] = found[question];
    return context.slice(places[first][0], places[last][1]);
  };
  const update = () => {
    const { without } = state, start = data.start[without], end = data.end[without], [first, last] = found[without];
    parts.forEach(({ token, node }) => {
      const tint = (share, color) => `color-mix(in oklab, var(--${color}) ${(80 * share).toFixed(1)}%, transparent)`;
      node.style.background = token < 0 ? "" : `linear-gradient(${tint(start[token], "plus")} 50%, ` +
        `${tint(end[token], "hot")} 50%)`;
      node.classList.toggle("found", first <= token && token <= last);
      if (token >= 0) node.title = `start ${start[token].toFixed(2)}, end ${end[token].toFixed(2)}`;
    });
    buttons.forEach((button, i) => {
      button.setAttribute("aria-pressed", i + 1 === without);
      button.classList.toggle("left", i + 1 === without);
    });
    const now = answerOf(without), before = answerOf(0);
    say.replaceChildren(without ? `Without “${words[without - 1]}”: ` : "The whole question: ",
      h("b", { class: "answer" }, now), `, start ${start[first].toFixed(2)}, end ${end[last].toFixed(2)}.`,
      !without ? "" : now === before ? " The same answer." : ` Before, it was “${before}”.`);
  };
  stage.append(
    h("style", {}, `
      .text { line-height: 1.9; margin: 0.4em 0; } .part { padding: 0.14em 0; border-radius: 2px; }
      .marked { text-decoration: underline; text-decoration-thickness: 2px; text-underline-offset: 4px; }
      .found { font-weight: 650; outline: 1.5px solid var(--hot); outline-offset: 1px; }
      .left { text-decoration: line-through; }`),
    bar, h("div", { class: "text" }, parts.map(({ node }) => node)),
    h("div", { class: "soft" }, "Upper half blue: the answer may begin here. Lower half orange: it may end here. ",
      "Framed: the reader's answer. Underlined: the examiner's."),
    say,
  );
  update();
}
