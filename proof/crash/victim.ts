import { type ChildProcess, fork } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { settingsOf } from '../stage/settings.ts'
import type { Death } from './kill-at-commit.ts'

/** A running service that will be killed. */
export interface Victim {
  url: string
  /** Its SMTP inlet, if it has one. */
  smtp_url: string | null
  /** Whether it can kill itself at a commit; a module in place of the service's own may not do it. */
  dies_at_commits: boolean
  /** Time from its start until it listened, in ms. */
  startup_ms: number
  /** Lets the process stand still, or go on. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  /** Sends SIGKILL, and resolves when the process is dead. */
  kill(): Promise<void>
  /**
   * Lets it kill itself at a commit, which `provoke` may cause. Resolves when the process is dead: with false if it made no
   * such commit within `within_ms` (default: 5 s) and was killed like the others.
   * @throws Error when it had ended before.
   */
  killAtCommit(
    death: Death,
    how?: { provoke?: () => Promise<unknown>; within_ms?: number },
  ): Promise<boolean>
  /** Resolves when its process has ended, for any reason. */
  ended: Promise<void>
}

/** Starts services, one after the other, on one data folder. */
export interface Victims {
  /** @throws Error when it ends before it listens. */
  start(): Promise<Victim>
  /** Kills a service `ms` after its process began: during its opening, its recovery, or later. */
  startAndKill(ms: number): Promise<void>
  /**
   * Starts a service that kills itself at the first such commit, also during its opening. Resolves when the process is dead: with
   * false if it made no such commit within `within_ms` and was killed.
   * @throws Error when it ended for another reason.
   */
  startUntilCommit(death: Death, within_ms: number): Promise<boolean>
  /** The output of all of them. */
  log(): string
}

export interface VictimOptions {
  folder: string
  /** A module that starts the service and sends its addresses. */
  entry?: string
  /** Arguments for node; `--import tsx` and the like. */
  node_args: readonly string[]
  /** Further environment variables. */
  env?: Record<string, string>
}

/** The first message of a service. */
interface Started {
  url: string
  smtp_url?: string | null
  dies_at_commits?: boolean
}

const START_MAX_MS = 240_000
const COMMIT_MAX_MS = 5_000

export function openVictims({ folder, entry, node_args, env: more }: VictimOptions): Victims {
  const file = entry ?? fileURLToPath(new URL('./server.ts', import.meta.url))
  const logFile = join(folder, 'server.log')
  const env = {
    ...process.env,
    ...settingsOf(folder),
    SVC_LOG_LEVEL: 'warn',
    SVC_SMTP_LISTEN: '127.0.0.1:0',
    ...more,
  }

  function begin(at?: Death): { child: ChildProcess; dead: Promise<void> } {
    const log = openSync(logFile, 'a')
    const child = fork(file, [], {
      env: { ...env, ...(at && { SVC_CRASH_AT: JSON.stringify(at) }) },
      execArgv: [...node_args],
      stdio: ['ignore', log, log, 'ipc'],
      // In another process group, so that Ctrl+C reaches only this process.
      detached: true,
    })
    closeSync(log)
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    const dead = new Promise<void>((resolve) => {
      child.once('exit', () => {
        process.off('exit', kill)
        resolve()
      })
    })
    return { child, dead }
  }

  return {
    async start() {
      const from = performance.now()
      const { child, dead } = begin()
      const started = await new Promise<Started>((resolve, reject) => {
        const limit = setTimeout(() => child.kill('SIGKILL'), START_MAX_MS)
        child.once('message', (message) => {
          clearTimeout(limit)
          resolve(message as Started)
        })
        child.once('exit', () => {
          clearTimeout(limit)
          reject(new Error(`the service did not start: ${readFileSync(logFile, 'utf8')}`))
        })
      })
      return {
        smtp_url: null,
        dies_at_commits: false,
        ...started,
        startup_ms: performance.now() - from,
        ended: dead,
        signal: (signal) => void child.kill(signal),
        kill() {
          child.kill('SIGKILL')
          return dead
        },
        async killAtCommit(death, { provoke = async () => {}, within_ms = COMMIT_MAX_MS } = {}) {
          if (!child.connected)
            throw new Error(`the service ended: ${readFileSync(logFile, 'utf8')}`)
          let isLate = false
          const limit = setTimeout(() => {
            isLate = true
            child.kill('SIGKILL')
          }, within_ms)
          const armed = new Promise((resolve) => child.once('message', resolve))
          try {
            child.send(death)
            await Promise.race([armed, dead])
            // Its connection may break at the kill.
            await provoke().catch(() => {})
            await dead
          } finally {
            clearTimeout(limit)
          }
          return !isLate
        },
      }
    },
    async startAndKill(ms) {
      const { child, dead } = begin()
      await pause(ms)
      child.kill('SIGKILL')
      await dead
    },
    async startUntilCommit(death, within_ms) {
      const { child, dead } = begin(death)
      let isLate = false
      const limit = setTimeout(() => {
        isLate = true
        child.kill('SIGKILL')
      }, within_ms)
      await dead
      clearTimeout(limit)
      if (child.signalCode !== 'SIGKILL')
        throw new Error(`the service ended: ${readFileSync(logFile, 'utf8')}`)
      return !isLate
    },
    log: () => readFileSync(logFile, 'utf8'),
  }
}
