import type { ProviderFault } from '../providers/defined/definition.ts'
import type { Log } from '../runtime/runtime.ts'

/** Logs that the code of a provider broke a promise; the text of an exception is not part of the fault. */
export function logProviderFault(log: Log, fault: ProviderFault): void {
  log.error({ ...fault }, 'the code of a provider failed')
}
