/** Cells of models for language servers: each is a Python file of its own, as on Triton. */

const MODEL_CELL = /^\s*%%triton_(?:model\b[^\n]*|file[^\S\n]+\S+\.py[^\S\n]*)\n/;

interface Position {
  line: number;
  column: number;
}

interface Extracted {
  hostCode: string | null;
  foreignCode: string | null;
  range: { start: Position; end: Position } | null;
  virtualShift: Position | null;
}

/** What JupyterLab expects of code in another document than its notebook. */
export interface Extractor {
  language: string;
  standalone: boolean;
  fileExtension: string;
  cellType: string[];
  hasForeignCode(code: string, cellType: string): boolean;
  extractForeignCode(code: string): Extracted[];
}

export interface Extractors {
  register(extractor: Extractor, hostLanguage: string | null): void;
}

export const MODEL_EXTRACTOR: Extractor = {
  language: "python",
  standalone: true,
  fileExtension: "py",
  cellType: ["code"],
  hasForeignCode: (code, cellType) => cellType === "code" && sourceStart(code) !== null,
  extractForeignCode: (code) => {
    const start = sourceStart(code) ?? 0;
    const range = { start: position(code, start), end: position(code, code.length) };
    return [{ hostCode: "", foreignCode: code.slice(start), range, virtualShift: null }];
  },
};

/** Add the extractor; it stays unused until a language server runs. */
export function addExtractor(extractors: Extractors): void {
  extractors.register(MODEL_EXTRACTOR, "python");
}

/** Return where the source of a model begins in its cell; null in other cells. */
function sourceStart(code: string): number | null {
  return MODEL_CELL.exec(code)?.[0].length ?? null;
}

function position(code: string, end: number): Position {
  const lines = code.slice(0, end).split("\n");
  return { line: lines.length - 1, column: lines[lines.length - 1].length };
}
