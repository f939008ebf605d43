import { invalid } from '../contract/errors.ts'

/** Where the operator lets deliveries go. */
export interface TargetPolicy {
  /** Whether plain `http` is allowed; otherwise a target is `https`. */
  allow_http: boolean
}

/** @throws SvcError `validation_error` for an address that deliveries may not go to. */
export function checkTarget(url: string, policy: TargetPolicy): void {
  const { protocol } = new URL(url)
  if (protocol === 'https:' || (protocol === 'http:' && policy.allow_http)) return
  throw invalid('url', 'url must be https')
}
