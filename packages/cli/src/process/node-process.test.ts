import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { invocationOf } from './node-process.ts'

test.each([
  ['/usr/local/bin/svc', '/home/asha', 'svc'],
  ['/app/packages/cli/dist/bin.js', '/app', 'node packages/cli/dist/bin.js'],
  ['/app/packages/cli/dist/bin.js', '/tmp', 'node /app/packages/cli/dist/bin.js'],
  ["/app/it's here/bin.js", '/app', "node 'it'\\''s here/bin.js'"],
])('names the command for %s in %s: %s', (script, cwd, line) => {
  expect(invocationOf(script, cwd)).toBe(line)
})

test('names npx beside an installed package', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'svc-cli-'))
  mkdirSync(join(cwd, 'node_modules', '.bin'), { recursive: true })
  writeFileSync(join(cwd, 'node_modules', '.bin', 'svc'), '')
  expect(invocationOf(join(cwd, 'node_modules/@svc/cli/dist/bin.js'), cwd)).toBe('npx svc')
  rmSync(cwd, { recursive: true })
})
