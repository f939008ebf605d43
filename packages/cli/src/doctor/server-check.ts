import type { Config } from '@svc/server'
import { type Finding, findingsOf, reasonOf } from './finding.ts'

const ANSWER_MAX_MS = 5_000

/** Whether a server answers here, and at the address that others are told. */
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
            'SVC_PUBLIC_URL, or the proxy there, leads elsewhere',
          ),
    )
  } catch (error) {
    findings.push(
      is.error(
        `${public_url} cannot be reached from here: ${reasonOf(error)}`,
        'links in mails and the callbacks of providers go there: check name, certificate and proxy',
      ),
    )
  }
  return findings
}

async function healthOf(url: string, is: ReturnType<typeof findingsOf>): Promise<Finding> {
  try {
    const answer = await fetch(`${url}/health`, { signal: AbortSignal.timeout(ANSWER_MAX_MS) })
    const { status, services } = (await answer.json()) as { status: string; services: object }
    if (status === 'ok') return is.ok(`answers at ${url}`)
    return is.error(
      `${url} is ${status}: ${JSON.stringify(services)}`,
      'its log says why; the other findings may, too',
    )
  } catch {
    return is.warning(`no server answers at ${url}`, 'svc serve, if it is meant to run here')
  }
}
