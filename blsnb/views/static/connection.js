// src/kernel/connections.ts
var CONNECTED = "blsnb-connected";
var DISCONNECTED = "blsnb-disconnected";
function connections() {
  const page = globalThis;
  return page[/* @__PURE__ */ Symbol.for("blsnb-connections")] ??= /* @__PURE__ */ new Set();
}
function connect(model) {
  if (connections().has(model)) return;
  connections().add(model);
  globalThis.dispatchEvent(new Event(CONNECTED));
}
function disconnect(model) {
  if (connections().delete(model)) globalThis.dispatchEvent(new Event(DISCONNECTED));
}

// src/kernel/widget.ts
var VERSION = 1;

// src/connection.ts
function initialize({ model }) {
  const received = (message) => {
    if (message?.type === "welcome") connect(model);
  };
  const hello = () => {
    try {
      model.send({ v: VERSION, type: "hello", runs: {} });
    } catch {
    }
  };
  const lost = () => {
    disconnect(model);
    hello();
  };
  model.on("msg:custom", received);
  model.on("comm_live_update", lost);
  hello();
  return () => {
    model.off("msg:custom", received);
    model.off("comm_live_update", lost);
    disconnect(model);
  };
}
var connection_default = { initialize };
export {
  connection_default as default
};
