import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'

const TSC = 'node_modules/typescript/bin/tsc'

const strict = {
  target: 'ES2022',
  types: [],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: false,
  noEmit: true,
}
copyFileSync('program.ts', 'program.cts')
writeFileSync('console.d.ts', 'declare const console: { log(...words: unknown[]): void }')

const LIBS = { 'a browser': ['ES2022', 'DOM'], 'neither DOM nor Node': ['ES2022'] }
const RESOLUTIONS = [
  { module: 'ESNext', moduleResolution: 'Bundler' },
  { module: 'Node16', moduleResolution: 'Node16' },
  { module: 'NodeNext', moduleResolution: 'NodeNext' },
]

for (const [place, lib] of Object.entries(LIBS)) {
  for (const resolution of RESOLUTIONS) {
    for (const file of ['program.ts', 'program.cts']) {
      if (file.endsWith('.cts') && resolution.module === 'ESNext') continue
      test(`${file} compiles for ${place} with ${resolution.moduleResolution}`, () => {
        const files = place === 'a browser' ? [file] : [file, 'console.d.ts']
        const config = { compilerOptions: { ...strict, ...resolution, lib }, files }
        writeFileSync('tsconfig.json', JSON.stringify(config))
        const { status, stdout } = spawnSync(process.execPath, [TSC, '-p', '.'], {
          encoding: 'utf8',
        })
        assert.equal(status, 0, stdout)
      })
    }
  }
}
