// A module of src/, bundled in memory: node can't read TypeScript by itself.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

export async function bundled(file) {
  const options = { absWorkingDir: root, entryPoints: [join("src", file)], bundle: true, format: "esm", write: false };
  const { outputFiles } = await esbuild.build(options);
  return import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);
}

/** Numbers below `most` that are the same in each run. */
export function random(seed) {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}
