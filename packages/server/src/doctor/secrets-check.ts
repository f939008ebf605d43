import type { Core } from '@svc/core'
import { counted } from './counted.ts'
import { type Finding, findingsOf } from './finding.ts'

/** Checks that all secrets in the database are encrypted with the first key. */
export async function checkSecrets(core: Pick<Core, 'secretsAtRest'>): Promise<Finding[]> {
  const is = findingsOf('secrets')
  const { key_id, plain, keys } = await core.secretsAtRest.status()
  const missing = keys.filter(({ is_given }) => !is_given)
  if (missing.length > 0) {
    const ids = missing.map((key) => key.key_id).join(', ')
    return [
      is.error(
        `${sumOf(missing)} encrypted with a missing key (key id ${ids})`,
        'svc serve refuses to start without it: set SVC_SECRETS_KEY or SVC_SECRETS_KEY_FILE, with every key in use',
      ),
    ]
  }
  if (key_id === null) {
    return [
      is.warning(
        'no key is set: the database and its backups contain the secrets of sessions and webhooks as plain text',
        'set SVC_SECRETS_KEY or SVC_SECRETS_KEY_FILE, then svc secrets encrypt',
      ),
    ]
  }
  const old = keys.filter((key) => key.key_id !== key_id && key.values > 0)
  const findings: Finding[] = []
  if (plain > 0) findings.push(is.warning(`${textOf(plain)} plain text`, 'svc secrets encrypt'))
  if (old.length > 0) {
    findings.push(is.warning(`${sumOf(old)} encrypted with an old key`, 'svc secrets encrypt'))
  }
  return findings.length > 0 ? findings : [is.ok(`${sumOf(keys)} encrypted, with ${key_id}`)]
}

function sumOf(keys: readonly { values: number }[]): string {
  return textOf(keys.reduce((sum, { values }) => sum + values, 0))
}

function textOf(values: number): string {
  return counted(values, 'value is', 'values are')
}
