// Writes dist/SOURCES.sha256: what the committed page was built from. README.md says how it is reckoned.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = ['index.html', 'package-lock.json', 'package.json', 'public', 'src', 'svelte.config.js', 'tsconfig.json', 'vite.config.ts'];

function files(path) {
  if (statSync(join(root, path)).isFile()) return [path];
  return readdirSync(join(root, path)).flatMap((name) => files(`${path}/${name}`));
}

// By bytes, as Rust sorts strings; JavaScript's own order differs beyond ASCII.
const order = (one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other));

export function stamp() {
  const whole = createHash('sha256');
  for (const path of SOURCES.flatMap(files).sort(order)) {
    const content = createHash('sha256').update(readFileSync(join(root, path))).digest('hex');
    whole.update(`${content}  ${path}\n`);
  }
  return whole.digest('hex');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sum = stamp();
  writeFileSync(join(root, 'dist/SOURCES.sha256'), `${sum}\n`);
  console.log(`sources ${sum}`);
}
