import { finish, start, type Where } from '../stage/command.ts'

const STARTS = 6
/** Long enough for a busy machine; a defective version fails by its output, not by time. */
const START_LIMIT_MS = 120_000
const STOP_LIMIT_MS = 60_000
const INSTALL_LIMIT_MS = 20 * 60_000
const CURL_LIMIT_MS = 60_000
const SUITE_LIMIT_MS = 10 * 60_000

/**
 * Collects garbage after each allocated megabyte instead of after 16. With better-sqlite3 12 on Node 24, four of four
 * such starts abort, and about half of the plain ones.
 */
const SMALL_HEAP = ['--max-semi-space-size=1', '--min-semi-space-size=1']
const VITEST = 'node_modules/vitest/vitest.mjs'

/** A copy of the repository for a version of Node. */
interface Copy extends Where {
  readonly is_newest: boolean
}

/** One step of the matrix. `work` returns a remark for the line of the report. @throws Error with the output. */
export interface Step {
  readonly name: string
  /** Whether `npm test` runs the same code on the Node that runs the matrix. */
  readonly is_in_tests?: true
  work(copy: Copy): Promise<string>
}

export const STEPS: readonly Step[] = [
  { name: 'npm start in a fresh copy, the printed curl, stop', work: tryNpmStart },
  { name: `${STARTS} starts and stops of svc serve`, work: startAndStop },
  { name: 'storage suites', is_in_tests: true, work: runSuites },
  { name: 'crash round', is_in_tests: true, work: crashRound },
  { name: 'simulation', is_in_tests: true, work: simulate },
]

/** Installs, starts, sends the message of the printed curl, and stops. */
async function tryNpmStart({ cwd, env }: Where): Promise<string> {
  const service = start(['npm', 'start'], { cwd, env: { ...env, PORT: '0' } })
  const [printed] = await service.until(
    /^curl -s http:\/\/127\.0\.0\.1:\d+(?:.*\\\n)+.*[^\\\n]\n/m,
    INSTALL_LIMIT_MS,
  )
  const answer = await finish(['sh', '-c', printed], { cwd, env, limit_ms: CURL_LIMIT_MS })
  const { data } = JSON.parse(answer) as { data?: { status?: string } }
  if (data?.status !== 'queued') throw new Error(`the printed curl: ${answer}`)
  // npm itself dies of the signal; the output stays open until the service has ended too.
  await service.stop(STOP_LIMIT_MS)
  const output = service.output()
  if (!output.includes('Stopping…') || /Assertion|FATAL|Segmentation/.test(output)) {
    throw new Error(`npm start did not stop cleanly:\n${output}`)
  }
  return 'accepted'
}

/** Every second start has a small heap, so that defects of native code in garbage collections appear immediately. */
async function startAndStop({ cwd, env }: Where): Promise<string> {
  for (let i = 1; i <= STARTS; i++) {
    const flags = i % 2 === 0 ? SMALL_HEAP : []
    const service = start(['node', ...flags, 'packages/cli/bin/svc.js', 'serve'], {
      cwd,
      env: { ...env, PORT: '0', SVC_DATA_DIR: 'matrix-data' },
    })
    const [, url] = await service.until(/"url":"([^"]+)","msg":"listening"/, START_LIMIT_MS)
    const answer = await fetch(`${url}/health/ready`)
    if (!answer.ok) throw new Error(`start ${i}: ready answered ${answer.status}`)
    const end = await service.stop(STOP_LIMIT_MS)
    if (end !== 0) throw new Error(`start ${i} ended with ${end}:\n${service.output()}`)
  }
  return 'each ended with 0'
}

/** The driver of SQLite is native code; that of PostgreSQL is JavaScript, which `npm test` runs and the newest version. */
async function runSuites({ cwd, env, is_newest }: Copy): Promise<string> {
  const files = [
    `packages/core/test/storage.${is_newest ? '' : 'sqlite'}`,
    'packages/core/src/storage/sqlite/engine/driver.test.ts',
  ]
  const output = await finish(['node', VITEST, 'run', ...files], {
    cwd,
    env,
    limit_ms: SUITE_LIMIT_MS,
  })
  return /Tests +(.*)/.exec(output)?.[1]?.trim() ?? ''
}

async function crashRound({ cwd, env }: Where): Promise<string> {
  const crash = ['--conditions=source', '--import', 'tsx', 'proof/crash/main.ts']
  await finish(['node', ...crash, '--cycles', '2', '--seed', '7'], {
    cwd,
    env,
    limit_ms: SUITE_LIMIT_MS,
  })
  return 'nothing lost'
}

const TRACES = [
  '--conditions=source',
  '--import',
  'tsx',
  'proof/simulate/run.ts',
  '--seeds',
  '1',
  '--twice',
]

async function tracesOf(node: string, where: Where): Promise<string | undefined> {
  const output = await finish([node, ...TRACES], { ...where, limit_ms: SUITE_LIMIT_MS })
  return output.match(/^seed \d+: [0-9a-f]+$/gm)?.join(', ')
}

/** The traces on the Node that runs the matrix, which each version is compared with. */
let ownTraces: Promise<string | undefined> | null = null

/** The same seed has the same trace as on the Node that runs the matrix. */
async function simulate({ cwd, env }: Where): Promise<string> {
  ownTraces ??= tracesOf(process.execPath, { cwd: process.cwd(), env: process.env })
  const traces = await tracesOf('node', { cwd, env })
  const own = await ownTraces
  if (traces === undefined || traces !== own) throw new Error(`${traces}, here ${own}`)
  return traces
}
