import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

const TSC = 'node_modules/typescript/bin/tsc'

for (const config of ['nodenext.json', 'bundler.json']) {
  test(`the program and all declarations compile with ${config}`, () => {
    const { status, stdout } = spawnSync(process.execPath, [TSC, '-p', config], {
      encoding: 'utf8',
      maxBuffer: 64_000_000,
    })
    assert.equal(status, 0, stdout)
  })
}
