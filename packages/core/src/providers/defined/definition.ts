import type {
  CallbackReading,
  CallbackRequest,
  Listening,
  LookupJob,
  LookupResult,
  Outcome,
  Provider,
  ProviderContext,
  SendJob,
  Sink,
  Traits,
} from '../../contract/outside/provider.ts'
import type { Awaitable } from '../../runtime/awaitable.ts'

/**
 * The traits that an author states; only `channels` is required. Defaults: no `senders` (any sender is allowed), not
 * `idempotent` (a message with an unknown outcome is not sent again), `callback_bytes` 262,144 with `readCallback`, not
 * `connected`, no limit of `messages_per_second`, `handles_stop` false, and `several_recipients` false. `lookup` and `listens` follow from the functions.
 */
export type ProviderTraits = Pick<Traits, 'channels'> &
  Partial<
    Pick<
      Traits,
      | 'senders'
      | 'idempotent'
      | 'callback_bytes'
      | 'connected'
      | 'messages_per_second'
      | 'handles_stop'
      | 'several_recipients'
    >
  >

/**
 * One result for each job, in the order of the jobs. If each job has a promise of its own, the failure of one job does not
 * affect the others.
 */
export type JobResults<Result> = Awaitable<readonly Awaitable<Result>[]>

/** A provider as its author writes it. The functions are those of `Provider`, with the context as the last argument. */
export interface ProviderDefinition {
  /** 1 to 32 of `a-z`, `0-9`, `-` and `_`, a letter first: the name in routes, records and the URL of callbacks. */
  name: string
  traits: ProviderTraits
  /**
   * Sends the jobs within 20 s, without retries. An exception, an invalid outcome, or no outcome within 25 s counts as
   * `ambiguous`.
   */
  send(jobs: readonly SendJob[], context: ProviderContext): JobResults<Outcome>
  /**
   * Looks messages up within 20 s, also messages without the provider's id, whose outcome is unknown: return `not_found` only
   * if the provider certainly does not have the message. An exception, or no result within 25 s, counts as `unavailable`.
   */
  lookup?(jobs: readonly LookupJob[], context: ProviderContext): JobResults<LookupResult>
  /** Reads a callback, which any client can send. An exception counts as `unreadable`. Runs in the main thread. */
  readCallback?(request: CallbackRequest, context: ProviderContext): Awaitable<CallbackReading>
  /** Makes a harmless request with the credentials; returns the fault for the operator, or null. */
  check?(context: ProviderContext): Awaitable<string | null>
  /** Starts to accept reports that do not arrive over HTTP. Runs in the main thread. */
  listen?(sink: Sink, context: ProviderContext): Awaitable<Listening>
  /** Ends the connections of this thread within 5 s. Called once. */
  close?(): Awaitable<void>
}

/** A provider that `defineProvider` made, for the option `providers` of `createCore`. */
export interface DefinedProvider {
  readonly name: string
  /** All traits, with their defaults. */
  readonly traits: Traits
  /**
   * Opens the provider as the service does: no function of the result throws, and each result is valid. `onFault` receives
   * the faults of the definition; default: a warning of the process.
   */
  open(context: ProviderContext, onFault?: (fault: ProviderFault) => void): Provider
}

/** A broken promise of a definition. Without secrets and contents: texts of exceptions are left out. */
export interface ProviderFault {
  provider: string
  /** The function that failed. */
  call: string
  /** What is wrong, for example `TypeError` or `outcome 2: error_code: Invalid input`. */
  fault: string
  /** The number of jobs without a valid result. */
  jobs: number
  /** The places in the code, innermost first; empty if they are not known. */
  at: readonly string[]
}
