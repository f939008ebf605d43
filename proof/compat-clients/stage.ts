import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sidOf } from '@svc/core/contract'
import {
  CERTIFICATE,
  CERTIFICATE_KEY,
} from '../../packages/core/test/providers/smtp/send-certificate.ts'
import { signUp } from '../stage/accounts.ts'
import { levelOf, type Service, startService } from '../stage/serve.ts'
import { openGateway } from './gateway.ts'

/** Two built services in the sandbox, with SMTP inlets that offer STARTTLS: one without limits, and one with narrow ones. */
export interface Stage {
  /** New workspaces for a scenario. */
  places(): Promise<Pick<Scenario, 'service' | 'limited' | 'certificate'>>
  /** Stops the services. Resolves with the faults in their logs. */
  close(): Promise<string[]>
}

/** What a scenario knows, as JSON in the environment variable `SCENARIO`. Its own workspaces keep it apart from the others. */
export interface Scenario {
  /** The folder with the packages, and the name under which the package is installed. */
  folder: string
  module: string
  /** A service without limits, and one that takes three requests of a key in two seconds. */
  service: Place
  limited: Place
  /** The certificate of the SMTP inlet, in PEM. */
  certificate: string
}

/** A service with a workspace. */
interface Place {
  url: string
  smtp_port: number
  account_sid: string
  /** A key with every scope that signs callbacks. */
  key: string
  key_id: string
  /** A key that may only read. */
  reader: string
}

/** Starts the services with their data below `folder`. */
export async function openStage(folder: string): Promise<Stage> {
  const cert = join(folder, 'smtp.crt')
  const key = join(folder, 'smtp.key')
  writeFileSync(cert, CERTIFICATE)
  writeFileSync(key, CERTIFICATE_KEY)
  const smtp = {
    SVC_SMTP_LISTEN: '127.0.0.1:0',
    SVC_SMTP_TLS_CERT: cert,
    SVC_SMTP_TLS_KEY: key,
  }
  const open = (name: string, env: Record<string, string>) => {
    const data = join(folder, name)
    mkdirSync(data)
    return startService({ folder: data, env: { ...smtp, ...env } })
  }
  const gateway = await openGateway()
  const service = await open('service', {
    SVC_PROVIDERS: gateway.providers,
    SVC_SELF_SERVICE_DOMAINS: 'true',
  })
  const limited = await open('limited', { SVC_RATE_LIMIT_GENERAL: '3/2' })
  let count = 0
  return {
    async places() {
      count += 1
      return {
        service: await placeOf(service, count),
        limited: await placeOf(limited, count),
        certificate: CERTIFICATE,
      }
    },
    async close() {
      const ends = await Promise.all([service, limited].map((each) => each.end('SIGTERM')))
      await gateway.close()
      const faults = ends.flatMap(({ code }) =>
        code === 0 ? [] : [`a service ended with ${code}`],
      )
      const errors = [service, limited].flatMap(({ log }) =>
        log.kept.filter((line) => levelOf(line) === 0 || levelOf(line) >= 50),
      )
      return [...faults, ...errors]
    },
  }
}

async function placeOf(service: Service, count: number): Promise<Place> {
  const { workspace_id, owner } = await signUp(service.url, `owner-${count}`)
  const made = await owner.apiKeys.create({ name: 'Client', signs: true })
  const reader = await owner.apiKeys.create({ name: 'Reader', scopes: ['read_messages'] })
  return {
    url: service.url,
    smtp_port: Number(new URL(service.smtp_urls[0] ?? '').port),
    account_sid: sidOf('account', workspace_id),
    key: made.key,
    key_id: made.id,
    reader: reader.key,
  }
}
