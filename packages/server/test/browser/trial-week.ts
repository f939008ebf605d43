import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Svc } from '@svc/client'
import { type Core, createCore, createSandboxPayments, systemRuntime } from '@svc/core'
import { readCreditPackages, units } from '@svc/core/contract'
import { defineProvider } from '@svc/core/provider'
import { idGenerator } from '../../../core/src/runtime/runtime.ts'
import { readConfig, startServer } from '../../src/index.ts'

const HOUR_MS = 3_600_000
const HOURS = 7 * 24
const PASSWORD = 'lighthouse keeper 7'

/** The people of the trial, all with this password. */
export const LOGINS = {
  password: PASSWORD,
  owner: 'wanjiru@baraka.example',
  operator: 'neema',
}

/** What the tasks name. */
export const TRIAL = {
  workspace: 'Baraka Foods',
  person: 'Amina Odhiambo',
  failedBulk: 'weekend-offer',
  waitingBulk: 'weekly-bill',
  frozen: 'Pemba Tours',
  customer: 'Kilima Clinic',
}

const NAMES = ['Asha', 'Juma', 'Njeri', 'Otieno', 'Zawadi', 'Baraka', 'Halima', 'Kamau', 'Rehema']
const FAMILIES = ['Mwangi', 'Odhiambo', 'Hassan', 'Kimani', 'Achieng', 'Njoroge', 'Said', 'Wekesa']
const TEXTS = [
  'Your order {n} is ready at the counter.',
  'Your order {n} is on its way and arrives before 18:00.',
  'We received your payment of {n} KES. Thank you.',
  'Your table for tomorrow at 19:00 is confirmed. Reference {n}.',
]
const ANSWERS = [
  'Thank you',
  'Can I collect it tomorrow?',
  'I did not order this',
  'Is the shop open on Sunday?',
]

/** What the carrier of the week says about some recipients, by the end of the number. */
const REFUSALS: Record<string, [code: string, text: string]> = {
  '13': ['invalid_recipient', 'The number is not in use'],
  '29': ['unroutable', 'No route to this network'],
  '47': ['opted_out', 'The recipient has opted out at the carrier'],
}
const LANDLINES = '+25520'

/** The carriers of the week: most messages arrive. */
function carrier(name: string, channels: ('sms' | 'whatsapp' | 'email' | 'voice')[]) {
  return defineProvider({
    name,
    traits: { channels, idempotent: true },
    send: (jobs) =>
      jobs.map(({ recipient, message_id }) => {
        const [code, text] = recipient.startsWith(LANDLINES)
          ? ['landline', 'The number is a landline and takes no SMS']
          : recipient.startsWith('gone.')
            ? ['bounced', 'The mailbox does not exist']
            : (REFUSALS[recipient.slice(-2)] ?? [])
        if (code && text) return { type: 'rejected', error_code: code, error_message: text }
        const wait = { lookup_after_ms: channels.includes('voice') ? 0 : null }
        const isDelivered = !channels.includes('voice') && !recipient.endsWith('61')
        return {
          ...{ type: 'accepted', provider_message_id: `${name}-${message_id}`, ...wait },
          ...(isDelivered && { status: 'delivered' }),
        }
      }),
    lookup: (jobs) =>
      jobs.map(({ message_id }) => ({
        type: 'found',
        receipts: [
          {
            ...{ status: 'delivered', provider_message_id: `${name}-${message_id}` },
            ...{ error_code: null, error_message: null, duration_s: 34 },
          },
        ],
        replies: [],
        lookup_after_ms: null,
      })),
  })
}

/** The receivers of the webhooks. `isRepaired`: whether the one that fails answers again. */
async function openReceivers() {
  const state = { isRepaired: false, isCrmDown: false }
  const server = createServer((request, response) => {
    request.resume()
    const isDown =
      request.url === '/old-shop' ||
      (request.url === '/crm' && state.isCrmDown && !state.isRepaired)
    response.statusCode = isDown ? 500 : 200
    response.end(isDown ? '{"error":"database is read-only"}' : 'ok')
  })
  return { state, server, url: await listen(server) }
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const PACKAGES =
  '[{"id":"starter","name":"Starter","credits":1000,"price":{"amount":1000,"currency":"USD"}},' +
  '{"id":"large","name":"Large","credits":10000,"bonus_credits":500,"price":{"amount":9000,"currency":"USD"}}]'

const neema = { kind: 'operator', id: 'neema', address: '10.0.0.8', request_id: null } as const
const tariq = { kind: 'operator', id: 'tariq', address: '10.0.0.9', request_id: null } as const

/**
 * A service with a week of data: four workspaces, 1,340 messages on all channels with several kinds of failures, six bulks of
 * which one failed, 140 contacts, four webhooks of which one fails and one is disabled, replies, purchases, and what operators
 * did. Then the provider of calls stops to answer. The week passes on a simulated clock; after it the clock is that of the system.
 */
export async function openTrial() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-trial-'))
  const receivers = await openReceivers()
  const gateway = createServer(() => {})
  const gateway_url = await listen(gateway)
  const { url: receiver } = receivers
  await passWeek(`file:${join(folder, 'svc.db')}`, receivers)
  const voice = {
    ...{ type: 'http', name: 'acme-voice', channels: ['voice'], deadline_s: 18 },
    send: { url: gateway_url, body: { to: '{{to}}', text: '{{text}}' } },
    answer: { id: '/id' },
  }
  const server = await startServer({
    config: readConfig({
      ...{ PORT: '0', SVC_DATA_DIR: folder, SVC_LOG_LEVEL: 'silent' },
      ...{ SVC_RATE_LIMIT_GENERAL: '5000/60', SVC_RATE_LIMIT_ANONYMOUS: '5000/60' },
      ...{ SVC_RATE_LIMIT_CONSOLE: '5000/60', SVC_RATE_LIMIT_AUTH: '500/60' },
      ...{ SVC_WEBHOOK_ALLOW_HTTP: 'true', SVC_WEBHOOK_ALLOW_NETS: '127.0.0.0/8' },
      ...{ SVC_CREDIT_PACKAGES: PACKAGES, SVC_PROVIDERS: JSON.stringify([voice]) },
      SVC_BACKUP_DIR: join(folder, 'backups'),
    }),
  })
  const { core, url } = server
  const { id } = (await core.workspaces.byEmail(LOGINS.owner)) ?? { id: '' }
  const { key } = await core.apiKeys.create(id, { name: 'shop-2' })
  const svc = new Svc({ baseUrl: url, apiKey: key })
  for (let i = 0; i < 8; i++) {
    const content = { text: `Your delivery is at the door. Order ${i}.`, language: 'en-GB' }
    await svc.messages.send({ channel: 'voice', to: phoneOf(i), content })
  }
  await svc.bulks.send({
    ...{ channel: 'sms', content: { text: 'Hi {{name}}, your bill for this week is ready.' } },
    recipients: Array.from({ length: 60 }, (_, i) => ({ to: phoneOf(i), name: 'you' })),
    metadata: { campaign: TRIAL.waitingBulk },
    validation: 'permissive',
    scheduled_at: new Date(Date.now() + 24 * HOUR_MS).toISOString(),
  })
  return {
    url,
    core,
    receiver,
    svc,
    /** The receiver of the failing webhook answers again. */
    repair() {
      receivers.state.isRepaired = true
    },
    async close() {
      await server.close()
      for (const one of [gateway, receivers.server]) {
        one.closeAllConnections()
        one.close()
      }
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Opens the trial for a person, until Ctrl+C. */
export async function showTrial(): Promise<never> {
  console.log('A week passes: this takes about a minute.')
  const trial = await openTrial()
  console.log(`
Member:    ${trial.url}/console            ${LOGINS.owner}
Operator:  ${trial.url}/console/operator   ${LOGINS.operator}
Password:  ${LOGINS.password}
`)
  await new Promise<void>((resolve) => process.once('SIGINT', () => resolve()))
  await trial.close()
  process.exit()
}

const phoneOf = (i: number) => `+254711000${String(i).padStart(3, '0')}`

async function passWeek(
  database_url: string,
  receivers: Awaited<ReturnType<typeof openReceivers>>,
): Promise<void> {
  const clock = { ms: Date.now() - HOURS * HOUR_MS - 60_000, elapsed_ms: 0 }
  const system = systemRuntime()
  const now = () => new Date(clock.ms)
  const payments = createSandboxPayments({
    secret: 'whsec_of_the_trial',
    public_url: () => 'http://127.0.0.1:3000',
    now,
  })
  const core = await createCore({
    ...{ database_url, durability: 'none', threads: 0, payments },
    credit_packages: readCreditPackages(PACKAGES),
    providers: [carrier('twiga', ['sms', 'whatsapp', 'email']), carrier('acme-voice', ['voice'])],
    webhook_targets: { allow_http: true, allow_nets: ['127.0.0.0/8'], dns: ['127.0.0.1:1'] },
    runtime: {
      ...system,
      now,
      elapsed: () => clock.elapsed_ms,
      id: idGenerator(now, system.bytes),
    },
  })
  try {
    const dispatcher = await core.startDispatch()
    const ids = await people(core, receivers.url)
    for (let hour = 0; hour < HOURS; hour++) {
      // After the first time, deliveries have failed for good; the second one is not over.
      receivers.state.isCrmDown = (hour > 8 && hour < 100) || hour > HOURS - 30
      await passHour(core, ids, { hour, payments })
      await dispatcher.idle()
      for (let i = 0; i < 4; i++) {
        clock.ms += HOUR_MS / 4
        clock.elapsed_ms += HOUR_MS / 4
        await dispatcher.idle()
      }
    }
  } finally {
    await core.close()
  }
}

/** Operators, workspaces, keys, contacts and webhooks. */
async function people(core: Core, receiver: string) {
  for (const name of ['neema', 'tariq']) await core.operators.add({ name, password: PASSWORD })
  const open = (email: string, company_name: string) =>
    core.workspaces.create({ email, password: PASSWORD, company_name })
  const baraka = (await open(LOGINS.owner, TRIAL.workspace)).id
  const kilima = (await open('it@kilima.example', TRIAL.customer)).id
  const pemba = (await open('info@pemba.example', TRIAL.frozen)).id
  const ziwa = (await open('ops@ziwa.example', 'Ziwa Logistics')).id
  await core.credits.grant(baraka, { amount: units(2_000_000_000), actor: 'neema' }, neema)
  await core.credits.grant(ziwa, { amount: units(100_000_000), actor: 'tariq' }, tariq)
  await core.credits.grant(pemba, { amount: units(100_000_000), actor: 'tariq' }, tariq)
  const keyOf = async (id: string, name: string) => {
    const { key } = await core.apiKeys.create(id, { name })
    return core.apiKeys.authenticate(key, '127.0.0.1')
  }
  for (let i = 0; i < 140; i++) {
    const isPerson = i === 7
    const name = isPerson
      ? TRIAL.person
      : `${NAMES[i % NAMES.length]} ${FAMILIES[(i * 5) % FAMILIES.length]}${i > 71 ? ` ${i}` : ''}`
    await core.contacts.create(baraka, {
      ...{ name, phone: phoneOf(i), email: `customer${i}@example.com` },
      tags: [...(i < 12 ? ['vip'] : []), i % 3 === 0 ? 'wholesale' : 'retail'],
      attributes: { city: i % 2 ? 'Nairobi' : 'Mombasa' },
    })
  }
  const hooks = [
    ['/orders', 'Orders in the shop', ['message.delivered', 'message.failed']],
    ['/crm', 'CRM', ['message.failed', 'message.received']],
    ['/help-desk', 'Help desk', ['message.received']],
    ['/old-shop', 'Old shop', ['message.failed']],
  ] as const
  for (const [path, description, events] of hooks) {
    await core.webhooks.create(baraka, { url: receiver + path, description, events: [...events] })
  }
  return {
    ...{ baraka, kilima, pemba, ziwa },
    shop: await keyOf(baraka, 'shop'),
    billing: await keyOf(baraka, 'billing-cron'),
    pembaKey: await keyOf(pemba, 'site'),
    ziwaKey: await keyOf(ziwa, 'trucks'),
  }
}

type Ids = Awaited<ReturnType<typeof people>>

interface Hour {
  hour: number
  payments: ReturnType<typeof createSandboxPayments>
}

async function passHour(core: Core, ids: Ids, { hour, payments }: Hour): Promise<void> {
  const time = hour % 24
  const sends = time > 1 && time < 13 ? 6 : 1
  for (let i = 0; i < sends; i++) await sendOne(core, ids, hour * 7 + i)
  if (hour % 5 === 2) {
    const author = { sender: phoneOf((hour * 11) % 140), recipient: '+14155550190' }
    const text = hour === 52 ? 'STOP' : (ANSWERS[hour % ANSWERS.length] ?? '')
    await core.received.simulate(ids.baraka, { channel: 'sms', ...author, text })
  }
  if (hour % 6 === 0) {
    const content = { text: `Truck ${hour} has left the depot.` }
    await core.messages.send(ids.ziwaKey, { channel: 'sms', to: '+254722000001', content })
  }
  await bulkAt(core, ids, hour)
  await actAt(core, ids, { hour, payments })
}

/** One message of a program to a contact; the person of the tasks gets one on each channel. */
async function sendOne(core: Core, ids: Ids, n: number): Promise<void> {
  const who = n % 23 === 0 ? 7 : (n * 37) % 140
  const text = (TEXTS[n % TEXTS.length] ?? '').replace('{n}', String(1000 + n))
  const kind = n % 10
  if (kind === 3 || kind === 4) {
    const mail = n % 31 === 0 ? `gone.${who}@example.com` : `customer${who}@example.com`
    const content = { subject: `Invoice ${1000 + n}`, text: `${text}\n\nBaraka Foods` }
    await core.messages.send(ids.billing, { channel: 'email', to: mail, content })
  } else if (kind === 5) {
    const to = phoneOf(who)
    await core.messages.send(ids.shop, { channel: 'whatsapp', to, content: { text } })
  } else if (kind === 6 && n % 4 === 0) {
    const to = phoneOf(who)
    await core.messages.send(ids.shop, { channel: 'voice', to, content: { text } })
  } else {
    await core.messages.send(ids.shop, { channel: 'sms', to: phoneOf(who), content: { text } })
  }
}

const BULKS: Record<number, { campaign: string; text: string; count: number; isLandline?: true }> =
  {
    9: { campaign: 'opening-hours', text: 'From Monday we open at 7:00.', count: 60 },
    34: {
      campaign: 'mango-week',
      text: 'Hi {{name}}, mangoes are 20% off until Friday.',
      count: 90,
    },
    58: { campaign: 'vip-tasting', text: 'Hi {{name}}, join our tasting on Saturday.', count: 12 },
    82: { campaign: 'price-list', text: 'The new price list is in the shop.', count: 50 },
    107: {
      campaign: 'survey',
      text: 'Hi {{name}}, how was your last order? Answer 1 to 5.',
      count: 80,
    },
    146: {
      ...{ campaign: TRIAL.failedBulk, text: 'This weekend: 2 for 1 on all juices.', count: 40 },
      isLandline: true,
    },
  }

async function bulkAt(core: Core, ids: Ids, hour: number): Promise<void> {
  const bulk = BULKS[hour]
  if (!bulk) return
  const recipients = Array.from({ length: bulk.count }, (_, i) => ({
    to: bulk.isLandline ? `${LANDLINES}${1_000_000 + i}` : phoneOf(i),
    name: NAMES[i % NAMES.length],
  }))
  const { campaign, text } = bulk
  await core.messages.bulks.send(ids.shop, {
    ...{ channel: 'sms', content: { text }, recipients, metadata: { campaign } },
    validation: 'permissive',
  })
}

/** What customers and operators did. */
async function actAt(core: Core, ids: Ids, { hour, payments }: Hour): Promise<void> {
  if (hour === 20 || hour === 90) {
    const { data } = await core.billing.checkout(hour === 20 ? ids.pemba : ids.kilima, {
      package_id: hour === 20 ? 'starter' : 'large',
    })
    const purchase = await core.billing.bySession(data.session_id)
    if (!purchase) throw new Error('the purchase is missing')
    const payment = { ...purchase, session_id: data.session_id }
    await core.billing.notify(await payments.decide(payment, 'pay'))
  }
  if (hour === 44) await core.dispatch.stop({ reason: 'The database moves' }, tariq)
  if (hour === 45) await core.dispatch.resume(null, tariq)
  if (hour === 70) {
    await core.providers.pause('twiga', { reason: 'Their status page reports delays' }, neema)
  }
  if (hour === 71) await core.providers.resume('twiga', {}, neema)
  if (hour === 120) {
    const reason = 'Complaints about unwanted messages, ticket 4471'
    await core.credits.setTerms(ids.pemba, { status: 'frozen', reason }, neema)
  }
  if (hour === 130) {
    await core.credits.setTerms(ids.ziwa, { status: 'frozen', reason: 'Unpaid invoice' }, tariq)
  }
  if (hour === 131) {
    await core.credits.setTerms(ids.ziwa, { status: 'active', reason: 'Paid' }, tariq)
  }
}
