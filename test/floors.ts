import { posix } from 'node:path'
import { cyclesOf } from './cycles.ts'
import { importsOf } from './imports.ts'

/**
 * One file's use of another, or of a package. Files are named `core/rules/accept.ts`: package, then path in `src`. The pages of
 * the console are named `console/`, as a package.
 */
interface Edge {
  readonly from: string
  readonly specifier: string
  /** The file of ours it leads to, or the name of a package of others. */
  readonly target: string
  readonly is_type_only: boolean
}

interface Rule {
  readonly says: string
  readonly breaks: (edge: Edge) => boolean
}

/** Modules that cost time or need a compiler, and the one place each is loaded from. */
const HEAVY: Record<string, RegExp> = {
  '@opentelemetry/api': /^core\/runtime\/tracing\.ts$/,
  '@simplewebauthn/server': /^core\/second-factor\/passkeys\.ts$/,
  argon2: /^core\/workspaces\/password\.ts$/,
  'better-sqlite3': /^core\/storage\/sqlite/,
  ink: /^cli\/views\//,
  juice: /^core\/templates\/inline-css-thread\.ts$/,
  nodemailer: /^core\/providers\//,
  pg: /^core\/storage\/postgres/,
  piscina: /^core\/dispatch\/pool\.ts$/,
  react: /^cli\/views\//,
  'prom-client': /^server\/metrics\//,
  stripe: /^core\/billing\//,
  twilio: /^core\/providers\//,
}

/** The folders of the command, the lowest first; folders of one floor do not use each other. */
const COMMAND_FLOORS: readonly RegExp[] = [
  /^cli\/process\//,
  /^cli\/(input|show)\//,
  /^cli\/context\.ts$/,
  /^cli\/settings\//,
  /^cli\/connect\//,
  /^cli\/(dev|messages|top|webhooks)\//,
  /^cli\/bulk\//,
  /^cli\/views\//,
  /^cli\/commands\//,
]

/** Stands for every folder that `FLOORS` does not name. */
export const FEATURES = 'features'

/**
 * The floors of core, from the ground up. A file imports from its own folder and from lower floors; folders that share a
 * floor do not know each other. Only features use other features, without a cycle of folders.
 */
export const FLOORS: readonly (readonly string[])[] = [
  ['contract', 'sms', 'http'],
  ['runtime'],
  ['rows'],
  ['rules'],
  ['storage', 'providers'],
  [FEATURES, 'maintenance'],
  ['dispatch'],
  ['provider.ts'],
  ['core-options.ts'],
  ['read-options.ts'],
  ['core.ts'],
  ['index.ts', 'operate.ts'],
]

const FLOOR_OF = new Map(
  FLOORS.flatMap((folders, floor) => folders.map((folder): [string, number] => [folder, floor])),
)

const OURS = /^(client|core|server|cli|testkit|console)\//
const SQL = /^(drizzle-orm|drizzle-kit|better-sqlite3|pg)$/
const OUTSIDE_OF_CORE = /^(fastify|@fastify\/.*|commander|ink|react|process|node:process)$/

const RULES: Rule[] = [
  {
    says: 'a package reaches another by its name alone',
    breaks: (edge) =>
      edge.specifier.startsWith('.') &&
      packageOf(edge.from) !== packageOf(edge.target) &&
      !(edge.from.startsWith('console/') && edge.target.startsWith('server/')),
  },
  {
    says: 'the pages of the console know the server by its types alone',
    breaks: ({ from, target, is_type_only }) =>
      from.startsWith('console/') && target.startsWith('server/') && !is_type_only,
  },
  uses('console', /^@svc\/client$/, 'the pages of the console know the client alone'),
  uses('core', /^$/, 'core knows no other package of ours'),
  uses('server', /^@svc\/core(\/|$)/, 'server knows core alone'),
  uses('client', /^$/, 'client knows no other package of ours'),
  uses(
    'cli',
    /^@svc\/(client|core|server|testkit)(\/|$)/,
    'cli knows server, client, core and testkit',
  ),
  uses(
    'testkit',
    /^@svc\/(client|core\/(contract|webhooks))$/,
    'testkit knows the contract and the client alone',
  ),
  {
    says: 'the file has no place in FLOORS',
    breaks: ({ from }) => /^core\/[^/]+$/.test(from) && !FLOOR_OF.has(folderOf(from)),
  },
  {
    says: 'an import goes down, never up',
    breaks: ({ from, target }) => {
      if (!from.startsWith('core/') || !target.startsWith('core/')) return false
      const [own, other] = [folderOf(from), folderOf(target)]
      return (
        own !== other && floorOf(own) <= floorOf(other) && !(isFeature(own) && isFeature(other))
      )
    },
  },
  {
    says: 'a rule knows contract, rows, rules and the backoff alone: no I/O, no clock',
    breaks: ({ from, target }) =>
      from.startsWith('core/rules/') &&
      !/^core\/(contract\/|rows\/|rules\/|runtime\/backoff\.ts$)/.test(target),
  },
  {
    says: 'a provider knows the contract, sms, the runtime and the HTTP client alone',
    breaks: ({ from, target }) =>
      from.startsWith('core/providers/') &&
      OURS.test(target) &&
      !/^core\/(providers|contract|sms|runtime|http)\//.test(target),
  },
  {
    says: 'core knows no web framework and no command line',
    breaks: ({ from, target }) => from.startsWith('core/') && OUTSIDE_OF_CORE.test(target),
  },
  {
    says: 'core gets its settings as arguments, never from the environment',
    breaks: ({ from, target }) => from.startsWith('core/') && target === 'process.env',
  },
  {
    says: 'the contract needs zod alone, and of Node what knows addresses and digests',
    breaks: ({ from, target }) =>
      from.startsWith('core/contract/') &&
      !/^(core\/contract\/|zod$|node:(crypto|net|url)$)/.test(target),
  },
  {
    says: 'http needs undici and Node alone',
    breaks: ({ from, target }) =>
      from.startsWith('core/http/') && !/^(core\/http\/|undici$|node:)/.test(target),
  },
  {
    says: 'sms needs nothing',
    breaks: ({ from, target }) => from.startsWith('core/sms/') && !target.startsWith('core/sms/'),
  },
  {
    says: 'only rows, storage and maintenance speak SQL',
    breaks: ({ from, target }) =>
      SQL.test(target) && !/^core\/(rows|storage|maintenance)\//.test(from),
  },
  {
    says: 'features and dispatch know the rows by their types, and storage by its ports',
    breaks: ({ from, target }) =>
      from.startsWith('core/') &&
      (isFeature(folderOf(from)) || folderOf(from) === 'dispatch') &&
      ((target.startsWith('core/storage/') && !target.startsWith('core/storage/ports/')) ||
        /^core\/rows\/(tables|dialect)\.ts$/.test(target)),
  },
  {
    says: 'a port knows the layers below storage alone, except the types of the stores',
    breaks: ({ from, target }) =>
      from.startsWith('core/storage/ports/') &&
      target.startsWith('core/storage/') &&
      !target.startsWith('core/storage/ports/') &&
      !(from === 'core/storage/ports/stores.ts' && target.startsWith('core/storage/stores/')),
  },
  {
    says: 'a port declares types alone',
    breaks: ({ from, is_type_only }) => from.startsWith('core/storage/ports/') && !is_type_only,
  },
  {
    says: 'only core.ts opens the storage',
    breaks: ({ from, target }) =>
      target === 'core/storage/open.ts' && !/^core\/(core|index|operate)\.ts$/.test(from),
  },
  {
    says: 'a folder of the command uses only the folders below it',
    breaks: ({ from, target }) => {
      const [user, used] = [commandFloorOf(from), commandFloorOf(target)]
      const isSameFolder = posix.dirname(from) === posix.dirname(target)
      return user !== null && used !== null && (used > user || (used === user && !isSameFolder))
    },
  },
  {
    says: 'a heavy module is loaded in its one place alone',
    breaks: ({ from, target, is_type_only }) =>
      !is_type_only && HEAVY[target] !== undefined && !HEAVY[target].test(from),
  },
]

/**
 * What is wrong with the imports of these files, a line each: `file → target: rule`.
 *
 * @param files their texts by path, such as `packages/core/src/index.ts`
 * @param entries the file behind each name that a package of ours exports, such as `@svc/core/sms`
 */
export function violationsOf(
  files: ReadonlyMap<string, string>,
  entries: ReadonlyMap<string, string>,
): string[] {
  const edges = [...files].flatMap(([path, source]) => edgesOf(path, source, entries))
  const broken = edges.flatMap((edge) =>
    RULES.filter((rule) => rule.breaks(edge)).map(
      (rule) => `${pathOf(edge.from)} → ${pathOf(edge.target)}: ${rule.says}`,
    ),
  )
  return [
    ...broken,
    ...strangersOfSignature(edges),
    ...importCycles(edges),
    ...featureCycles(edges),
  ]
}

/** The import cycles of these files, a line each, for files that have no floors. */
export function cyclesAmong(files: ReadonlyMap<string, string>): string[] {
  return importCycles([...files].flatMap(([path, source]) => edgesOf(path, source, new Map())))
}

function edgesOf(path: string, source: string, entries: ReadonlyMap<string, string>): Edge[] {
  return importsOf(source).map(({ specifier, is_type_only }) => {
    const entry = entries.get(specifier)
    const file = specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : entry
    const target = file === undefined ? packageNameOf(specifier) : idOf(file)
    return { from: idOf(path), specifier, target, is_type_only }
  })
}

/** A receiver's project takes `contract/signing/signature.ts` in; so whatever it leads to must run on node:crypto alone. */
function strangersOfSignature(edges: readonly Edge[]): string[] {
  const reached = new Set(['core/contract/signing/signature.ts'])
  const strangers: string[] = []
  for (const file of reached) {
    for (const { from, target, is_type_only } of edges) {
      if (from !== file || is_type_only) continue
      if (target.startsWith('core/contract/')) reached.add(target)
      else if (target !== 'node:crypto')
        strangers.push(`${pathOf(from)} → ${pathOf(target)}: signatures need node:crypto alone`)
    }
  }
  return strangers
}

function importCycles(edges: readonly Edge[]): string[] {
  return cyclesOf(edges).map((cycle) => `${cycle.map(pathOf).join(' → ')}: an import cycle`)
}

function featureCycles(edges: readonly Edge[]): string[] {
  const uses = edges
    .filter(({ from, target }) => from.startsWith('core/') && target.startsWith('core/'))
    .map(({ from, target }) => ({ from: folderOf(from), target: folderOf(target) }))
    .filter(({ from, target }) => from !== target && isFeature(from) && isFeature(target))
  return cyclesOf(uses).map((cycle) => `${cycle.join(' → ')}: a cycle of features`)
}

/** Whether a folder of core is a feature. A file at the root is none. */
function isFeature(folder: string): boolean {
  return !FLOOR_OF.has(folder) && !folder.includes('.')
}

function floorOf(folder: string): number {
  return FLOOR_OF.get(isFeature(folder) ? FEATURES : folder) ?? Infinity
}

/** The floor of a file of the command; null for its entry points and for files of other packages. */
function commandFloorOf(id: string): number | null {
  const floor = COMMAND_FLOORS.findIndex((pattern) => pattern.test(id))
  return floor === -1 ? null : floor
}

function uses(name: string, allowed: RegExp, says: string): Rule {
  return {
    says,
    breaks: ({ from, specifier }) =>
      packageOf(from) === name && specifier.startsWith('@svc/') && !allowed.test(specifier),
  }
}

/** The folder of core that a file is in, or the file itself at the root. */
function folderOf(id: string): string {
  return id.split('/')[1] ?? id
}

function idOf(path: string): string {
  return path
    .replace(/^packages\/([^/]+)\/src\//, '$1/')
    .replace(/^packages\/server\/console\//, 'console/')
}

function pathOf(id: string): string {
  if (id.startsWith('console/')) return `packages/server/${id}`
  return OURS.test(id) ? id.replace('/', '/src/').replace(/^/, 'packages/') : id
}

function packageOf(id: string): string {
  return id.split('/')[0] ?? id
}

function packageNameOf(specifier: string): string {
  return specifier.startsWith('node:')
    ? specifier
    : specifier
        .split('/')
        .slice(0, specifier.startsWith('@') ? 2 : 1)
        .join('/')
}
