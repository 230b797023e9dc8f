// Bundles src/ into mlirdev/explore/assets/: explorer.js, explorer.css, and the licences of what is in them.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "mlirdev", "explore", "assets");

// tests/explore/test_bundle.py computes the same: the bundle in the repository belongs to these sources.
function fingerprint() {
  const files = [...sources(join(here, "src")), "build.mjs", "package-lock.json"].map((f) => f.replace(here + sep, ""));
  const hash = createHash("sha256");
  for (const file of files.sort()) hash.update(`${file}\n`).update(readFileSync(join(here, file)));
  return hash.digest("hex");
}

function sources(folder) {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.flatMap((e) => (e.isDirectory() ? sources(join(folder, e.name)) : [join(folder, e.name)]));
}

function licences(inputs) {
  const packages = new Set(Object.keys(inputs).map(packageOf).filter(Boolean));
  return [...packages]
    .sort()
    .map(licence)
    .join(`\n${"-".repeat(100)}\n\n`);
}

function packageOf(input) {
  const found = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input);
  return found && found[0];
}

function licence(folder) {
  const about = JSON.parse(readFileSync(join(here, folder, "package.json"), "utf8"));
  const file = readdirSync(join(here, folder)).find((name) => /^licen[cs]e/i.test(name));
  if (!file) throw new Error(`${about.name} comes without its licence`);
  return `${about.name} ${about.version} (${about.license})\n\n${readFileSync(join(here, folder, file), "utf8").trim()}\n`;
}

const banner = `/*! mlirdev's explorer; sources sha256:${fingerprint()}; licences in LICENSES.txt */`;
const options = {
  absWorkingDir: here,
  entryPoints: [{ in: "src/main.tsx", out: "explorer" }],
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome110", "firefox115", "safari16.4"],
  banner: { js: banner, css: banner },
  legalComments: "none",
  metafile: true,
  jsx: "automatic",
  jsxImportSource: "preact",
};

if (process.argv.includes("--watch")) {
  await (await esbuild.context(options)).watch();
} else {
  const result = await esbuild.build(options);
  writeFileSync(join(out, "LICENSES.txt"), licences(result.metafile.inputs));
  for (const [file, { bytes }] of Object.entries(result.metafile.outputs))
    console.log(`${file} ${(bytes / 1024) | 0} KiB`);
}
