import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { cyclesAmong, FEATURES, FLOORS, violationsOf } from './floors.ts'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const PACKAGES = readdirSync(join(ROOT, 'packages'))

interface Manifest {
  readonly name: string
  readonly exports?: Record<string, string | { readonly source: string }>
}

/** Every source file that is shipped, by its path from the root: tests and the suites they share may import anything. */
function sources(): Map<string, string> {
  return textsBelow(...PACKAGES.map((name) => `packages/${name}/src`), 'packages/server/console')
}

/** The modules below these folders that are no tests. */
function textsBelow(...folders: string[]): Map<string, string> {
  const paths = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
      .filter((path) => /\.(tsx?|mjs)$/.test(path) && !/\.(test|contract|test-d)\.ts$/.test(path)),
  )
  return new Map(paths.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]))
}

/** The source file behind each name that the packages export. */
function entries(): Map<string, string> {
  return new Map(
    PACKAGES.flatMap((folder) => {
      const path = join(ROOT, 'packages', folder, 'package.json')
      const { name, exports = {} } = JSON.parse(readFileSync(path, 'utf8')) as Manifest
      return Object.entries(exports).flatMap(([subpath, target]): [string, string][] =>
        typeof target === 'string'
          ? []
          : [[join(name, subpath).replaceAll('\\', '/'), join('packages', folder, target.source)]],
      )
    }),
  )
}

/** What the checker says to a tree with this one file more. */
function check(path: string, source: string): string[] {
  return violationsOf(new Map([...SOUND, [path, source]]), new Map([['@svc/core', CORE_ENTRY]]))
}

const CORE_ENTRY = 'packages/core/src/index.ts'
const SOUND = new Map([
  [CORE_ENTRY, "export { createCore } from './core.ts'"],
  ['packages/core/src/core.ts', "import { openStorage } from './storage/open.ts'"],
  ['packages/core/src/storage/open.ts', "const sqlite = () => import('./sqlite/sqlite.ts')"],
  [
    'packages/core/src/storage/sqlite/sqlite.ts',
    `import Database from 'better-sqlite3'
     import { decide } from '../../rules/decide.ts'
     import type { WebhookRow } from '../../rows/rows.ts'`,
  ],
  [
    'packages/core/src/messages/messages.ts',
    "import type { Storage } from '../storage/ports/storage.ts'",
  ],
  [
    'packages/core/src/contract/signing/signature.ts',
    "import { createHmac } from 'node:crypto'\nexport * from './sign.ts'",
  ],
  ['packages/core/src/contract/errors.ts', "import { z } from 'zod'"],
  [
    'packages/server/src/app.ts',
    "import Fastify from 'fastify'\nimport * as core from '@svc/core'",
  ],
  ['packages/testkit/src/index.ts', "export * from '@svc/core/contract'"],
])

describe('the floors', () => {
  it('hold', () => {
    expect(violationsOf(sources(), entries())).toEqual([])
  })

  it('leave no import cycle in scripts and benchmarks', () => {
    expect(cyclesAmong(textsBelow('scripts', 'proof'))).toEqual([])
  })

  it('name only folders and files that exist', () => {
    const folders = new Set([...sources().keys()].map((path) => path.split('/')[3]))
    expect(FLOORS.flat().filter((folder) => !folders.has(folder))).toEqual([FEATURES])
  })
})

describe('violationsOf', () => {
  it('finds nothing in a sound tree', () => {
    expect(
      check('packages/core/src/runtime/runtime.ts', "import { randomBytes } from 'node:crypto'"),
    ).toEqual([])
  })

  it.each([
    ['core/src/core.ts', '../../server/src/app.ts', 'a package reaches another by its name alone'],
    ['core/src/core.ts', '@svc/server', 'core knows no other package of ours'],
    ['server/src/app.ts', '@svc/testkit', 'server knows core alone'],
    ['testkit/src/index.ts', '@svc/core/sms', 'testkit knows the contract and the client alone'],
    ['client/src/svc.ts', '@svc/core/contract', 'client knows no other package of ours'],
    ['core/src/core.ts', '@fastify/jwt', 'core knows no web framework and no command line'],
    ['core/src/contract/limits.ts', '../runtime/runtime.ts', 'an import goes down, never up'],
    ['core/src/contract/limits.ts', 'undici', 'the contract needs zod alone'],
    ['core/src/http/client.ts', '../contract/limits.ts', 'http needs undici and Node alone'],
    ['core/src/sms/segments.ts', '../contract/limits.ts', 'sms needs nothing'],
    ['core/src/rules/claim.ts', '../runtime/runtime.ts', 'a rule knows contract, rows'],
    ['core/src/rules/claim.ts', 'node:fs', 'a rule knows contract, rows'],
    ['core/src/rules/claim.ts', '../dispatch/routing.ts', 'an import goes down, never up'],
    ['core/src/providers/smtp.ts', '../storage/open.ts', 'a provider knows the contract,'],
    ['core/src/providers/smtp.ts', '../messages/status.ts', 'a provider knows the contract,'],
    [
      'core/src/credits/credits.ts',
      'drizzle-orm/sqlite-core',
      'only rows, storage and maintenance speak',
    ],
    ['core/src/messages/send.ts', '../storage/gather.ts', 'features and dispatch know'],
    ['core/src/messages/send.ts', '../dispatch/lane.ts', 'an import goes down, never up'],
    ['core/src/storage/ports/hot.ts', '../gather.ts', 'a port declares types alone'],
    ['core/src/storage/ports/hot.ts', '../stores/stores.ts', 'a port knows the layers below'],
    ['core/src/storage/ports/stores.ts', '../gather.ts', 'a port knows the layers below'],
    ['core/src/storage/ports/stores.ts', '../stores/stores.ts', 'a port declares types alone'],
    ['core/src/storage/gather.ts', '../messages/messages.ts', 'an import goes down, never up'],
    ['core/src/dispatch/lane.ts', '../storage/sqlite/sqlite.ts', 'features and dispatch know'],
    ['core/src/dispatch/lane.ts', '../storage/open.ts', 'only core.ts opens the storage'],
    ['core/src/texts.ts', 'node:fs', 'the file has no place in FLOORS'],
    ['core/src/drawer/texts.ts', '../storage/gather.ts', 'features and dispatch know'],
    ['core/src/workspaces/hash.ts', 'argon2', 'a heavy module is loaded in its one place alone'],
    ['cli/src/top/screen.ts', '../views/top.tsx', 'a folder of the command uses only the folders'],
    ['cli/src/show/output.ts', '../input/time.ts', 'a folder of the command uses only the folders'],
    ['core/src/contract/signing/sign.ts', 'zod', 'signatures need node:crypto alone'],
    [
      'console/pages.ts',
      '../src/console-api/console-answers.ts',
      'the pages of the console know the server by its',
    ],
    ['console/pages.ts', '@svc/core/contract', 'the pages of the console know the client alone'],
    ['console/pages.ts', '../../core/src/core.ts', 'a package reaches another by its name alone'],
  ])('finds that %s imports %s', (path, specifier, rule) => {
    const file = path.startsWith('console/') ? `packages/server/${path}` : `packages/${path}`
    const found = check(file, `export * from '${specifier}'`)
    expect(found).toContainEqual(expect.stringMatching(`^${file} → .*: ${rule}`))
  })

  it('finds the type of a table in a feature', () => {
    const source = "import type { Tables } from '../rows/tables.ts'"
    expect(check('packages/core/src/contacts/contacts.ts', source)).toEqual([
      'packages/core/src/contacts/contacts.ts → packages/core/src/rows/tables.ts: features and dispatch know the rows by their types, and storage by its ports',
    ])
  })

  it('finds the import of a type that goes up', () => {
    const source = "import type { Messages } from '../messages/messages.ts'"
    expect(check('packages/core/src/rules/claim.ts', source)).toContain(
      'packages/core/src/rules/claim.ts → packages/core/src/messages/messages.ts: an import goes down, never up',
    )
  })

  it('finds a use of the environment in core', () => {
    expect(check('packages/core/src/core.ts', 'const port = process.env.PORT')).toEqual([
      'packages/core/src/core.ts → process.env: core gets its settings as arguments, never from the environment',
    ])
  })

  it('finds a cycle, through the name of a package too', () => {
    const source = "export * from './storage/open.ts'\nexport * from './index.ts'"
    expect(check('packages/core/src/core.ts', source)).toContain(
      'packages/core/src/index.ts → packages/core/src/core.ts → packages/core/src/index.ts: an import cycle',
    )
    expect(check('packages/core/src/index.ts', "export * from '@svc/core'")).toContain(
      'packages/core/src/index.ts → packages/core/src/index.ts: an import cycle',
    )
  })

  it('lets the pages of the console know types of the server, and finds their cycles', () => {
    const path = 'packages/server/console/pages.ts'
    expect(
      check(path, "import type { Need } from '../src/console-api/console-answers.ts'"),
    ).toEqual([])
    const pages = new Map([
      [path, "import { Home } from './pages/home.tsx'"],
      ['packages/server/console/pages/home.tsx', "import { PAGES } from '../pages.ts'"],
    ])
    expect(violationsOf(pages, new Map())).toEqual([
      'packages/server/console/pages.ts → packages/server/console/pages/home.tsx → packages/server/console/pages.ts: an import cycle',
    ])
    expect(cyclesAmong(pages)).toHaveLength(1)
  })

  it('lets a feature use another, and finds a cycle of features', () => {
    const feature = (name: string, used: string) =>
      [`packages/core/src/${name}/${name}.ts`, `import type { X } from '../${used}/x.ts'`] as const
    const chain = [feature('a', 'b'), feature('b', 'c')]
    expect(violationsOf(new Map(chain), new Map())).toEqual([])
    expect(violationsOf(new Map([...chain, feature('c', 'a')]), new Map())).toEqual([
      'a → b → c → a: a cycle of features',
    ])
  })

  it('finds a cycle of types', () => {
    const source = "import type { tool } from './tool.ts'"
    const found = violationsOf(
      new Map([
        ['packages/cli/src/tool.ts', "import type { program } from './program.ts'"],
        ['packages/cli/src/program.ts', source],
      ]),
      new Map(),
    )
    expect(found).toEqual([
      'packages/cli/src/tool.ts → packages/cli/src/program.ts → packages/cli/src/tool.ts: an import cycle',
    ])
  })
})
