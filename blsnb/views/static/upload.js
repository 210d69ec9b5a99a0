// src/upload.ts
var PIECE_BYTES = 1 << 20;
function render({ model, el }) {
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
async function upload(model, file, id, latest) {
  const { name, size } = file;
  model.send({ type: "begin", id, name, size });
  if (size > Number(model.get("max_bytes"))) return;
  for (let offset = 0; offset < size && id === latest(); offset += PIECE_BYTES) {
    const piece = await file.slice(offset, offset + PIECE_BYTES).arrayBuffer();
    model.send({ type: "piece", id }, void 0, [piece]);
  }
}
var upload_default = { render };
export {
  upload_default as default
};
