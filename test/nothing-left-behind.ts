import { afterAll, beforeAll, vi } from 'vitest'

/** Global state of a process that its test files share. */
interface Held {
  env: NodeJS.ProcessEnv
  variables: Record<string, string | undefined>
  folder: string
  has_fake_timers: boolean
}

function held(): Held {
  const { env } = process
  return { env, variables: { ...env }, folder: process.cwd(), has_fake_timers: vi.isFakeTimers() }
}

let before: Held
beforeAll(() => {
  before = held()
})

// Test files share a process: a file that leaves a change behind must fail itself, not a later file.
afterAll(() => {
  const after = held()
  const changed = [...new Set([...Object.keys(before.variables), ...Object.keys(after.variables)])]
    .filter((name) => !name.startsWith('VITEST'))
    .filter((name) => before.variables[name] !== after.variables[name])
  const left = [
    ...changed.map((name) => `the variable ${name}`),
    ...(after.env !== before.env ? ['another process.env'] : []),
    ...(after.folder !== before.folder ? ['another working folder'] : []),
    ...(after.has_fake_timers ? ['fake timers'] : []),
  ]
  if (left.length > 0) throw new Error(`this file left behind: ${left.join(', ')}`)
})
