/** Makes the tarballs for publication in `dist/`: `npm run pack`. */
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packAll } from './packages/tarballs.ts'

const FOLDER = fileURLToPath(new URL('../dist', import.meta.url))

for (const { file, size, unpacked, files } of await packAll(FOLDER)) {
  const name = relative(process.cwd(), file)
  console.log(`${name}  ${kilobytes(size)}, unpacked ${kilobytes(unpacked)}, ${files.length} files`)
}

function kilobytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024)} kB`
}
