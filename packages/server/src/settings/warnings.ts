import { isDatabaseExposed, type Log } from '@svc/core'
import { readSomaxconn } from '../connections.ts'
import type { Config } from './config.ts'

/** Says at start what of the settings may not be what the operator takes it for; never a value of one. */
export function warnOfSettings(
  log: Pick<Log, 'warn'>,
  {
    stripe,
    providers,
    public_url,
    listen_backlog,
    open_secrets_key_file,
  }: Pick<
    Config,
    'stripe' | 'providers' | 'public_url' | 'listen_backlog' | 'open_secrets_key_file'
  >,
  { dev, somaxconn = readSomaxconn() }: { dev: boolean; somaxconn?: number | null },
): void {
  if (dev) return
  if (!providers.some(({ type }) => type === 'smtp')) {
    log.warn({}, 'no mail server is used: mails to owners (verify, reset) reach nobody')
  }
  const called = providers.filter(({ type }) => !UNCALLED.includes(type)).map(({ name }) => name)
  if (called.length > 0 && !public_url.startsWith('https://')) {
    log.warn(
      { providers: called },
      'SVC_PUBLIC_URL is not https: these providers report to it how messages fare, and may not reach it',
    )
  }
  if (somaxconn !== null && somaxconn < listen_backlog) {
    log.warn(
      { somaxconn, listen_backlog },
      'net.core.somaxconn is less than SVC_LISTEN_BACKLOG: in a burst, clients beyond it wait for seconds to connect',
    )
  }
  if (open_secrets_key_file !== null) {
    log.warn(
      { file: open_secrets_key_file },
      'every user of this machine can read the file of SVC_SECRETS_KEY_FILE: chmod o-rwx it',
    )
  }
  if (stripe && /^.k_test_/.test(stripe.secret_key)) {
    log.warn({}, 'Stripe is in test mode: credits are added, and no money moves')
  }
}

/** Says, as `warnOfSettings`, whether others on the network could read what is said to the database. */
export async function warnOfDatabase(
  log: Pick<Log, 'warn'>,
  { database_url }: Pick<Config, 'database_url'>,
): Promise<void> {
  if (await isDatabaseExposed(database_url)) log.warn({}, EXPOSED)
}

const EXPOSED =
  'PostgreSQL is on another host and SVC_DATABASE_URL asks for no TLS: the password, messages and keys cross the network unencrypted. Add sslmode=verify-full'

/** Those that report by other ways. */
const UNCALLED: readonly string[] = ['sandbox', 'smtp', 'smpp']
