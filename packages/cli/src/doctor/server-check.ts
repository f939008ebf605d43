import type { Config } from '@svc/server'
import { type Finding, findingsOf, reasonOf } from '@svc/server/doctor'

const ANSWER_MAX_MS = 5_000

/** Checks that a server answers on this machine and at its public address. */
export async function checkServer(
  { host, port, public_url }: Pick<Config, 'host' | 'port' | 'public_url'>,
  { offline }: { offline: boolean },
): Promise<Finding[]> {
  const is = findingsOf('server')
  const { urlOf } = await import('@svc/server')
  const here = urlOf(host.replace(/^0\.0\.0\.0$/, '127.0.0.1').replace(/^::$/, '::1'), port)
  const findings: Finding[] = [await healthOf(here, is)]
  if (offline || public_url === urlOf(host, port)) return findings
  try {
    const answer = await fetch(`${public_url}/health/live`, {
      signal: AbortSignal.timeout(ANSWER_MAX_MS),
      redirect: 'manual',
    })
    findings.push(
      answer.ok
        ? is.ok(`answers at ${public_url}`)
        : is.error(
            `${public_url}/health/live answers ${answer.status}`,
            'SVC_PUBLIC_URL is wrong, or its proxy forwards to another server',
          ),
    )
  } catch (error) {
    findings.push(
      is.error(
        `${public_url} cannot be reached from here: ${reasonOf(error)}`,
        'links in mails and callbacks of providers use it: check name, certificate and proxy',
      ),
    )
  }
  return findings
}

async function healthOf(url: string, is: ReturnType<typeof findingsOf>): Promise<Finding> {
  try {
    const answer = await fetch(`${url}/health`, { signal: AbortSignal.timeout(ANSWER_MAX_MS) })
    const { status, services } = (await answer.json()) as {
      status: string
      services: { database?: unknown }
    }
    if (status === 'ok') return is.ok(`answers at ${url}`)
    if (services.database === 'checkpoint_error') {
      return is.error(
        `${url}: SQLite cannot write its log back into the database file`,
        'its log names the error; check the disk of the file now, because the write-ahead log grows until the disk is full',
      )
    }
    return is.error(
      `${url} is ${status}: ${JSON.stringify(services)}`,
      'see its log and the other findings',
    )
  } catch {
    return is.warning(`no server answers at ${url}`, 'start svc serve if it should run here')
  }
}
