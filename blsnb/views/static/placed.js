// src/kernel/registry.ts
function register(kind, id, mount) {
  const page = globalThis;
  const all = page[/* @__PURE__ */ Symbol.for(`blsnb-${kind}`)] ??= /* @__PURE__ */ new Map();
  all.set(id, mount);
  globalThis.dispatchEvent(new Event(`blsnb-${kind}-registered`));
  return () => {
    all.delete(id);
  };
}

// src/placed.ts
var REFERENCE = "IPY_MODEL_";
var INSERT = "blsnb-insert-cell";
function initialize({ model }) {
  const restore = [];
  const withdraw = register("placed", String(model.get("placed_id")), (host) => {
    void place(model, host).then((undo) => restore.push(undo));
  });
  const received = (message) => {
    if (message?.type !== "insert" || typeof message.code !== "string") return;
    void insert(message.code).then((result) => model.send({ type: "insert", result }));
  };
  model.on("msg:custom", received);
  return () => {
    withdraw();
    model.off("msg:custom", received);
    for (const undo of restore) undo();
  };
}
async function place(model, host) {
  const reference = String(model.get("content")).replace(REFERENCE, "");
  const manager = model.widget_manager;
  const view = await manager.create_view(await manager.get_model(reference));
  const text = [...host.childNodes];
  host.replaceChildren();
  view.luminoWidget.constructor.attach(view.luminoWidget, host);
  return () => {
    host.replaceChildren(...text);
  };
}
async function insert(code) {
  const event = new CustomEvent(INSERT, { detail: { code }, cancelable: true });
  if (!globalThis.dispatchEvent(event)) return "inserted";
  try {
    await navigator.clipboard.writeText(code);
    return "copied";
  } catch {
    return "failed";
  }
}
var placed_default = { initialize };
export {
  placed_default as default
};
