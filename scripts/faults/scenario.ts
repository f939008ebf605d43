import type { Account } from '../crash/accounts.ts'
import type { Operations } from '../crash/operations.ts'
import type { Play } from '../crash/stage.ts'
import type { Service, ServiceOptions } from '../service/serve.ts'
import type { Injection } from './inject.ts'

/** One thing that goes wrong around a service that is under load. */
export interface Scenario {
  /** For `--only`. */
  name: string
  /** What happens, in words that follow "while". */
  title: string
  /** Why it cannot be played here, or null. */
  missing?: () => string | null
  /** How the service is started. */
  service?: Pick<ServiceOptions, 'env' | 'log_to'>
  /** Whether `injection` is needed. */
  injects?: boolean
  /** The data folder is a file system of so many MiB of its own, which only root can make. */
  disk_mib?: number
  /** Whether requests may be refused as too many, or fail with 500, and errors be logged, while it lasts. */
  fails?: boolean
  /** Whether the service may end by itself, and is then started again. */
  ends?: 'never' | 'may' | 'must'
  /** Lets it happen, looks at the service meanwhile, and undoes it. */
  play(scene: Scene): Promise<void>
}

export interface Scene extends Play {
  /** The one that runs now. */
  service(): Service
  /** Ends the one that runs now if it runs, starts the next, and sends traffic to it. */
  restart(): Promise<void>
  accounts: readonly Account[]
  operations: Operations
  /** The data folder. */
  data: string
  injection: Injection
  /** Whether it is played in a few seconds, for the tests: waits and numbers are smaller. */
  short: boolean
  /** What was seen, for the report. */
  note(text: string): void
}
