import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import timersPromises from 'node:timers/promises'
import FakeTimers from '@sinonjs/fake-timers'

// Import this module before the core: modules of Node keep the functions that they have when they are loaded.

/** The time at which the database was made, and at which a seed starts: some seeds see midnight, and an hour later the clocks of Europe are set back. */
export const START_MS = Date.parse('2026-10-24T09:00:00.000Z')
export const EVENING_MS = Date.parse('2026-10-24T23:59:50.000Z')
const UPTIME_S = 100_000

const RealDate = Date
const setRealImmediate = globalThis.setImmediate
const readRealTime = process.hrtime.bigint.bind(process.hrtime)

/** The time of this machine in milliseconds, for measurements. */
export const realMs = (): number => Number(readRealTime()) / 1e6

export const clock = FakeTimers.install({
  now: START_MS,
  toFake: [
    'setTimeout',
    'clearTimeout',
    'setInterval',
    'clearInterval',
    'setImmediate',
    'clearImmediate',
    'hrtime',
    'performance',
  ],
})

// The library's own Date gives each instance a property, and makes it through a proxy.
const FakeDate = function (this: unknown, ...values: number[]) {
  if (new.target === undefined) return new RealDate(clock.now).toString()
  return values.length === 0 ? new RealDate(clock.now) : new RealDate(...(values as [number]))
}
globalThis.Date = Object.assign(FakeDate, {
  now: () => clock.now,
  parse: RealDate.parse,
  UTC: RealDate.UTC,
  prototype: RealDate.prototype,
}) as unknown as DateConstructor

/**
 * The process whose code runs, how late its timers are, and how long a turn of its event loop takes. A process that was killed has another number: its timers do
 * nothing.
 */
export const running = { process: 0, late_ms: () => 0, turn_ms: () => 0 }

/** The time for which the timers of processes stood still, and whether the machine wakes up in this moment. */
const suspended = { total_ms: 0, isWaking: false }

/** Milliseconds since the start of the seed; it does not follow changes of the wall clock. */
export const elapsedMs = (): number => performance.now()

/** The intervals of the running process. */
const intervals = new Set<object>()

/** The process ends: its timers do nothing more, and its intervals cost nothing more. */
export function endProcess(): void {
  running.process += 1
  for (const timer of intervals) clearInterval(timer as NodeJS.Timeout)
  intervals.clear()
}

/** Starts the time of a new seed, and forgets all timers. */
export function restartClock(start_ms = START_MS): void {
  endProcess()
  clock.reset()
  clock.setSystemTime(START_MS)
  clock.reset()
  clock.setSystemTime(start_ms)
  running.late_ms = () => 0
  running.turn_ms = () => 0
  suspended.total_ms = 0
}

/** Work of the machine that no timer of the seed orders: Node asks a thread for a module that is imported late, or reads a file and closes it. */
const MACHINE_WORK: ReadonlySet<string> = new Set([
  'MessagePort',
  'FSReqCallback',
  'FSReqPromise',
  'CloseReq',
])

const machineWorks = (): boolean =>
  process.getActiveResourcesInfo().some((one) => MACHINE_WORK.has(one))

/** Runs what is ready: microtasks, the ticks of Node, and what waits for the machine. The time of the seed stands still meanwhile. */
export async function settleTasks(): Promise<void> {
  do await new Promise<void>((resolve) => void setRealImmediate(resolve))
  while (machineWorks())
}

/** Runs what is due now until the promise has an end; no time passes. */
export async function settled<T>(promise: Promise<T>): Promise<T> {
  let hasEnded = false
  const end = () => {
    hasEnded = true
  }
  promise.then(end, end)
  while (!hasEnded) {
    clock.tick(0)
    await settleTasks()
  }
  return promise
}

type Callback = (...values: unknown[]) => void

/** A callback that runs only while the process that made the timer lives. */
function ofProcess(callback: Callback): Callback {
  const owner = running.process
  return (...values) => {
    if (owner === running.process) callback(...values)
  }
}

const { setTimeout, setInterval, setImmediate } = globalThis as unknown as Record<
  'setTimeout' | 'setInterval' | 'setImmediate',
  (callback: Callback, ...values: unknown[]) => object
>
const { clearTimeout, clearInterval } = globalThis
/** A timer of the world outside of the service, which outlives its processes. */
export const later = (callback: () => void, ms: number): void => void setTimeout(callback, ms)

/**
 * The machine is suspended for `ms`: clocks and leases go on, but the timers of processes do not, as on Linux. So work that was
 * in progress goes on after its lease.
 */
export function suspend(ms: number): void {
  suspended.total_ms += ms
  suspended.isWaking = true
  clock.jump(ms)
  suspended.isWaking = false
}

export const isWaking = (): boolean => suspended.isWaking

/** The timers that took the places of those that stood still. */
const moved = new WeakMap<object, object>()

/** A timer of a process. */
function startTimer(run: () => void, ms: number): object {
  let { total_ms } = suspended
  let due_ms = elapsedMs() + ms
  const timer = setTimeout(function end() {
    due_ms += suspended.total_ms - total_ms
    total_ms = suspended.total_ms
    const left_ms = due_ms - elapsedMs()
    if (left_ms > 0) moved.set(timer, setTimeout(end, left_ms))
    else run()
  }, ms)
  return timer
}

Object.assign(globalThis, {
  setTimeout(callback: Callback, ms = 0, ...values: unknown[]) {
    const own = ofProcess(callback)
    return startTimer(() => own(...values), ms + running.late_ms())
  },
  clearTimeout: (timer: object | undefined) =>
    clearTimeout(((timer && moved.get(timer)) ?? timer) as NodeJS.Timeout),
  setInterval(callback: Callback, ms = 0, ...values: unknown[]) {
    const timer = setInterval(ofProcess(callback), ms, ...values)
    intervals.add(timer)
    return timer
  },
  clearInterval(timer: object | undefined) {
    if (timer) intervals.delete(timer)
    clearInterval(timer as NodeJS.Timeout)
  },
  setImmediate: (callback: Callback, ...values: unknown[]) => {
    const ms = running.turn_ms()
    const own = ofProcess(callback)
    return ms > 0 ? startTimer(() => own(...values), ms) : setImmediate(own, ...values)
  },
})

AbortSignal.timeout = (ms) => {
  const controller = new AbortController()
  const abort = () => controller.abort(new DOMException('The operation timed out', 'TimeoutError'))
  globalThis.setTimeout(abort, ms)
  return controller.signal
}

os.uptime = () => UPTIME_S + Math.floor(performance.now() / 10) / 100

Object.assign(timersPromises, {
  setImmediate: <T>(value?: T) =>
    new Promise((resolve) => void globalThis.setImmediate(resolve, value)),
  setTimeout: <T>(ms?: number, value?: T, { signal }: { signal?: AbortSignal } = {}) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const timer = globalThis.setTimeout(resolve, ms, value)
      const abort = () => {
        clearTimeout(timer)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', abort, { once: true })
    }),
})
syncBuiltinESMExports()
