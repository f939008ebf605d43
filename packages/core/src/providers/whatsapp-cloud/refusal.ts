import type { Outcome } from '../../contract/outside/provider.ts'

/** What Meta would refuse, or would send otherwise than it was meant, is refused before any call. */
export type Refusal = Extract<Outcome, { type: 'rejected' }>

export function refusal(error_code: string, error_message: string): Refusal {
  return { type: 'rejected', error_code, error_message }
}

export function isRefusal(result: object | string): result is Refusal {
  return typeof result === 'object' && 'error_code' in result
}
