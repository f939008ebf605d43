/**
 * Publishes the packages in the version of their manifests: `npm run release [-- --dry-run]`. The tarballs are the
 * ones that `npm run packages` tests, in the order of their dependencies.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packAll } from './packages/tarballs.ts'

const options = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'svc-release-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

for (const { file } of await packAll(folder)) {
  execFileSync('npm', ['publish', file, ...options], { stdio: 'inherit' })
}
