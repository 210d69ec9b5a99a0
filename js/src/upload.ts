/** A field that uploads a file in pieces: Jupyter closes connections with large messages. */

import type { WidgetModel } from "./kernel/widget.ts";

const PIECE_BYTES = 1 << 20;

function render({ model, el }: { model: WidgetModel; el: HTMLElement }): void {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = String(model.get("accept"));
  input.setAttribute("aria-label", String(model.get("label")));
  let latest = 0;
  input.addEventListener("change", () => {
    const [file] = input.files ?? [];
    latest += 1;
    if (file) void upload(model, file, latest, () => latest);
  });
  el.append(input);
}

/** Send a file; a later choice ends it. */
async function upload(model: WidgetModel, file: File, id: number, latest: () => number): Promise<void> {
  const { name, size } = file;
  model.send({ type: "begin", id, name, size });
  if (size > Number(model.get("max_bytes"))) return;
  for (let offset = 0; offset < size && id === latest(); offset += PIECE_BYTES) {
    const piece = await file.slice(offset, offset + PIECE_BYTES).arrayBuffer();
    model.send({ type: "piece", id }, undefined, [piece]);
  }
}

export default { render };
