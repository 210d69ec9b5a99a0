// src/page/attention.ts
var CHOOSES = ["Enter", " "];
function followAttention(list, changed) {
  let [over, focused] = [false, false];
  const inside = ({ target }) => list()?.contains(target) ?? false;
  const set = (nowOver, nowFocused) => {
    const before = over || focused;
    [over, focused] = [nowOver, nowFocused];
    if (before !== (over || focused)) changed(!before);
  };
  const handlers = {
    // A finger rests on nothing.
    pointermove: (event) => set(event.pointerType !== "touch" && inside(event), focused),
    // Rows may leave a pointer that rests.
    pointerover: (event) => set(over && inside(event), focused),
    pointerleave: ({ target }) => target === document.documentElement && set(false, focused),
    keyup: (event) => CHOOSES.includes(event.key) || set(over, inside(event)),
    focusout: () => set(over, false),
    click: (event) => inside(event) && set(false, false)
  };
  for (const [name, handler] of Object.entries(handlers)) document.addEventListener(name, handler, true);
  return () => {
    for (const [name, handler] of Object.entries(handlers)) document.removeEventListener(name, handler, true);
  };
}

// src/attended.ts
function render({ model, el }) {
  const list = () => el.parentElement?.querySelector(`.${String(model.get("list_class"))}`) ?? null;
  const report = (attended) => {
    model.set("attended", attended);
    model.save_changes();
  };
  const stop = followAttention(list, report);
  return () => {
    stop();
    report(false);
  };
}
var attended_default = { render };
export {
  attended_default as default
};
