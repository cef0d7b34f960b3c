// Says what the page weighs, and fails if it is too much: 300 kB of scripts and styles, uncompressed.

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const MOST = 300_000;
const folder = fileURLToPath(new URL('../dist/assets', import.meta.url));
let [plain, zipped] = [0, 0];
for (const name of readdirSync(folder).filter((name) => /\.(js|css)$/.test(name))) {
  const content = readFileSync(`${folder}/${name}`);
  plain += content.length;
  zipped += gzipSync(content).length;
}
console.log(`page weight ${(plain / 1000).toFixed(1)} kB (${(zipped / 1000).toFixed(1)} kB zipped), at most ${MOST / 1000} kB`);
if (plain > MOST) process.exit(1);
