import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { NODE_VERSIONS } from '../proof/node-matrix/versions.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(`${ROOT}/${path}`, 'utf8')
const enginesOf = (path: string) => (JSON.parse(read(path)) as { engines: object }).engines

describe('the versions of Node', () => {
  it('in the README are those of the matrix', () => {
    const named = read('README.md').match(/\b\d{2}\.\d+\.\d+\b/g)
    expect(named).toEqual([...NODE_VERSIONS])
  })

  it('in CI are the release lines of the matrix', () => {
    const lines = [...read('.ci/run').matchAll(/node-matrix -- (\d+)/g)].map(([, line]) => line)
    expect(lines.sort()).toEqual(NODE_VERSIONS.map((version) => version.split('.')[0]))
  })

  it('in the manifests are the same for each package, but wider for the client, which needs only fetch', () => {
    const packages = readdirSync(`${ROOT}/packages`).filter((name) => name !== 'client')
    const paths = ['package.json', ...packages.map((name) => `packages/${name}/package.json`)]
    const engines = paths.map(enginesOf)
    expect(engines).toEqual(engines.map(() => ({ node: '^20.19 || ^22.14 || >=24' })))
    expect(enginesOf('packages/client/package.json')).toEqual({ node: '>=20' })
  })
})
