import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { invocationOf } from './node-process.ts'

test.each([
  ['/usr/local/bin/svc', '/home/asha', 'svc'],
  ['/app/packages/cli/dist/bin.js', '/app', 'node packages/cli/dist/bin.js'],
  ['/app/packages/cli/dist/bin.js', '/tmp', 'node /app/packages/cli/dist/bin.js'],
  ['/home/asha/.npm/_npx/1f/node_modules/.bin/svc', '/home/asha', 'npx @svc/cli'],
  ['/home/asha/.npm/_npx/1f/node_modules/@svc/cli/bin/svc.js', '/home/asha', 'npx @svc/cli'],
  ["/app/it's here/bin.js", '/app', "node 'it'\\''s here/bin.js'"],
])('names the command for %s in %s: %s', (script, cwd, line) => {
  expect(invocationOf(script, cwd)).toBe(line)
})

test('names npx beside an installed package and in a clone', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'svc-cli-'))
  mkdirSync(join(cwd, 'node_modules', '.bin'), { recursive: true })
  writeFileSync(join(cwd, 'node_modules', '.bin', 'svc'), '')
  const script = join(cwd, 'node_modules/@svc/cli/dist/bin.js')
  expect(invocationOf(script, cwd)).toBe('npx @svc/cli')
  mkdirSync(join(cwd, 'packages', 'cli', 'bin'), { recursive: true })
  writeFileSync(join(cwd, 'packages', 'cli', 'bin', 'svc.js'), '')
  expect(invocationOf(script, cwd)).toBe('npx svc')
  rmSync(cwd, { recursive: true })
})
