/** The entry of a widget in a list: reports to the kernel while a reader is about to choose a row. */

import { followAttention } from "./page/attention.ts";
import type { WidgetModel } from "./kernel/widget.ts";

function render({ model, el }: { model: WidgetModel; el: HTMLElement }): () => void {
  const list = (): Element | null => el.parentElement?.querySelector(`.${String(model.get("list_class"))}`) ?? null;
  const report = (attended: boolean): void => {
    model.set("attended", attended);
    model.save_changes();
  };
  const stop = followAttention(list, report);
  return () => {
    stop();
    report(false);
  };
}

export default { render };
