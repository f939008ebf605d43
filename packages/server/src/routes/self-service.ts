import { SvcError } from '@svc/core/contract'

/**
 * Checks that workspaces may add, rotate and remove their sending domains themselves.
 * @throws SvcError `forbidden` if the operator reserves this.
 */
export function assertSelfService(is_allowed: boolean): void {
  if (is_allowed) return
  throw new SvcError(
    'forbidden',
    'Sending domains are arranged with support: please contact support.',
  )
}
