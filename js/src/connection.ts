/** The entry of a kernel's connection: a widget without a view, which documents find in the page. */

import { connect, disconnect } from "./connections.ts";
import { VERSION, type WidgetModel } from "./widget.ts";

function initialize({ model }: { model: WidgetModel }): () => void {
  const received = (): void => connect(model);
  /** The kernel was restarted or died, unless it answers. */
  const lost = (): void => {
    disconnect(model);
    try {
      model.send({ v: VERSION, type: "hello", runs: {} });
    } catch {
      // Its comm is closed: nothing will answer.
    }
  };
  model.on("msg:custom", received);
  model.on("comm_live_update", lost);
  connect(model);
  return () => {
    model.off("msg:custom", received);
    model.off("comm_live_update", lost);
    disconnect(model);
  };
}

export default { initialize };
