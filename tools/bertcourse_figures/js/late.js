// Lecture 10: late interaction: each token of a question finds the token of a passage that is most like it.
// data: {question: [token], context, places: [[from, to]], cosines: [question's token][passage's token], best: [token],
//        largest: [cosine], start: token of the question}.
function scene({ stage, bar, say, data, state }) {
  const { question, context, places, cosines, best, largest } = data;
  state.chosen ??= data.start;
  const choose = (i) => { state.chosen = i; update(); };
  const buttons = question.map((token, i) => h("button", { onclick: () => choose(i), onmouseenter: () => choose(i),
    "aria-label": `token ${token}` }, token));
  bar.append(h("span", { class: "soft" }, "Choose a token:"), ...buttons);
  const cuts = [...new Set([0, context.length, ...places.flat()])].sort((a, b) => a - b);
  const parts = cuts.slice(1).map((to, i) => {
    const from = cuts[i], token = places.findIndex(([a, b]) => a <= from && to <= b);
    return { token, node: h("span", { class: "part" }, context.slice(from, to)) };
  });
  const total = largest.reduce((sum, cosine) => sum + cosine, 0);
  const update = () => {
    const { chosen } = state;
    parts.forEach(({ token, node }) => {
      const cosine = token < 0 ? 0 : cosines[chosen][token];
      const tint = `color-mix(in oklab, var(--plus) ${(80 * Math.max(0, cosine) ** 2).toFixed(1)}%, transparent)`;
      node.style.background = token < 0 ? "" : tint;
      node.classList.toggle("found", token === best[chosen]);
      node.classList.toggle("others", token >= 0 && token !== best[chosen] && best.includes(token));
      if (token >= 0) node.title = `cosine ${fixed(cosine, 2)}`;
    });
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", i === chosen));
    const [from, to] = places[best[chosen]];
    say.replaceChildren(h("b", {}, `${question[chosen]} → `), h("b", { class: "match" }, context.slice(from, to)),
      `, cosine ${fixed(largest[chosen], 2)}. All ${question.length} together: `,
      h("b", { class: "total" }, fixed(total, 2)), ".");
  };
  stage.append(
    h("style", {}, `
      .text { line-height: 1.85; margin: 0.4em 0; } .part { padding: 0.12em 0; border-radius: 2px; }
      .found { outline: 2px solid var(--hot); outline-offset: 1px; font-weight: 650; }
      .others { outline: 1px dashed var(--soft); outline-offset: 1px; }`),
    bar, h("div", { class: "text" }, parts.map(({ node }) => node)),
    h("div", { class: "soft" }, "The bluer, the larger the cosine. Orange frame: its best match, which counts. ",
      "Dashed: the best matches of the other tokens."),
    say,
  );
  update();
}
