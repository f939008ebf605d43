import { isLoopback } from '@svc/core/contract'
import type { Config } from '@svc/server'
import { type Finding, findingsOf, reasonOf } from '@svc/server/doctor'
import type { ProcessIo } from '../process/process-io.ts'
import { settingsOf } from '../settings/data-folder.ts'
import { withOrigins } from '../settings/setting-sources.ts'
import { unknownVariables } from '../settings/unknown-variables.ts'

/** Checks the settings. The configuration is null when they are invalid. */
export async function checkSettings(
  io: ProcessIo,
): Promise<{ findings: Finding[]; config: Config | null }> {
  const is = findingsOf('settings')
  const { readConfig, warnOfDatabase, warnOfSettings } = await import('@svc/server')
  let config: Config
  try {
    config = readConfig(settingsOf(io))
  } catch (error) {
    const reason = reasonOf(withOrigins(error, io))
    return { findings: [is.error(reason, 'svc serve refuses to start with it')], config: null }
  }
  const findings: Finding[] = []
  const warn = (_fields: object, text: string) => {
    findings.push(is.warning(text, 'svc config shows each setting and where it comes from'))
  }
  warnOfSettings({ warn }, config, { dev: false })
  for (const text of unknownVariables(io.env)) warn({}, text)
  // The check of the database reports an invalid URL.
  await warnOfDatabase(
    {
      warn: (_fields, text) =>
        findings.push(
          is.warning(text, 'add ?sslmode=verify-full&sslrootcert=<file> to SVC_DATABASE_URL'),
        ),
    },
    config,
  ).catch(() => {})
  findings.push(...exposure(config, is))
  return { findings: findings.length > 0 ? findings : [is.ok('valid')], config }
}

function exposure(
  { host, public_url, trust_proxy }: Config,
  is: ReturnType<typeof findingsOf>,
): Finding[] {
  if (!isLoopback(host) && public_url.startsWith('http://')) {
    return [
      is.warning(
        `keys and passwords are sent to ${host} without encryption`,
        'use a reverse proxy with TLS, such as nginx, and set SVC_PUBLIC_URL to its https address',
      ),
    ]
  }
  if (public_url.startsWith('https://') && trust_proxy.length === 0) {
    return [
      is.warning(
        'SVC_TRUST_PROXY is not set: all clients behind the proxy count as one client, and share its rate limits',
        'set it to the address of the proxy, such as 127.0.0.1/32',
      ),
    ]
  }
  return []
}
