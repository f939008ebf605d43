import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'tsup'
import { expect, it } from 'vitest'

/** The goal: a page or a function at the edge must not become slower to load. */
const BYTES_MAX = 12 * 1024

it('has at most 12 KB, minified and compressed, and imports no module', async () => {
  const outDir = mkdtempSync(join(tmpdir(), 'svc-client-size-'))
  try {
    await build({
      entry: { index: fileURLToPath(new URL('../src/index.ts', import.meta.url)) },
      outDir,
      config: false,
      silent: true,
      format: 'esm',
      platform: 'neutral',
      target: 'es2022',
      minify: true,
    })
    const code = readFileSync(join(outDir, 'index.js'))
    const size = gzipSync(code, { level: 9 }).length
    console.log(`@svc/client: ${size} bytes, minified and compressed`)
    expect(size).toBeLessThanOrEqual(BYTES_MAX)
    expect(/[;}]import[ {"'*]|\brequire\(|["'`]node:/.test(code.toString())).toBe(false)
  } finally {
    rmSync(outDir, { recursive: true })
  }
})
