import type * as z from 'zod'
import { within } from '../../runtime/within.ts'
import { faultOf, ruleText } from '../parse.ts'
import type { ProviderFault } from './definition.ts'

/** A result of foreign code: a value, or why there is none. */
type Got<T> = { value: T } | Failed

export interface Failed {
  fault: string
  at: readonly string[]
  /** Present if the time was over. */
  is_late?: true
}

/** Calls code that may throw, never answer, or return anything. */
export interface Caller {
  /** The value in its shape, within `ms` (default: the caller's time). `what` names the value in faults. */
  get<T>(run: () => unknown, shape: z.ZodType<T>, what: string, ms?: number): Promise<Got<T>>
  /** One result for each job, in their order; `without` makes the result of a job that got none. */
  answers<Job, T>(
    name: string,
    jobs: readonly Job[],
    run: (jobs: Job[]) => unknown,
    options: { shape: z.ZodType<T>; without: (failed: Failed) => T },
  ): Promise<T[]>
  /** Reports a fault of the function `name`. Never throws. */
  report(name: string, failed: Failed, jobs?: number): void
}

export function createCaller({
  provider,
  onFault,
  call_ms,
}: {
  provider: string
  onFault: (fault: ProviderFault) => void
  call_ms: number
}): Caller {
  async function raw(run: () => unknown, ms: number): Promise<Got<unknown>> {
    const late = Symbol('late')
    try {
      const value = await within<unknown>(ms, called(run), () => late)
      const fault = `no result within ${Math.round(ms)} ms`
      return value === late ? { fault, at: [], is_late: true } : { value }
    } catch (error) {
      return failureOf(error)
    }
  }

  async function get<T>(
    run: () => unknown,
    shape: z.ZodType<T>,
    what: string,
    ms = call_ms,
  ): Promise<Got<T>> {
    const result = await raw(run, ms)
    return 'fault' in result ? result : shaped(result.value, shape, what)
  }

  async function list(run: () => unknown, length: number): Promise<Got<unknown[]>> {
    const result = await raw(run, call_ms)
    if ('fault' in result) return result
    const { value } = result
    if (!Array.isArray(value))
      return { fault: `no list, but a value of type ${typeof value}`, at: [] }
    if (value.length === length) return { value: Array.from(value) }
    // Without a handler, a rejection of a promise in the list would end the process.
    for (const one of value) Promise.resolve(one).catch(() => {})
    return { fault: `${value.length} results for ${length} jobs`, at: [] }
  }

  function report(call: string, { fault, at }: Failed, jobs = 0): void {
    try {
      onFault({ provider, call, fault, jobs, at })
    } catch {
      // A log that fails must not change the result of a message.
    }
  }

  return {
    get,
    report,
    async answers(name, jobs, run, { shape, without }) {
      if (jobs.length === 0) return []
      const began = performance.now()
      // A copy, because the code may change it.
      const listed = await list(() => run(structuredClone([...jobs])), jobs.length)
      if ('fault' in listed) {
        report(name, listed, jobs.length)
        return jobs.map(() => without(listed))
      }
      const left_ms = Math.max(0, began + call_ms - performance.now())
      const results = await Promise.all(
        listed.value.map((one, i) => get(() => one, shape, `result ${i}`, left_ms)),
      )
      const failed = results.filter((result) => 'fault' in result)
      if (failed[0]) report(name, failed[0], failed.length)
      return results.map((result) => ('value' in result ? result.value : without(result)))
    },
  }
}

/** The value in its shape. */
export function shaped<T>(value: unknown, shape: z.ZodType<T>, what: string): Got<T> {
  return callShaped(() => value, shape, what)
}

/** The returned value in its shape, for a function that returns no promise. */
export function callShaped<T>(run: () => unknown, shape: z.ZodType<T>, what: string): Got<T> {
  try {
    const parsed = shape.safeParse(run(), { error: ruleText })
    return parsed.success ? { value: parsed.data } : { fault: faultOf(parsed.error, what), at: [] }
  } catch (error) {
    // Besides the function, a getter of the value may throw.
    return failureOf(error)
  }
}

/** The promise of a call, also if the function throws or returns a value. */
async function called<T>(run: () => T | Promise<T>): Promise<T> {
  return run()
}

const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const FRAME_END = /:\d{1,9}:\d{1,9}\)?$/
/** More than the longest end of a frame. */
const FRAME_END_LENGTH = 24
const FRAMES_MAX = 3
const FRAME_LENGTH = 300
const STACK_LENGTH = 20_000

/** What was thrown, without its message, which may contain secrets and contents. */
function failureOf(thrown: unknown): { fault: string; at: string[] } {
  try {
    if (!(thrown instanceof Error))
      return { fault: `threw a value of type ${typeof thrown}`, at: [] }
    const codes = [codeOf(thrown), codeOf(thrown.cause)].filter((code) => code !== null)
    const name = NAME.test(thrown.name) ? thrown.name : 'Error'
    return { fault: [name, ...new Set(codes)].join(' '), at: framesOf(thrown) }
  } catch {
    // A getter of the value threw.
    return { fault: 'threw a value that cannot be read', at: [] }
  }
}

function codeOf(thrown: unknown): string | null {
  const { code } = (thrown ?? {}) as { code?: unknown }
  return typeof code === 'string' && NAME.test(code) ? code : null
}

/** The innermost places of a stack. The message before them is skipped, because it may have lines that look like places. */
function framesOf({ stack, message }: Error): string[] {
  if (typeof stack !== 'string' || stack.length > STACK_LENGTH) return []
  const start = stack.indexOf(message)
  const places = start === -1 ? '' : stack.slice(start + message.length)
  return places
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at ') && FRAME_END.test(line.slice(-FRAME_END_LENGTH)))
    .map((line) => line.slice('at '.length))
    .slice(0, FRAMES_MAX)
    .map((frame) => frame.slice(0, FRAME_LENGTH))
}
