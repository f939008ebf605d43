import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { assertInstalled, OPTIONAL_PACKAGES, type OptionalPackage } from './optional-packages.ts'

const root = new URL('../../../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const { catalog } = parse(read('pnpm-workspace.yaml')) as { catalog: Record<string, string> }
const names = Object.keys(OPTIONAL_PACKAGES) as OptionalPackage[]

describe('the optional packages', () => {
  it('have the major versions of the tests', () => {
    for (const name of names) expect(catalog[name]).toMatch(`${OPTIONAL_PACKAGES[name]}.`)
  })

  it('are optional peers of the core. The service and the command install all except those of vendors', () => {
    const vendors = ['stripe', 'twilio']
    const core = JSON.parse(read('packages/core/package.json'))
    const optional = Object.fromEntries(names.map((name) => [name, { optional: true }]))
    expect(core.peerDependenciesMeta).toEqual(optional)
    for (const user of ['server', 'cli']) {
      const { dependencies, peerDependenciesMeta } = JSON.parse(
        read(`packages/${user}/package.json`),
      )
      const installed = names.filter((name) => name in dependencies)
      expect(installed).toEqual(names.filter((name) => !vendors.includes(name)))
      expect(peerDependenciesMeta).toEqual({
        stripe: { optional: true },
        twilio: { optional: true },
      })
    }
  })
})

describe('assertInstalled', () => {
  it('accepts installed packages, of any module format', () => {
    assertInstalled('an option', names)
  })

  it('names the option, the missing package and the command that installs it', () => {
    const missing = 'svc-missing' as OptionalPackage
    expect(() => assertInstalled('providers: mail', ['pg', missing])).toThrow(
      expect.objectContaining({
        code: 'package_missing',
        message: expect.stringMatching(
          /^providers: mail needs the package svc-missing, which is not installed: npm install svc-missing/,
        ),
      }),
    )
  })

  it('names the installed version if another version is needed', () => {
    const other = 'yaml' as OptionalPackage
    expect(() => assertInstalled('x', [other])).toThrow(`not ${catalog.yaml}: npm install yaml@`)
  })
})
