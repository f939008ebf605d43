import type { Operations } from '../crash/operations.ts'
import type { Play } from '../crash/stage.ts'
import type { Account } from '../stage/accounts.ts'
import type { Service, ServiceOptions } from '../stage/serve.ts'
import type { Injection } from './inject.ts'

/** One fault around a service under load. */
export interface Scenario {
  /** For `--only`. */
  name: string
  /** The fault, in words that follow "while". */
  title: string
  /** The reason why it cannot run on this machine, or null. */
  missing?: () => string | null
  /** Options for the start of the service. */
  service?: Pick<ServiceOptions, 'env' | 'log_to'>
  /** Whether `injection` is needed. */
  injects?: boolean
  /** The data folder is a separate file system of this size in MiB, which only root can make. */
  disk_mib?: number
  /** Whether 429 and 500 answers, and logged errors, are allowed during the fault. */
  fails?: boolean
  /** Whether the service may exit on its own; it is then restarted. */
  ends?: 'never' | 'may' | 'must'
  /** Causes the fault, observes the service, and ends the fault. */
  play(scene: Scene): Promise<void>
}

export interface Scene extends Play {
  /** The running service. */
  service(): Service
  /** Ends the running service if there is one, starts the next, and sends traffic to it. */
  restart(): Promise<void>
  accounts: readonly Account[]
  operations: Operations
  /** The data folder. */
  data: string
  injection: Injection
  /** Whether it must take only seconds, for the tests: waits and numbers are smaller. */
  short: boolean
  /** Observations for the report. */
  note(text: string): void
}
