import { join } from 'node:path'
import { createCore, createSandboxPayments, type Mail } from '@svc/core'
import { RATES, readCreditPackages } from '@svc/core/contract'
import { signNotification } from '@svc/core/operate'
import { buildApp } from '@svc/server'
import { startTxtServer } from '../../packages/core/test/domains/txt-server.ts'

const PAYMENT_SECRET = 'whsec_of_this_run'
const UNLIMITED = { max: 1_000_000_000, window_s: 60 }
const PACKAGES =
  '[{ "id": "starter", "name": "Starter", "credits": 1000, "price": { "amount": 1000, "currency": "USD" } }]'

/** A whole service in this process: it sells credits, and keeps the mails to owners. */
export interface WholeService {
  url: string
  /** The token in the newest mail of a kind. */
  tokenOf(kind: Mail['kind']): Promise<string>
  /** Resolves when all due messages and deliveries are sent. */
  idle(): Promise<void>
  /** Publishes a TXT record in the DNS that the service asks. */
  publish(record: { name: string; value: string }): void
  /** Signs the login with an address in with OIDC, which links a subject to it. */
  link(email: string): Promise<void>
  /** The headers of a notification of the payment provider. */
  signed(body: string): Record<string, string>
  close(): Promise<void>
}

/** Opens the service without rate limits, on a new database in `folder`. */
export async function openWholeService(folder: string): Promise<WholeService> {
  const mails: Mail[] = []
  const dns = await startTxtServer()
  const public_url = () => 'http://127.0.0.1:3000'
  const now = () => new Date()
  const sandbox_payments = createSandboxPayments({ secret: PAYMENT_SECRET, public_url, now })
  const core = await createCore({
    database_url: `file:${join(folder, 'whole.db')}`,
    durability: 'none',
    signup_credits: '100000',
    signup_credits_on: 'signup',
    credit_packages: readCreditPackages(PACKAGES),
    payments: sandbox_payments,
    mailer: { send: async (mail) => void mails.push(mail) },
    webhook_targets: { allow_http: true, allow_nets: ['127.0.0.0/8'] },
    threads: 0,
    domains_dns: [dns.address],
  })
  const rates = Object.fromEntries(Object.keys(RATES).map((name) => [name, UNLIMITED]))
  const app = await buildApp(core, {
    config: {
      jwt_secret: await core.secret('jwt'),
      rates: rates as Record<keyof typeof RATES, typeof UNLIMITED>,
      trust_proxy: [],
      self_service_domains: true,
    },
    sandbox_payments,
    load: () => ({ requests: 1, delay_ms: 0 }),
  })
  const dispatcher = await core.startDispatch()
  return {
    url: await app.listen({ host: '127.0.0.1', port: 0 }),
    async tokenOf(kind) {
      await core.mails.idle()
      const link = mails.filter((mail) => mail.kind === kind).at(-1)?.link
      if (link === undefined) throw new Error(`no mail of the kind ${kind}`)
      return new URL(link).searchParams.get('token') ?? ''
    },
    idle: () => dispatcher.idle(),
    publish: ({ name, value }) => void dns.records.set(name, [value]),
    async link(email) {
      const person = { issuer: 'https://id.example', subject: 'one', verified_email: email }
      await core.members.signIn({ ...person, name: null, assigned: null })
    },
    signed: (body) => ({ 'stripe-signature': signNotification(PAYMENT_SECRET, body, now()) }),
    async close() {
      await app.close()
      await core.close({ grace_ms: 1_000 })
      await dns.close()
    },
  }
}
