import { ask, identityOf, type Stage } from './client.ts'
import { findContact } from './mailings.ts'
import type { Doing } from './script.ts'
import type { Core } from './world.ts'

// What owners, clients and operators look at, and requests that the service refuses. Both change nothing, so the invariants
// hold as without them.

/** What a question is about. */
interface About {
  id: string
  key: string
  /** A message, a webhook, a contact and a verification of the workspace, if it has one. */
  message: string
  hook: string
  contact: string
  address: string
  code: string
  bulk: string
  /** A call that was charged. */
  call: string
  /** A call whose credits were returned. */
  free: string
}

type Identity = Awaited<ReturnType<typeof identityOf>>
type Question = (core: Core, about: About, identity: Identity) => Promise<unknown>

const ago = (ms: number): string => new Date(Date.now() - ms).toISOString()
const PAGE = { limit: 5, offset: 0 } as never

/** Texts as other programs write them. */
const ODD_HTML = [
  '<!doctype html><html><head><style>p { color: red }</style></head><body><p>Hi</p></body></html>',
  '<html><head><title>Hi</title></head><p>No body',
  '<p>1 < 2 &amp; 3 > 2 &lt;b&gt; &nbsp; &#65;&#x42; &#0; &#xD800; &unknown; &euro;</p>',
  '<ul><li>One<ul><li>Two</li></ul></li></ul><ol><li>1</li><li>2</li></ol><br>next<br/>line<hr>',
  '<a href="#top">Top</a> <a href="">None</a> <a href="https://a.example">https://a.example</a>',
  "<a href='https://a.example'>A</a> <a href=https://b.example>B</a> <a href>C</a><a>D</a>",
  '<img src="a.png" alt="A picture"><img alt=small><img src=b.png>',
  '<div style="display:none">hidden<div>more</div></div><p style="color: red">shown</p>',
  '<div style="display:none">never closed',
  '<!-- a comment --><p>after<!-- not closed',
  '<script>if (1 < 2) {}</script><p>x</p><style>never closed',
  '<p lang="ar">\u0645\u0631\u062d\u0628\u0627</p>',
  '<p lang="he">\u05e9\u05dc\u05d5\u05dd</p>',
  '<table><tr><th>A</th><td>B</td></tr></table><h2>Head</h2><blockquote>Quote</blockquote><pre>a\n b</pre>',
  '{{#each items}}{{title}}{{#if new}}!{{else}}.{{/if}}{{/each}}{{#each names}}{{this}}, {{/each}}',
  '{{#each none}}x{{else}}nothing{{/each}}{{#if names}}yes{{/if}}{{name|there}}{{count}}{{missing|}}',
  '</p></div><p',
  '<p unclosed="quote>text</p>',
  '<html><head><title>Hi</title></head><p>no tag of the body</p></html>',
  '<html><body class="wide"><p>a body</p></body></html>',
] as const

const RECEIPT = { order: 'A1', gift: true, items: [{ title: 'Tea' }] }

const ODD_VALUES = {
  ...{ items: [{ title: 'Tea', new: true }, { title: 'Rice' }], names: ['Asha', 'Juma'], none: [] },
  ...{ count: 7, name: '' },
}

/** A hold for a call that has ended: it is refused. */
const holdOf = (message_id: string) =>
  ({
    ...{ message_id, n: 7, amount: 1_000_000, channel: 'voice', quantity: 1 },
    ...{ unit_price: 1_000_000, expires_at: new Date(Date.now() + 60_000) },
  }) as never

export const QUESTIONS: readonly Question[] = [
  ({ messages }, { id }) => messages.list(id, { limit: '5' } as never),
  ({ messages }, { id }) => messages.list(id, { channel: 'sms', status: 'failed' } as never),
  ({ messages }, { id }) => messages.list(id, { status: 'canceled', page: '2' } as never),
  ({ messages }, { id }) => messages.list(id, { startDate: ago(90_000) } as never),
  ({ messages }, { id }) =>
    messages.list(id, { startDate: ago(60_000), endDate: ago(20_000) } as never),
  ({ messages }, { id }) =>
    messages.list(id, { startDate: ago(200_000_000), endDate: ago(1_000) } as never),
  ({ messages }, { id }) =>
    messages.list(id, { startDate: ago(3_000), endDate: ago(9_000) } as never),
  ({ messages }, { id, address }) => messages.list(id, { recipient: address } as never),
  ({ messages }, { id, bulk }) => messages.list(id, { bulk_id: bulk } as never),
  ({ messages }, { id, message }) => messages.list(id, { before: message } as never),
  ({ messages }, { id }) => messages.search(id, { search: 'order' } as never),
  ({ messages }, { id }) => messages.history(id, 'hour'),
  ({ messages }, { id }) => messages.history(id, 'day'),
  ({ messages }, { id }) => messages.breakdown(id, 'hour'),
  ({ messages }, { id }) => messages.breakdown(id, 'day'),
  ({ messages }, { id }) => messages.recentFailures(id),
  ({ messages }, { id, message }) => messages.timeline(id, message),
  ({ messages }, { id, message }) => messages.whole(id, message),
  ({ messages }, { address }, identity) =>
    messages.estimate(identity, {
      ...{ channel: 'sms', to: address, content: { text: 'How much is it?' } },
    } as never),
  ({ messages }, { address }, identity) =>
    messages.estimate(identity, {
      ...{ channel: 'sms', recipients: [address, '+1415', address], content: { text: 'Hi' } },
    } as never),
  ({ messages }, { id, bulk }) => messages.bulks.get(id, bulk),
  ({ credits }, { id }) => credits.entries(id, PAGE),
  ({ credits }, { id }) => credits.holds(id, PAGE),
  ({ credits }, { id }) => credits.lots(id),
  // The credits of a call are settled: a repetition changes nothing, and another amount is refused. After a release, they could be charged.
  ({ credits }, { id, call }) => credits.settle(id, call, { amount: 1_000_000 as never }),
  ({ credits }, { id, call }) => credits.settle(id, call, { amount: 0 as never }),
  ({ credits }, { id, call }) => credits.void(id, call),
  async ({ credits }, { id, call }) => call !== NO_ID && credits.hold(id, holdOf(call)),
  // The credits of a call that was not charged were returned.
  ({ credits }, { id, free }) => credits.settle(id, free, { amount: 0 as never }),
  ({ credits }, { id, free }) => credits.void(id, free),
  ({ billing }, { id }) => billing.spending(id, { days: 7 } as never),
  ({ billing }, { id }) => billing.spending(id, { days: 30, channel: 'sms' } as never),
  ({ overviews }) => overviews.overview(),
  ({ overviews }) => overviews.troubles(10),
  ({ overviews }) => overviews.queues(10),
  ({ providers }) => providers.status(),
  ({ providers }) => providers.check('plain'),
  ({ webhooks }, { id }) => webhooks.list(id, PAGE),
  ({ webhooks }, { id, hook }) => webhooks.deliveries(id, hook, PAGE),
  ({ webhooks }, { id, hook }) => webhooks.nextAttemptAt(id, hook),
  ({ webhooks }, { id, hook }) => webhooks.health(id, hook, { period: '24h' }),
  ({ contacts }, { id }) => contacts.list(id, { search: 'n1 moshi' }, PAGE),
  ({ contacts }, { id }) => contacts.list(id, { search: `n${'1'.repeat(80)}` }, PAGE),
  ({ contacts }, { id }) => contacts.list(id, { search: 'n1 mo' }, PAGE),
  ({ contacts }, { id }) => contacts.list(id, { tag: 'odd' } as never, PAGE),
  ({ people }, { id }) => people.find(id, { search: 'N2 Moshi' } as never),
  ({ people }, { id, contact }) => people.history(id, contact, {} as never),
  ({ people }, { id, contact }) => people.get(id, contact),
  ({ received }, { id }) => received.list(id, {} as never),
  ({ received }, { id }) => received.conversations(id, { limit: 5 } as never),
  ({ templates }, { id }) => templates.versions(id, 'news', PAGE),
  ({ templates }, { id }) =>
    templates.preview(id, { name: 'receipt', channel: 'email', variables: RECEIPT } as never),
  ({ verifications }, { id }) => verifications.list(id, { status: 'expired' } as never),
  ({ verifications }, { id }) => verifications.stats(id, {} as never),
  ({ verifications }, { id }) => verifications.pauses(id),
  ({ verifications }, { id, code }) => verifications.get(id, code),
  ({ suppressions }, { id }) => suppressions.list(id, {}, PAGE),
  ({ recipients }, { address }) => recipients.look(address),
  // Numbers that WhatsApp knows in two forms, and an address in another spelling.
  ({ recipients }) => recipients.look('+5511987654321'),
  ({ recipients }) => recipients.look('+5215512345678'),
  ({ recipients }) => recipients.look('P1@People.example'),
  ...ODD_HTML.map(
    (html): Question =>
      async ({ templates }, { id }) => {
        const [, locale = 'en'] = /lang="(\w+)"/.exec(html) ?? []
        const isWhole = /<html/.test(html)
        const content = {
          ...{ subject: 'Hi', html, preview_text: 'It is new' },
          ...(locale !== 'en' && !isWhole && { layout: 'default' }),
        }
        const variants = [{ channel: 'email', locale, content }]
        const one = { name: 'odd', category: 'marketing', default_locale: locale, variants }
        await templates.push(id, { templates: [one] as never })
        return templates.preview(id, {
          name: 'odd',
          channel: 'email',
          variables: ODD_VALUES,
        } as never)
      },
  ),
  ({ audit }, { id }) => audit.list(id, {} as never),
]

/** The questions, or the wrong requests, of one step. */
export const LOOKS = 4

/** An owner, a client or an operator looks at something. */
export async function question(stage: Stage, step: Doing<'look'>): Promise<void> {
  const { which, workspace } = step
  for (let n = 0; n < LOOKS; n++) {
    const about = aboutOf(stage, workspace)
    if (!about) return
    const at = (which * LOOKS + n) % QUESTIONS.length
    const answer = await ask(stage, `look ${at}`, async (core) => {
      const asked = QUESTIONS[at] as Question
      return (await asked(core, about, await identityOf(core, about.key))) ?? null
    })
    if (answer && 'value' in answer) stage.world.trace(`look ${at}: ok`)
  }
  await findContact(stage, step)
  await lookAtTimeline(stage, step)
}

/** A client looks at the history of a message: it ends with the status of the message. */
async function lookAtTimeline(stage: Stage, { which, workspace }: Doing<'look'>): Promise<void> {
  const { world, model } = stage
  const ids = model.asked.flatMap((asked) => (asked.place === workspace ? asked.ids : []))
  const message = ids[which % ids.length]
  const place = model.places[workspace]
  if (message === undefined || !place) return
  const at = `timeline of ${world.nameOf('m', message)}`
  const answer = await ask(stage, at, async ({ messages }) => {
    const { status } = await messages.get(place.id, message)
    const entries = await messages.timeline(place.id, message)
    const after = await messages.get(place.id, message)
    return { entries, status: after.status === status ? status : null }
  })
  if (!answer || 'code' in answer) return
  const { entries, status } = answer.value
  const last = entries.findLast((one) => one.kind === 'status' && one.applied) as { status: string }
  world.trace(`${at}: ${entries.length} entries, ${last.status}`)
  if (status !== null && last.status !== status) {
    world.violate('the history of a message ends with its status', `${at}: ${last.status}`)
  }
}

function aboutOf({ model, database, world }: Stage, workspace: number): About | null {
  const place = model.places[workspace]
  if (!place || !world.core) return null
  const own = model.asked.filter((asked) => asked.place === workspace)
  const hooks = model.hooks.filter((hook) => hook.place === workspace)
  const isFailing = (receiver: number) => (model.receivers.get(receiver) ?? 'well') !== 'well'
  const first = own.findLast(({ ids }) => ids.length > 0)?.ids[0]
  const to = database()
    .prepare("select recipient from messages where id = ? and recipient <> 'erased'")
    .pluck()
    .get(first ?? '') as string | undefined
  const callWith = (kind: 'settle' | 'void') =>
    (database()
      .prepare(
        `select id from messages m where workspace_id = ? and channel = 'voice' and livemode = 1
         and exists (select 1 from ledger_entries e where e.workspace_id = m.workspace_id and e.ref_type = 'message'
           and e.ref_id = m.id and e.kind = ?) order by id desc`,
      )
      .pluck()
      .get(place.id, kind) as string | undefined) ?? NO_ID
  const bulk = own.findLast(({ kind, answer }) => kind === 'bulk' && answer !== null)?.answer
  const { bulk_id = NO_ID } = JSON.parse(bulk ?? '{}') as { bulk_id?: string }
  return {
    ...{ id: place.id, key: place.key, message: first ?? NO_ID, bulk: bulk_id },
    call: callWith('settle'),
    free: callWith('void'),
    hook: (hooks.find(({ receiver }) => isFailing(receiver)) ?? hooks[0])?.id ?? NO_ID,
    contact: model.contacts.find((one) => one.place === workspace)?.id ?? NO_ID,
    address: to ?? '+14152000000',
    code: [...model.verifications.values()].findLast((one) => one.place === workspace)?.id ?? NO_ID,
  }
}

/** An id that no row has. */
const NO_ID = '01940000-0000-7000-8000-ffffffffffff'

const sms = (content: unknown, more: object = {}) => ({
  ...{ channel: 'sms', to: '+14152000001', content },
  ...more,
})
const mail = (content: object, more: object = {}) => ({
  ...{ channel: 'email', to: 'r1@recipients.example', content },
  ...more,
})
const template = (text: string, channel: 'sms' | 'email' = 'sms') => ({
  name: 'refused',
  category: 'transactional',
  default_locale: 'en',
  variants: [
    {
      ...{ channel, locale: 'en' },
      content: channel === 'sms' ? { text } : { subject: 'Hi', html: text },
    },
  ],
})

/** A template that is not stored. */
const previewed = (html: string) => {
  const { name: _, ...rest } = template(html, 'email')
  return rest
}

const send =
  (body: unknown): Question =>
  ({ messages }, _, identity) =>
    messages.send(identity, body as never)
const push =
  (one: object): Question =>
  ({ templates }, { id }) =>
    templates.push(id, { templates: [one] as never })
const bulk =
  (body: object): Question =>
  ({ messages }, _, identity) =>
    messages.bulks.send(identity, { channel: 'sms', ...body } as never)
const quiet =
  (...quiet_hours: object[]): Question =>
  ({ workspaces }, { id }) =>
    workspaces.update(id, { quiet_hours } as never)
const start =
  (body: object): Question =>
  ({ verifications }, _, identity) =>
    verifications.start(identity, { to: '+14152000001', channel: 'sms', ...body } as never)

const FROM_ANOTHER = send(mail({ subject: 'Hi', text: 'Hi', from_address: 'a@other.example' }))

/** Requests that the service must refuse. */
export const REFUSED: readonly Question[] = [
  send(null),
  send([]),
  send({}),
  send({ channel: 'fax', to: '+14152000001', content: { text: 'Hi' } }),
  send(sms('Hi')),
  send(sms({ text: '' })),
  send(sms({ text: 7 })),
  send(sms({ text: 'a'.repeat(20_000) })),
  send(sms({ text: 'Hi' }, { to: '0700000009' })),
  send(sms({ text: 'Hi' }, { to: 'r1@recipients.example' })),
  send(sms({ text: 'Hi' }, { to: ['+14152000001', '+14152000002'] })),
  send(sms({ text: 'Hi' }, { scheduled_at: 'tomorrow' })),
  send(sms({ text: 'Hi' }, { scheduled_at: '2030-01-01T00:00:00.000Z' })),
  send(sms({ text: 'Hi' }, { expires_in: -1 })),
  send(sms({ text: 'Hi' }, { metadata: 7 })),
  send(sms({ text: 'Hi' }, { from: 'A name that is too long for a sender' })),
  send(sms(undefined, { template: { name: 'missing' } })),
  send(sms(undefined, { template: { name: 'news', version: 900 } })),
  send(sms(undefined, { template: { name: 'receipt', variables: { order: {} } } })),
  send(mail({ text: 'Hi' })),
  send(mail({ subject: 'Hi', text: 'Hi', cc: ['r1@recipients.example'] })),
  send(mail({ subject: 'Hi', text: 'Hi', bcc: ['no address'] })),
  FROM_ANOTHER,
  send(
    mail({
      subject: 'Hi',
      text: 'Hi',
      attachments: [{ filename: 'a.pdf', content: 'no base64!' }],
    }),
  ),
  send(mail({ subject: 'Hi\nBcc: x@y.example', text: 'Hi' })),
  bulk({ recipients: [], content: { text: 'Hi' } }),
  bulk({ recipients: ['+1', 'x'], content: { text: 'Hi' }, validation: 'strict' }),
  bulk({ recipients: ['+14152000001'], content: { text: 'Hi {{' } }),
  bulk({ recipients: ['+14152000001'], content: { text: 'Hi {{name}}' }, validation: 'strict' }),
  bulk({ recipients: [{ contact_id: NO_ID }], content: { text: 'Hi' }, validation: 'strict' }),
  push(template('{{#if a}}open')),
  push(template('{{/if}}')),
  push(template('{{else}}')),
  push(template('{{#each items}}{{/if}}')),
  push(template('{{#if}}x{{/if}}')),
  push(template('{{#if !}}x{{/if}}')),
  push(template('{{a b}}')),
  push(template('{{a|{{b}}')),
  push(template(`{{${'n'.repeat(300)}}}`)),
  push(template('{{#if a}}'.repeat(9) + '{{/if}}'.repeat(9))),
  push(template('{{a}}'.repeat(1_001))),
  push(template('{{#if a}}1{{else}}2{{else}}3{{/if}}')),
  // More values are missing than an error names.
  async ({ messages, templates }, { id }, identity) => {
    const names = Array.from({ length: 30 }, (_, n) => `{{value${n}}}`)
    const many = { ...template(names.join(' ')), name: 'many' }
    await templates.push(id, { templates: [many] as never })
    await messages.send(identity, sms(undefined, { template: { name: 'many' } }) as never)
  },
  // More steps, and a longer text, than a filling may have.
  ({ templates }, { id }) =>
    templates.preview(id, {
      ...{
        template: previewed('{{#each a}}{{#each b}}{{this}}{{/each}}{{/each}}'),
        channel: 'email',
      },
      variables: { a: Array(200).fill('x'), b: Array(200).fill('y') },
    } as never),
  ({ templates }, { id }) =>
    templates.preview(id, {
      ...{ template: previewed(`{{#each a}}${'long '.repeat(4_000)}{{/each}}`), channel: 'email' },
      variables: { a: Array(200).fill('x') },
    } as never),
  push({ ...template('Hi'), default_locale: 'xx-none' }),
  push({ ...template('Hi'), name: 'No name' }),
  push({
    ...template('Hi', 'email'),
    category: 'layout',
    variants: [{ channel: 'email', locale: 'en', content: { html: '<p>no content</p>' } }],
  }),
  quiet({ category: 'marketing', start: '25:00', end: '08:00' }),
  quiet({ category: 'marketing', start: '00:00', end: '00:00' }),
  quiet({ category: 'marketing', start: '08:00', end: '08:00', days: [] }),
  ({ workspaces }, { id }) => workspaces.update(id, { time_zone: 'Mars/Base' } as never),
  ({ workspaces }, { id }) => workspaces.update(id, { time_zone: '+01:00' } as never),
  ({ workspaces }, { id }) => workspaces.update(id, { verification_countries: ['XX'] } as never),
  start({ to: 'no number' }),
  start({ channel: 'email' }),
  start({ code_length: 3 }),
  start({ expires_in: 3_601 }),
  start({ fallback: [{ channel: 'email' }] }),
  start({ client_ip: '1.2.3' }),
  start({ template: { name: 'news' } }),
  ({ verifications }, _, identity) => verifications.check(identity, NO_ID, { code: '123456' }),
  ({ verifications }, { code }, identity) => verifications.check(identity, code, { code: 'x' }),
  ({ verifications }, _, identity) =>
    verifications.checkAddress(identity, { to: '+14159999998', code: '123456' }),
  ({ verifications }, _, identity) => verifications.resend(identity, NO_ID, {}),
  ({ messages }, { id }) => messages.get(id, NO_ID),
  ({ messages }, { id }) => messages.get(id, 'no id'),
  ({ messages }, { id }) => messages.cancel(id, NO_ID),
  ({ messages }, { id }) =>
    messages.reschedule(id, NO_ID, { scheduled_at: new Date(Date.now()).toISOString() }),
  ({ messages }, { id }) => messages.list(id, { status: 'lost' } as never),
  ({ messages }, { id }) => messages.list(id, { startDate: 'yesterday' } as never),
  ({ messages }, { id }) => messages.bulks.cancel(id, NO_ID),
  ({ credits }, { id }) => credits.grant(id, { amount: 0 as never, actor: 'operator' }),
  ({ credits }, { id }) =>
    credits.grant(id, {
      ...{ amount: 1_000_000 as never, actor: 'operator' },
      expires_at: new Date(Date.now() - 1_000),
    }),
  ({ credits }, { id }) =>
    credits.grant(id, { amount: 600_000_000_000_000 as never, actor: 'operator' }),
  ({ credits }, { id }) =>
    credits.adjust(id, {
      ...{ amount: -400_000_000_000_000 as never, id: NO_ID, actor: 'operator', reason: 'wrong' },
    }),
  // A repetition with another amount.
  async ({ credits }, { id }, { api_key_id }) => {
    const one = {
      id: `${api_key_id.slice(0, -4)}ffff`,
      actor: 'operator',
      reason: 'wrong',
    } as const
    await credits.adjust(id, { ...one, amount: 1_000_000 as never })
    await credits.adjust(id, { ...one, amount: 2_000_000 as never })
  },
  ({ credits }, { id }) => credits.setTerms(id, { status: 'frozen' }),
  ({ credits }) => credits.account(NO_ID),
  ({ webhooks }, { id }) =>
    webhooks.create(id, { url: 'ftp://10.0.0.1/x', events: ['*'] } as never),
  ({ webhooks }, { id }) => webhooks.create(id, { url: 'http://127.0.0.1/x', events: ['*'] }),
  ({ webhooks }, { id }) =>
    webhooks.create(id, { url: 'http://10.0.0.1/x', events: ['no'] as never }),
  ({ webhooks }, { id }) =>
    webhooks.create(id, { url: 'http://10.0.0.1/x', events: ['*'], format: 'twilio' }),
  ({ webhooks }, { id, hook }) => webhooks.delivery(id, hook, NO_ID),
  ({ webhooks }, { id, hook }) => webhooks.retry(id, hook, NO_ID),
  ({ contacts }, { id }) => contacts.create(id, { name: 'Asha' } as never),
  ({ contacts }, { id }) => contacts.create(id, { phone: 'x' } as never),
  ({ domains }, { id }) => domains.create(id, { domain: 'no domain' }),
  ({ domains }, { id }) => domains.create(id, { domain: 'a'.repeat(300) }),
  ({ apiKeys }) => identityOf({ apiKeys } as Core, 'svc_wrong'),
  ({ providers }) => providers.pause('missing', { reason: 'x' }),
  ({ recipients }) => recipients.look('no address'),
  ({ unsubscribe }) => unsubscribe.take('no token').then((done) => done || Promise.reject(GONE)),
]

/** The owners look at what they spent, and how long their credits last. */
export function lookAtSpending(stage: Stage): void {
  for (const { id } of stage.model.places) {
    void ask(stage, 'spending', (core) => core.billing.spending(id, { days: 30 } as never))
  }
}

/** What stands for a refusal of a function that answers false. */
const GONE = Object.assign(new Error('refused'), {
  name: 'SvcError',
  code: 'not_found',
  status: 404,
})

/** A client sends wrong requests: each gets an error of the contract. */
export async function refuse(stage: Stage, { which, workspace }: Doing<'wrong'>): Promise<void> {
  const { world } = stage
  for (let n = 0; n < LOOKS; n++) {
    const about = aboutOf(stage, workspace)
    if (!about) return
    const at = (which * LOOKS + n) % REFUSED.length
    const wrong = REFUSED[at] as Question
    // Without its provider, mails go to the sandbox, which accepts any address.
    if (wrong === FROM_ANOTHER && world.without === 'once') continue
    const answer = await ask(stage, `wrong ${at}`, async (core) => {
      await wrong(core, about, await identityOf(core, about.key))
    })
    if (answer && 'value' in answer) {
      world.violate('a wrong request is refused', `${at}: ${wrongText(at)}`)
    }
  }
}

const wrongText = (at: number): string => String(REFUSED[at]).replace(/\s+/g, ' ').slice(0, 200)
