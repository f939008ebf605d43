import * as z from 'zod'
import type {
  LookupResult,
  Outcome,
  Provider,
  ProviderContext,
} from '../../contract/outside/provider.ts'
import { createCaller, type Failed } from './caller.ts'
import type { ProviderDefinition, ProviderFault } from './definition.ts'
import { guardedListening } from './guarded-listening.ts'
import { checkShape, lookupShape, outcomeShape, readingShape } from './shapes.ts'

/**
 * The time for a call. It is above the 20 s of the port, and below the 30 s after which the dispatcher gives up the whole
 * batch: one job without an answer must not make the others unknown.
 */
const CALL_MS = 25_000
const CLOSE_MS = 5_000

const NO_ANSWER: Outcome = {
  type: 'ambiguous',
  error_code: 'no_answer',
  error_message: 'The provider did not answer',
}
const FAILED: Outcome = {
  type: 'ambiguous',
  error_code: 'provider_fault',
  error_message: 'The provider failed without a valid outcome',
}
const UNAVAILABLE: LookupResult = { type: 'unavailable' }

/** Makes the functions of a definition keep the promises of `Provider`: they return valid results in time and never throw. */
export function guardProvider(
  definition: ProviderDefinition,
  {
    name,
    context,
    onFault,
    call_ms = CALL_MS,
  }: {
    name: string
    context: ProviderContext
    onFault: (fault: ProviderFault) => void
    /** The time for one call; default 25 s. */
    call_ms?: number
  },
): Provider {
  const caller = createCaller({ provider: name, onFault, call_ms })
  const sending = { shape: outcomeShape, without: outcomeWithout }
  const lookingUp = { shape: lookupShape, without: () => UNAVAILABLE }
  let closing: Promise<void> | null = null
  async function close(): Promise<void> {
    const closed = await caller.get(() => definition.close?.(), z.unknown(), 'result', CLOSE_MS)
    if ('fault' in closed) caller.report('close', closed)
  }
  const provider: Provider = {
    name,
    send: (jobs) => caller.answers('send', jobs, (copy) => definition.send(copy, context), sending),
    close() {
      closing ??= close()
      return closing
    },
  }
  if (definition.lookup) {
    provider.lookup = (jobs) =>
      caller.answers('lookup', jobs, (copy) => definition.lookup?.(copy, context), lookingUp)
  }
  if (definition.readCallback) {
    provider.readCallback = async (request) => {
      const run = () => definition.readCallback?.(request, context)
      const reading = await caller.get(run, readingShape, 'reading')
      if ('value' in reading) return reading.value
      caller.report('readCallback', reading)
      return { type: 'unreadable', reason: 'the provider failed to read it' }
    }
  }
  if (definition.check) {
    provider.check = async () => {
      const checked = await caller.get(() => definition.check?.(context), checkShape, 'fault')
      if ('value' in checked) return checked.value
      caller.report('check', checked)
      return `The check failed: ${[checked.fault, ...checked.at.slice(0, 1)].join(' at ')}`
    }
  }
  if (definition.listen) {
    provider.listen = (sink) =>
      guardedListening(name, (safe) => definition.listen?.(safe, context), sink, caller)
  }
  return provider
}

function outcomeWithout({ is_late }: Failed): Outcome {
  return is_late ? NO_ANSWER : FAILED
}
