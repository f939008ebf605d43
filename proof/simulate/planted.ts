import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { bundleSimulation } from './bundle.ts'
import { PLANTED_BUGS, type PlantedBug } from './planted-bugs.ts'

const SOURCES = 'packages/core/src/'
const ROOT = new URL('../../', import.meta.url)

/** How the run of a planted bug ended. */
type Result =
  | { type: 'found'; seed: number; invariant: string }
  | { type: 'not found' }
  /** The bug ended the process. */
  | { type: 'invalid'; reason: string }

/** The changes whose text is not in its file exactly once. */
export function unmatchedChanges(): string[] {
  return PLANTED_BUGS.flatMap(({ name, changes }) =>
    changes.flatMap(({ file, find }) => {
      const count = readFileSync(new URL(SOURCES + file, ROOT), 'utf8').split(find).length - 1
      return count === 1 ? [] : [`${name}: a text is ${count} times in ${file}`]
    }),
  )
}

/** Runs seeds with each planted bug in a process of its own, one on each core, up to the first broken promise. Returns whether all were found. */
export async function runPlanted({
  seeds,
  first,
  only,
}: {
  seeds: number
  first: number
  only: string | undefined
}): Promise<boolean> {
  const unmatched = unmatchedChanges()
  if (unmatched.length > 0) throw new Error(unmatched.join('\n'))
  const names = only?.split(',')
  const chosen = PLANTED_BUGS.filter(({ name }) => names?.includes(name) ?? true)
  if (chosen.length === 0) throw new Error(`there is no planted bug named ${only}`)
  const waiting = chosen.values()
  let found = 0
  const runWaiting = async () => {
    for (const bug of waiting) {
      const result = await runOne(bug, ['--seeds', `${seeds}`, '--seed', `${first}`])
      if (result.type === 'found') found += 1
      console.log(`${bug.name}: ${textOf(result)}`)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, runWaiting))
  console.log(`${found} of ${chosen.length} planted bugs found within ${seeds} seeds`)
  return found === chosen.length
}

function textOf(result: Result): string {
  if (result.type === 'found') return `seed ${result.seed} broke "${result.invariant}"`
  return result.type === 'invalid' ? `invalid, ${result.reason}` : 'not found'
}

async function runOne({ changes }: PlantedBug, seeds: readonly string[]): Promise<Result> {
  const planted = changes.map((one) => ({ ...one, file: SOURCES + one.file }))
  const child = spawn(process.execPath, [await bundleSimulation(planted), ...seeds], {
    cwd: fileURLToPath(ROOT),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let result: Result | null = null
  let errors = ''
  child.stderr.on('data', (data) => {
    errors += data
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  for await (const line of createInterface({ input: child.stdout })) {
    const [, seed, invariant] = /^seed (\d+) broke "(.*?)":/.exec(line) ?? []
    if (!seed || !invariant) continue
    result = { type: 'found', seed: Number(seed), invariant }
    child.kill('SIGKILL')
    break
  }
  const code = await ended
  if (result) return result
  return code === 0 ? { type: 'not found' } : { type: 'invalid', reason: errors.slice(-500) }
}
