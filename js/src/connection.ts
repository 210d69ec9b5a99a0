/** The entry of a kernel's connection: a widget without a view, which documents find in the page. */

import { connect, disconnect } from "./kernel/connections.ts";
import { VERSION, type WidgetModel } from "./kernel/widget.ts";

function initialize({ model }: { model: WidgetModel }): () => void {
  const received = (message?: { type?: string }): void => {
    if (message?.type === "welcome") connect(model);
  };
  /** A restarted kernel does not reply. */
  const hello = (): void => {
    try {
      model.send({ v: VERSION, type: "hello", runs: {} });
    } catch {
      // Its comm is closed.
    }
  };
  const lost = (): void => {
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

export default { initialize };
