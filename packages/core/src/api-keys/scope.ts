import type { Scope } from '../contract/endpoints/endpoint.ts'
import { SvcError } from '../contract/errors.ts'
import type { KeyIdentity } from './api-keys.ts'

/**
 * Checks the scope of an API key.
 * @throws SvcError `forbidden` if the key lacks the scope, or is a test key and the scope has no test data.
 */
export function requireScope(
  { scopes, mode }: Pick<KeyIdentity, 'scopes' | 'mode'>,
  scope: Scope | undefined,
): void {
  if (!scope) return
  if (!scopes.includes(scope)) {
    throw new SvcError('forbidden', `API key does not have required scope: ${scope}`)
  }
  if (scope === 'manage_contacts' && mode === 'test') {
    throw new SvcError(
      'forbidden',
      'Contacts and suppressions are live data: a test key cannot manage them',
    )
  }
}
