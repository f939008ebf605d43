import { readFileSync } from 'node:fs'
import type { Log } from '@svc/core'
import { isDatabaseExposed, makesCallbacks } from '@svc/core/operate'
import type { Config } from './config.ts'

/** Warns at start of settings that the operator may misunderstand. The texts contain no value of a setting. */
export function warnOfSettings(
  log: Pick<Log, 'warn'>,
  {
    stripe,
    providers,
    public_url,
    listen_backlog,
    open_secrets_key_file,
    unused_backup_settings,
  }: Pick<
    Config,
    | 'stripe'
    | 'providers'
    | 'public_url'
    | 'listen_backlog'
    | 'open_secrets_key_file'
    | 'unused_backup_settings'
  >,
  { dev, somaxconn = readSomaxconn() }: { dev: boolean; somaxconn?: number | null },
): void {
  if (dev) return
  const builtIn = providers.flatMap((one) => ('module' in one ? [] : [one]))
  if (!builtIn.some(({ type }) => type === 'smtp')) {
    log.warn({}, 'no mail server is set: mails to owners (verify, reset) are not sent')
  }
  const called = builtIn.filter(makesCallbacks).map(({ name }) => name)
  if (called.length > 0 && !public_url.startsWith('https://')) {
    log.warn(
      { providers: called },
      'SVC_PUBLIC_URL is not https: these providers report to it the status of messages, and may refuse it',
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
      'every user of this machine can read the file of SVC_SECRETS_KEY_FILE: run chmod o-rwx on it',
    )
  }
  if (unused_backup_settings.length > 0) {
    log.warn({ settings: unused_backup_settings }, UNUSED_BACKUPS)
  }
  if (stripe && /^.k_test_/.test(stripe.secret_key)) {
    log.warn({}, 'Stripe is in test mode: purchases add credits, but no money is paid')
  }
}

const UNUSED_BACKUPS =
  'these settings (SVC_BACKUP_EVERY is backup_every in the configuration file) have no effect with PostgreSQL: remove them, and back it up with pg_dump or pg_basebackup'

/** Warns at start if other hosts on the network could read the traffic to the database. */
export async function warnOfDatabase(
  log: Pick<Log, 'warn'>,
  { database_url }: Pick<Config, 'database_url'>,
): Promise<void> {
  if (await isDatabaseExposed(database_url)) log.warn({}, EXPOSED)
}

const EXPOSED =
  'PostgreSQL is on another host and SVC_DATABASE_URL does not require TLS: the password, messages and keys cross the network unencrypted. Add sslmode=verify-full'

/** The kernel's limit of connections that wait on one socket; null if it is unknown. */
function readSomaxconn(file = '/proc/sys/net/core/somaxconn'): number | null {
  try {
    return Number.parseInt(readFileSync(file, 'utf8'), 10) || null
  } catch {
    return null
  }
}
