// A schematic, step by step. data: {captions: [text], narrow: the drawing for a phone as a data URI, or "",
//                                   start: the step that is shown first, or none: all are}.
// A slide reads `host.steps`, calls `host.showStep`, and hears of the event "step", whose detail is the step.
function scene({ stage, bar, say, data, still, narrow, state, host }) {
  const last = data.captions.length;
  stage.innerHTML = narrow && data.narrow ? decode(data.narrow) : still;
  if (!last) return stage.append(bar);
  state.now ??= data.start;

  const dots = data.captions.map((_, i) => h("button", { "aria-label": `step ${i + 1}`, onclick: () => go(i + 1) }));
  // If nobody says where to begin, all is drawn, as in the still picture; the first step forward leads to step 1.
  const go = (to) => {
    host.showStep(((to - 1 + last) % last) + 1);
    host.dispatchEvent(new CustomEvent("step", { bubbles: true, detail: state.now }));
  };
  host.steps = last;
  host.showStep = (step) => {
    state.now = step;
    show();
  };
  const show = () => {
    const { now } = state;
    for (const group of stage.querySelectorAll("[data-step]")) {
      group.classList.toggle("later", now !== undefined && +group.dataset.step > now);
    }
    dots.forEach((dot, i) => {
      dot.classList.toggle("on", i < now);
      dot.setAttribute("aria-current", i + 1 === now ? "step" : "false");
    });
    say.replaceChildren(
      ...(now === undefined
        ? [h("span", { class: "soft" }, "Press › to see it built, step by step.")]
        : [h("b", {}, `${now}/${last} `), data.captions[now - 1]]),
    );
  };
  const forward = () => go((state.now ?? last) + 1);
  const back = () => go((state.now ?? last + 1) - 1);
  bar.append(
    h("button", { "aria-label": "previous step", onclick: back }, "‹"),
    h("span", { class: "dots" }, dots),
    h("button", { "aria-label": "next step", onclick: forward }, "›"),
    say,
  );
  stage.append(
    h("style", {}, `
      .dots { display: inline-flex; }
      .dots button { width: 24px; height: 24px; padding: 0; border: 0; background: none; display: grid;
        place-items: center; }
      .dots button::before { content: ""; width: 11px; height: 11px; border-radius: 50%;
        border: 1px solid var(--soft); }
      .dots button.on::before { background: var(--plus); border-color: var(--plus); }`),
    bar,
  );
  onKeys(stage, { ArrowRight: forward, PageDown: forward, ArrowLeft: back, PageUp: back });
  show();
}
