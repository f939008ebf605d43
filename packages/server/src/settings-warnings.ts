import type { Log } from '@svc/core'
import type { Config } from './config.ts'

/** Says at start what of the settings may not be what the operator takes it for; never a value of one. */
export function warnOfSettings(
  log: Pick<Log, 'warn'>,
  { stripe, unused }: Pick<Config, 'stripe' | 'unused'>,
  { dev }: { dev: boolean },
): void {
  if (unused.length > 0) {
    log.warn(
      { variables: unused },
      'set, but not used by this version: the sandbox serves their channels',
    )
  }
  if (dev) return
  log.warn({}, 'no mail server is used: mails to owners (verify, reset) reach nobody')
  if (stripe && /^.k_test_/.test(stripe.secret_key)) {
    log.warn({}, 'Stripe is in test mode: credits are added, and no money moves')
  }
}
