// Steps to and fro, in several figures: ‹, a slider, ›, and the arrow keys wherever in the figure one is.

/** The controls, as a list of nodes; `name` turns a step's number into words, `change` is called with it. */
function walk(stage, label, { max, value, name, change }) {
  const control = slider(label, { min: 0, max, value, name, change });
  const input = control.querySelector("input");
  const move = (by) => { // a range keeps its value between its ends
    input.value = +input.value + by;
    input.dispatchEvent(new Event("input"));
  };
  const forward = () => move(1), back = () => move(-1);
  onKeys(stage, { ArrowRight: forward, PageDown: forward, ArrowLeft: back, PageUp: back });
  return [
    h("button", { "aria-label": "previous step", onclick: back }, "‹"), control,
    h("button", { "aria-label": "next step", onclick: forward }, "›"),
  ];
}
