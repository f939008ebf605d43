import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

const TSC = 'node_modules/typescript/bin/tsc'

// Its own declarations do not compile without the drivers of every database there is.
const NOT_OURS = /^node_modules\/(\.pnpm\/)?drizzle-orm\b/

// The first checks libraries too; the second is as most programs are, and the guide says.
for (const config of ['nodenext.json', 'bundler.json']) {
  test(`the program and our declarations compile with ${config}`, () => {
    const { status, stdout } = spawnSync(process.execPath, [TSC, '-p', config], {
      encoding: 'utf8',
      maxBuffer: 64_000_000,
    })
    const errors = stdout.split('\n').filter((line) => /^\S.*: error TS/.test(line))
    assert.deepEqual(
      errors.filter((line) => !NOT_OURS.test(line)),
      [],
    )
    // One that ends without an error has none; one that ends otherwise has said why.
    assert.equal(status === 0, errors.length === 0, stdout)
  })
}
